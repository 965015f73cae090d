// What the tests share: a home folder, a letter user in it, the pieces installed as the installer does it, and waiting for what happens.
import assert from "node:assert/strict";
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

export const alice = "a".repeat(32);
export const mallory = "b".repeat(32);

export interface World {
  home: string;
  /** The letter user's folder. */
  user: string;
  /** Variables for a host that knows nothing of whoever runs the tests. */
  env: NodeJS.ProcessEnv;
  /** Runs when the test has ended, what was begun last first. */
  after(run: () => void | Promise<void>): void;
}

export function world(t: TestContext): World {
  const home = mkdtempSync(join(tmpdir(), "agnt-letters-"));
  const cleanup = [() => rmSync(home, { recursive: true, force: true, maxRetries: 5 })] as (() => void | Promise<void>)[];
  t.after(async () => {
    for (const run of cleanup.reverse()) await run();
  });
  const user = join(home, ".agent-talk", "users", "me");
  mkdirSync(join(user, "sessions"), { recursive: true, mode: 0o700 });
  const env: NodeJS.ProcessEnv = { HOME: home, PATH: process.env["PATH"], TMPDIR: home, LANG: "C.UTF-8", NO_PROXY: "127.0.0.1,localhost" };
  return { home, user, env, after: (run) => cleanup.push(run) };
}

/** Puts the pieces of a host where the installer puts them: the entry and the shared modules below the host's folder. */
export function install(host: "pi" | "opencode", folder: string, settings: Record<string, unknown>): void {
  const entry = host === "pi" ? "extensions" : "plugins";
  mkdirSync(join(folder, entry), { recursive: true });
  mkdirSync(join(folder, "agnt-letters"), { recursive: true });
  cpSync(join(root, host, "agnt-letters.ts"), join(folder, entry, "agnt-letters.ts"));
  for (const name of readdirSync(join(root, "agnt-letters"))) {
    if (name.endsWith(".ts")) cpSync(join(root, "agnt-letters", name), join(folder, "agnt-letters", name));
  }
  writeFileSync(join(folder, "agnt-letters", "settings.json"), JSON.stringify(settings));
}

/** Sets what letters may do. */
export function allow(user: string, limits: Record<string, unknown>): void {
  writeFileSync(join(user, "alarms.json"), JSON.stringify(limits));
}

let letters = 0;

/** A line of a spool, as the follower writes it. */
export function line(text: string, more: Record<string, unknown> = {}): string {
  letters++;
  const id = letters.toString(16).padStart(32, "0");
  return `${JSON.stringify({ id, from: alice, name: "alice", text, verified: true, ts: "2026-12-01T10:00:00Z", ...more })}\n`;
}

/** Appends to the spool of a session. */
export function deliver(user: string, session: string, ...lines: string[]): void {
  appendFileSync(join(user, "sessions", `${session}.ndjson`), lines.join(""), { mode: 0o600 });
}

export function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

const patienceMs = Number(process.env["AGNTCHAT_TEST_PATIENCE_MS"] ?? 120_000);

/** Waits until something is there. */
export async function until<T>(what: string, look: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
  const end = Date.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > end) assert.fail(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The folder of an installed npm package. */
export function packageDir(name: string): string {
  return dirname(join(root, "node_modules", name, "package.json"));
}

export interface Call {
  args: string[];
  input: Record<string, unknown>;
}

/** A stand-in for the program agnt: it notes how it was run and answers a moment as told, by text or by a script's line. */
export function scriptedAgnt(w: World): { path: string; calls: () => Call[]; answer: (moment: string, text: string) => void } {
  const path = join(w.home, "agnt");
  const log = join(w.home, "agnt-calls");
  const script = [
    `#!${process.execPath}`,
    `const { appendFileSync, existsSync, readFileSync, renameSync } = require("node:fs");`,
    `const args = process.argv.slice(2), input = readFileSync(0, "utf8"), file = ${JSON.stringify(`${log}-`)} + args[2];`,
    `appendFileSync(${JSON.stringify(log)}, JSON.stringify({ args, input: JSON.parse(input) }) + "\\n");`,
    `if (existsSync(file)) { process.stdout.write(readFileSync(file)); renameSync(file, file + ".said"); }`,
  ];
  writeFileSync(path, script.join("\n"), { mode: 0o755 });
  return {
    path,
    calls: () =>
      read(log)
        .split("\n")
        .filter((l) => l !== "")
        .map((l) => JSON.parse(l) as Call),
    answer: (moment, text) => writeFileSync(`${log}-${moment}`, text),
  };
}

/** Puts a file where the sessions' folder is. A host that is writing there at the moment gets in between: it is tried again. */
export async function breakSessions(user: string): Promise<void> {
  const sessions = join(user, "sessions");
  await until("the folder to be gone", () => {
    try {
      rmSync(sessions, { recursive: true, force: true });
      writeFileSync(sessions, "no folder", { flag: "wx" });
      return true;
    } catch {
      return false;
    }
  });
}
