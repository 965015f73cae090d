// A process that takes letters of a spool until it is told that no more come. Prints the id of each letter.
import { existsSync } from "node:fs";
import { StateFile, take } from "../agnt-letters/spool.ts";

const [spool = "", state = "", finished = ""] = process.argv.slice(2);
const file = new StateFile(state);
for (let last = false; !last; ) {
  last = existsSync(finished);
  const { letters } = await file.update((s) => take(s, [spool], { letters: 7, chars: 10_000, perLetter: 100 }));
  for (const letter of letters) process.stdout.write(`${letter.id}\n`);
  if (letters.length > 0) last = false;
  else await new Promise((resolve) => setTimeout(resolve, 2));
}
