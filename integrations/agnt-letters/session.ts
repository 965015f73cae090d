// Which letters a session gets: the settings that turn the alarm on, and the session's alarm.
import { constants } from "node:fs";
import { access, appendFile, readFile, rename, stat } from "node:fs/promises";
import { basename, delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Alarm, type Door } from "./alarm.ts";
import { FileLetters } from "./files.ts";
import type { Host, Letters } from "./letters.ts";
import { ProgramLetters } from "./program.ts";

/** Where letters come from. */
export interface Settings {
  /** Absolute path of the letter user's folder, where limits and the log are. */
  user: string;
  /** Absolute path of the program agnt, or empty: the files alone are used then. */
  agnt: string;
  /** Spools named by hand, as for the extensions of agent-talk; absolute paths. Empty: the session's own, for which it is registered. */
  spools: string[];
}

/**
 * Reads what `agnt letter install` wrote beside this file, and the environment over it: `AGNT_LETTERS_USER` names the user's
 * folder, `AGENT_TALK_PI_SPOOLS` and `AGENT_TALK_OPENCODE_SPOOLS` list spools. Undefined when nothing was configured: there is
 * no alarm then.
 */
export async function readSettings(host: Host, env: NodeJS.ProcessEnv = process.env, file = settingsFile()): Promise<Settings | undefined> {
  const spools = (env[`AGENT_TALK_${host.toUpperCase()}_SPOOLS`] ?? "").split(delimiter).filter((p) => isAbsolute(p));
  if (spools[0] !== undefined) return { user: userOf(spools[0]), agnt: "", spools };
  const saved = await readFile(file, "utf8")
    .then((text) => JSON.parse(text) as { user?: unknown; agnt?: unknown } | null)
    .catch(() => null); // not installed, or damaged
  const user = env["AGNT_LETTERS_USER"] || saved?.user;
  if (typeof user !== "string" || !isAbsolute(user)) return undefined;
  const agnt = typeof saved?.agnt === "string" && isAbsolute(saved.agnt) ? saved.agnt : "";
  return { user: resolve(user), agnt: agnt !== "" && (await isProgram(agnt)) ? agnt : "", spools: [] };
}

function settingsFile(): string {
  return fileURLToPath(new URL("settings.json", import.meta.url));
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The user's folder of a spool: what holds its sessions, or the folder of an inbox. */
function userOf(spool: string): string {
  const dir = dirname(spool);
  return basename(dir) === "sessions" ? dirname(dir) : dir;
}

/** A session id as file names have it; undefined for one that names no session. */
export function sessionName(id: string): string | undefined {
  const name = id.trim().replace(/[^A-Za-z0-9._-]/g, "_");
  return name === "" || name.length > 200 || name.startsWith(".") || name.endsWith(".requests") ? undefined : name;
}

/** The letters of one session while it is attached. Like the alarm it never throws. */
export interface Attached {
  alarm: Alarm;
  /** What was unread when the session attached, as quoted data, if it was handed over then. */
  unread: string | undefined;
  /** Ends the alarm; `over` says that the session cannot be resumed. */
  detach(over: boolean): Promise<void>;
}

/**
 * Registers a session and opens its alarm, which does not watch yet. Undefined when nothing was configured, when the id names no
 * session, or when the session could not be registered, which is then in the log.
 */
export async function attach(host: Host, id: string, cwd: string, door: Door, env: NodeJS.ProcessEnv = process.env): Promise<Attached | undefined> {
  const settings = await readSettings(host, env);
  const session = sessionName(id);
  if (!settings || session === undefined) return undefined;
  const failed = failureLog(settings.user, host);
  try {
    const letters = lettersOf(host, settings, id, session, cwd);
    const unread = await letters.start();
    const alarm = new Alarm({ letters, door, failed });
    const detach = async (over: boolean): Promise<void> => {
      alarm.close();
      await letters.end(over).catch((err: unknown) => failed("end", err));
    };
    return { alarm, unread, detach };
  } catch (err) {
    failed("start", err);
    return undefined;
  }
}

function lettersOf(host: Host, { user, agnt, spools }: Settings, id: string, session: string, cwd: string): Letters {
  const own = join(user, "sessions", `${session}.ndjson`);
  if (agnt !== "") return new ProgramLetters({ host, agnt, user, session: id, cwd, spools: [own] });
  if (spools.length === 0) return new FileLetters({ user, spools: [own], state: join(dirname(own), `.${host}-state.${session}.json`), session });
  // Sessions that share spools share one state, so that each letter goes to one of them.
  return new FileLetters({ user, spools, state: join(dirname(spools[0] ?? own), `.${host}-state.json`), session: "" });
}

const logBytes = 256 << 10;

/** Writes failures to `alarms.log` in a user's folder, one line each: codes and names of errors, no text. One older file is kept. */
export function failureLog(user: string, host: Host): (what: string, err: unknown) => void {
  const path = join(user, "alarms.log");
  let tail = Promise.resolve();
  return (what, err) => {
    const code = (err as { code?: unknown } | null)?.code;
    const cause = typeof code === "string" ? code : err instanceof Error ? err.name : typeof err;
    tail = tail
      .then(async () => {
        const st = await stat(path).catch(() => undefined);
        if (st && st.size > logBytes) await rename(path, `${path}.1`);
        await appendFile(path, `${new Date().toISOString()} ${host} ${what}: ${cause}\n`, { mode: 0o600 });
      })
      .catch(() => undefined);
  };
}
