// The whole way on one machine: the shipped agnt installs the pieces and keeps the books, the real hosts load them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { nudge } from "../agnt-letters/quote.ts";
import { textOf } from "./model.ts";
import { startOpencode } from "./opencode-host.ts";
import { startPi } from "./pi-host.ts";
import { deliver, line, mallory, root, until, type World, world } from "./world.ts";

const agnt = join(process.env["AGNTCHAT_E2E_BIN"] ?? join(root, "..", "bin"), "agnt");

function run(w: World, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(agnt, ["letter", ...args], { env: w.env, encoding: "utf8", cwd: w.home });
  assert.equal(status, 0, `agnt letter ${args.join(" ")}: ${error ?? stderr} (make bin builds it)`);
  return stdout;
}

/** An identity whose letters may wake, and a host with the pieces that the installer puts there. */
function installed(t: TestContext, host: "pi" | "opencode"): World {
  const w = world(t);
  w.env["RETALK_PASSPHRASE_FILE"] = join(w.home, "pass");
  w.env["RETALK_USER"] = "me";
  writeFileSync(join(w.home, "pass"), "a passphrase", { mode: 0o600 });
  run(w, "init", "--no-register");
  run(w, "wake", "on");
  run(w, "install", host);
  run(w, "install", host, "--check");
  w.user = join(w.home, ".retalk", "me");
  return w;
}

/** What the follower does with a letter that no session is there for. */
function arrive(w: World, text: string): void {
  appendFileSync(join(w.user, "inbox.ndjson"), line(text), { mode: 0o600 });
}

test("L5 agnt install pi: the real pi wakes by a letter, shows it once, and a later session gets what came between them", async (t) => {
  const w = installed(t, "pi");
  const first = await startPi(w, undefined);
  assert.ok(existsSync(join(w.home, ".agent-talk", "by-session", first.session)));
  deliver(w.user, first.session, line("the build is red"), line("and I am nobody", { from: mallory, name: "~x", verified: false }));
  await until("a run", () => first.settled() === 1);
  const said = first.model.turns[0]?.filter((m) => m.role === "user").map(textOf) ?? [];
  assert.equal(said[0], nudge);
  assert.match(said[1] ?? "", /a contact with verified keys, saved as "alice"/);
  assert.match(said[1] ?? "", /> the build is red[\s\S]*> and I am nobody/);
  first.model.answer = (_, turn) => (turn === 2 ? { tool: "bash", args: { command: `${agnt} letter unread 2>&1; echo end` } } : { text: "done" });
  await first.prompt("look yourself");
  assert.match(first.model.turns[2]?.map(textOf).join("\n") ?? "", /No letters wait\.[\s\S]*end/);
  assert.equal(await first.quit(), 0);
  assert.ok(!existsSync(join(w.home, ".agent-talk", "by-session", first.session)));
  arrive(w, "nobody was here");
  const second = await startPi(w, undefined);
  await second.prompt("hello");
  const again = second.model.turns[0]?.map(textOf).join("\n") ?? "";
  assert.match(again, /> nobody was here/);
  assert.doesNotMatch(again, /> the build is red/);
});

test("L5 agnt install opencode: the real opencode wakes by a letter, and its shell knows the session", async (t) => {
  const w = installed(t, "opencode");
  const host = await startOpencode(w, undefined);
  const session = await host.session();
  await until("the registration", () => existsSync(join(w.home, ".agent-talk", "by-session", session)));
  await host.prompt(session, "hello");
  deliver(w.user, session, line("the build is red"));
  await host.idle(session, 2);
  const said = host.model.turns[1]?.at(-1);
  assert.ok(Array.isArray(said?.content));
  const [wake, letters] = said.content.map((p: { text: string }) => p.text);
  assert.equal(wake, nudge);
  assert.match(letters ?? "", /> the build is red/);
  host.model.answer = (_, turn) =>
    turn === 3 ? { tool: "bash", args: { command: `${agnt} letter unread 2>&1; echo end`, description: "look" } } : { text: "done" };
  await host.prompt(session, "look yourself");
  assert.match(textOf(host.model.turns[3]?.at(-1)), /No letters wait\.[\s\S]*end/);
});

test("L5 agnt uninstall: takes its pieces away again, and nothing else", async (t) => {
  const w = installed(t, "pi");
  const foreign = join(w.home, ".pi", "agent", "extensions", "mine.ts");
  mkdirSync(join(foreign, ".."), { recursive: true });
  writeFileSync(foreign, "export default () => {};\n");
  run(w, "uninstall", "pi");
  assert.ok(!existsSync(join(w.home, ".pi", "agent", "extensions", "agnt-letters.ts")));
  assert.ok(!existsSync(join(w.home, ".pi", "agent", "agnt-letters")));
  assert.equal(readFileSync(foreign, "utf8"), "export default () => {};\n");
});
