// Reads the spool files that the follower of letters writes: one JSON object a line, one file a session.
// A reader keeps a cursor of its own beside the spool and never writes to the spool.
import { createHash, randomBytes } from "node:crypto";
import { type FileHandle, lstat, mkdir, open, readFile, rename, stat, unlink, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";

/** One letter of a spool. Everything but `from` and `verified` was chosen by its sender. */
export interface Letter {
  /** The same for every copy of the same letter: made of `from` and the letter's id, or of the whole line when it has no id. */
  key: string;
  /** The letter's own id, or empty. */
  id: string;
  /** The sender's address, proven by its keys. */
  from: string;
  name: string;
  text: string;
  group: string;
  /** When the follower wrote it down, ISO 8601 in UTC, or empty. */
  ts: string;
  /** The follower wrote that the sender is a contact whose keys are pinned. */
  verified: boolean;
  /** How many letters that no person asked for led to this one; 0 for one that a person asked for. */
  auto: number;
}

/** How far a spool was read. `offset` is in bytes, `sha` is over the first `sha_len` bytes, `ino` is the file that `offset` belongs to. */
export interface Mark {
  offset: number;
  ids: string[];
  sha: string;
  sha_len: number;
  ino: string;
}

export interface Limit {
  letters: number;
  /** Characters of all texts together, of which each counts `perLetter` at most; the first letter is always taken. */
  chars: number;
  perLetter: number;
}

const generations = 9;
const headBytes = 256;
const keptIds = 500;
const chunkBytes = 24 << 20;
const newline = 0x0a;

/** Parses one line. Returns undefined for what is no letter to hand over: other kinds, empty texts, broken lines. */
export function parseLine(line: string): Letter | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const record = value as Record<string, unknown>;
  const text = (name: string): string => {
    const v = record[name];
    return typeof v === "string" ? v : "";
  };
  if (record["kind"] !== undefined && record["kind"] !== "msg" && record["kind"] !== "chat") return undefined;
  if (text("text").trim() === "") return undefined;
  const id = text("id");
  return {
    // Without the sender in it, one peer could take another's letter away by using its id first.
    key: digest(id === "" ? line : `${text("from")}\n${id}`),
    id,
    from: text("from"),
    name: text("name"),
    text: text("text"),
    group: text("group"),
    ts: text("ts"),
    verified: record["verified"] === true,
    auto: typeof record["auto"] === "number" && record["auto"] > 0 ? record["auto"] : record["auto"] === true ? 1 : 0,
  };
}

function digest(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex").slice(0, 32);
}

function fingerprint(head: Uint8Array): string {
  return createHash("sha256").update(head).digest("hex");
}

interface Opened {
  file: FileHandle;
  size: number;
  ino: string;
}

/** Opens a regular file for reading; undefined when there is none. A pipe of that name would block for ever. */
async function openFile(path: string): Promise<Opened | undefined> {
  try {
    if (!(await lstat(path)).isFile()) return undefined;
    const file = await open(path, "r");
    try {
      const st = await file.stat({ bigint: true });
      return { file, size: Number(st.size), ino: String(st.ino) };
    } catch (err) {
      await file.close();
      throw err;
    }
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw err;
  }
}

/** The spool and what it was before it was rotated, oldest first. */
async function openAll(path: string): Promise<Opened[]> {
  const files: Opened[] = [];
  try {
    // Newest first: a rotation meanwhile shows a file twice, the other way round it would hide one.
    for (let n = 0; n <= generations; n++) {
      const at = await openFile(n === 0 ? path : `${path}.${n}`);
      if (!at) {
        if (n > 0) break;
        continue;
      }
      if (files.some((f) => f.ino === at.ino && at.ino !== "0")) await at.file.close();
      else files.unshift(at);
    }
    return files;
  } catch (err) {
    await closeAll(files);
    throw err;
  }
}

async function closeAll(files: Opened[]): Promise<void> {
  for (const { file } of files) await file.close();
}

async function readAt(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** True when the file is the one that the mark was made on: long enough and with the same beginning. */
async function continues(at: Opened, mark: Mark): Promise<boolean> {
  if (mark.offset > at.size) return false;
  if (mark.sha_len === 0) return mark.ino === at.ino;
  return fingerprint(await readAt(at.file, 0, mark.sha_len)) === mark.sha;
}

/** Where to go on after a mark: the index of a file and the offset in it. */
async function locate(files: Opened[], mark: Mark | undefined): Promise<[number, number]> {
  for (let i = files.length - 1; mark && i >= 0; i--) {
    const at = files[i];
    if (at && (await continues(at, mark))) return [i, mark.offset];
  }
  // Nothing was ever read of a spool without a mark, or that was not there yet: its old files are unread as well.
  // Otherwise it was truncated or replaced, and begins anew.
  return mark && (mark.ino !== "" || mark.offset > 0) ? [files.length - 1, 0] : [0, 0];
}

/**
 * Reads on from a mark, at most `limit`. `next` is where to go on; `more` says that letters were left for the limit's sake.
 * A spool that was rotated is read to its end in its old files first, one that was truncated or replaced from its beginning; a
 * last line without its end is left for later. Throws what the file system throws.
 */
export async function scan(path: string, from: Mark | undefined, limit: Limit): Promise<{ letters: Letter[]; next: Mark; more: boolean }> {
  const seen = new Set(from?.ids);
  const result = { letters: [] as Letter[], next: from ?? { offset: 0, ids: [], sha: "", sha_len: 0, ino: "" }, more: false };
  let chars = 0;

  const read = async (at: Opened, start: number): Promise<void> => {
    let offset = start;
    while (!result.more && offset < at.size) {
      const chunk = await readAt(at.file, offset, Math.min(at.size - offset, chunkBytes));
      const end = chunk.lastIndexOf(newline) + 1;
      if (end === 0) {
        if (chunk.length < chunkBytes) break;
        // No line is this long. What is left of it is no JSON either, because quotes inside a JSON text are escaped.
        offset += chunk.length;
        continue;
      }
      let used = 0;
      while (used < end) {
        const stop = chunk.indexOf(newline, used);
        const letter = parseLine(chunk.toString("utf8", used, stop));
        if (letter && !seen.has(letter.key)) {
          const size = Math.min(letter.text.length, limit.perLetter);
          if (result.letters.length >= limit.letters || (result.letters.length > 0 && chars + size > limit.chars)) {
            result.more = true;
            break;
          }
          seen.add(letter.key);
          result.letters.push(letter);
          chars += size;
        }
        used = stop + 1;
      }
      offset += used;
    }
    const head = await readAt(at.file, 0, Math.min(offset, headBytes));
    result.next = { offset, ids: [...seen].slice(-keptIds), sha: head.length > 0 ? fingerprint(head) : "", sha_len: head.length, ino: at.ino };
  };

  const files = await openAll(path);
  try {
    const [first, offset] = await locate(files, from);
    for (const [i, at] of files.entries()) {
      if (i < first || result.more) continue;
      await read(at, i === first ? offset : 0);
    }
    return result;
  } finally {
    await closeAll(files);
  }
}

/** What a reader keeps: how far it read each spool, by absolute path, and what else its user wants to remember. */
export interface State {
  marks: Record<string, Mark>;
  account: unknown;
}

/**
 * The state of one reader: a small file of its own, replaced as a whole under a lock.
 */
export class StateFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** A file that is damaged or not there is an empty state. */
  async read(): Promise<State> {
    const state: State = { marks: {}, account: undefined };
    let value: unknown;
    try {
      value = JSON.parse(await readFile(this.path, "utf8"));
    } catch {
      return state;
    }
    if (typeof value !== "object" || value === null) return state;
    const { marks, account } = value as { marks?: Record<string, Partial<Mark> | null> | null; account?: unknown };
    state.account = account;
    for (const [spool, m] of Object.entries(marks ?? {})) {
      if (!m || !isCount(m.offset) || !isCount(m.sha_len) || m.sha_len > headBytes || typeof m.sha !== "string" || !Array.isArray(m.ids)) continue;
      const ids = m.ids.filter((id) => typeof id === "string").slice(-keptIds);
      state.marks[spool] = { offset: m.offset, ids, sha: m.sha, sha_len: m.sha_len, ino: typeof m.ino === "string" ? m.ino : "" };
    }
    return state;
  }

  /**
   * Changes the state. What `change` made of it is on disk before this returns its result. Blocks until the lock is free, two
   * seconds at most; throws when it is not, or when the file system refuses: nothing has changed then.
   */
  async update<T>(change: (state: State) => Promise<T> | T): Promise<T> {
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    const lock = `${this.path}.lock`;
    const token = `${hostname()} ${process.pid} ${randomBytes(8).toString("hex")}`;
    const until = Date.now() + 2000;
    while (!(await claim(lock, token))) {
      await breakStale(lock);
      if (Date.now() > until) throw new Error("the lock of the letter state is held");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    try {
      const state = await this.read();
      const result = await change(state);
      await replace(this.path, `${JSON.stringify(state)}\n`);
      return result;
    } finally {
      await unlink(lock).catch(() => undefined);
    }
  }
}

/**
 * Takes what is unread of the spools and moves the marks behind it. Meant for StateFile.update: the marks are on disk before
 * the letters are handed over, so that each is handed over once and none is offered for ever.
 */
export async function take(state: State, spools: string[], limit: Limit): Promise<{ letters: Letter[]; more: boolean }> {
  const letters: Letter[] = [];
  let more = false;
  let { letters: left, chars } = limit;
  const seen = new Set<string>();
  for (const spool of spools) {
    if (left <= 0 || (letters.length > 0 && chars <= 0)) {
      more = true;
      break;
    }
    const found = await scan(spool, state.marks[spool], { ...limit, letters: left, chars });
    state.marks[spool] = found.next;
    more ||= found.more;
    for (const letter of found.letters) {
      left--;
      chars -= Math.min(letter.text.length, limit.perLetter);
      if (seen.has(letter.key)) continue;
      seen.add(letter.key);
      letters.push(letter);
    }
  }
  return { letters, more };
}

function isCount(n: unknown): n is number {
  return typeof n === "number" && Number.isSafeInteger(n) && n >= 0;
}

/** Replaces a file as a whole, mode 0600. */
export async function replace(path: string, content: string): Promise<void> {
  const tmp = `${path}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`;
  try {
    await writeFile(tmp, content, { mode: 0o600, flush: true });
    await rename(tmp, path);
  } catch (err) {
    await unlink(tmp).catch(() => undefined);
    throw err;
  }
}

async function claim(lock: string, token: string): Promise<boolean> {
  try {
    await writeFile(lock, token, { flag: "wx", mode: 0o600 });
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw err;
  }
}

// Node has no flock. A lock file outlives a process that was killed, so a lock is taken from an owner that is gone, or that
// has held it for longer than anybody does; a second lock lets only one process do that, so that it never takes a fresh one.
const staleMs = 15_000;

async function breakStale(lock: string): Promise<void> {
  if (!(await isStale(lock))) return;
  const breaking = `${lock}.break`;
  if (!(await claim(breaking, ""))) {
    if (await isOld(breaking)) await unlink(breaking).catch(() => undefined);
    return;
  }
  try {
    if (await isStale(lock)) await unlink(lock);
  } catch {
    // Its owner was quicker.
  } finally {
    await unlink(breaking).catch(() => undefined);
  }
}

async function isStale(lock: string): Promise<boolean> {
  let owner: string;
  try {
    owner = await readFile(lock, "utf8");
  } catch {
    return false;
  }
  const [host, pid] = owner.split(" ");
  if (host === hostname() && pid !== undefined && /^[1-9]\d*$/.test(pid)) {
    try {
      process.kill(Number(pid), 0);
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code === "ESRCH") return true;
    }
  }
  return isOld(lock);
}

async function isOld(path: string): Promise<boolean> {
  try {
    return Date.now() - (await stat(path)).mtimeMs > staleMs;
  } catch {
    return false;
  }
}
