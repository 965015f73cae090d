// A session's letters over the spool files alone, without the program agnt: cursor, budget and registration are kept here.
import { mkdir, readdir, readFile, realpath, stat, unlink } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { book, callers, parseAccount, readLimits } from "./budget.ts";
import type { Letters } from "./letters.ts";
import { nudge, quote } from "./quote.ts";
import { type Letter, replace, StateFile, scan, take } from "./spool.ts";

// Characters of all letters that are handed over at once, and letters that are looked through to decide about a wake.
const handedChars = 40_000;
const considered = 500;
const mostRemembered = 2000;
const keptMs = 14 * 24 * 3_600_000;

export interface FileLettersOptions {
  /** The user's folder, absolute. */
  user: string;
  /** Absolute paths. */
  spools: string[];
  /** The file of the cursor and the budget, absolute. */
  state: string;
  /** The session to register, as sessionName gave it; empty when the spools were named by hand. */
  session: string;
  /** Milliseconds, as Date.now. */
  now?: () => number;
}

/** Every method rejects with what the file system or a held lock says; nothing is lost by that, and nothing handed over twice. */
export class FileLetters implements Letters {
  readonly spools: string[];
  readonly #o: FileLettersOptions;
  readonly #state: StateFile;
  readonly #now: () => number;
  readonly #nudged = new Set<string>();

  constructor(options: FileLettersOptions) {
    this.#o = options;
    this.spools = options.spools;
    this.#state = new StateFile(options.state);
    this.#now = options.now ?? Date.now;
  }

  async start(): Promise<undefined> {
    if (this.#o.session === "") return;
    const user = await realpath(this.#o.user); // a folder that somebody removed is not made again
    await mkdir(join(user, "sessions"), { recursive: true, mode: 0o700 });
    const entry = mapEntry(this.#o.session);
    await mkdir(dirname(entry), { recursive: true, mode: 0o700 });
    await replace(entry, `${user}\n`);
    await this.#forget();
  }

  async prompt(text: string): Promise<string | undefined> {
    return this.#take(!text.trimStart().startsWith(nudge));
  }

  async during(): Promise<string | undefined> {
    const { during_turn } = await readLimits(this.#o.user);
    return during_turn && (await this.#unread()).length > 0 ? this.#take(false) : undefined;
  }

  async mayWake(): Promise<boolean> {
    const limits = await readLimits(this.#o.user);
    if (!limits.wake) return false;
    const unread = await this.#unread();
    const asking = unread.filter((l) => l.verified && !this.#nudged.has(l.key));
    if (asking.length === 0) return false;
    const now = this.#now();
    // Entered before the wake: a host that dies of it is not woken by the same letters for ever.
    const woken = await this.#state.update((state) => {
      const account = parseAccount(state.account);
      const by = callers(account, asking, limits, now);
      if (by.length > 0) book(account, by, now);
      state.account = account;
      return by.length > 0;
    });
    if (!woken) return false;
    // One wake a letter, also when no turn came of it.
    for (const letter of unread) this.#nudged.add(letter.key);
    for (const key of this.#nudged) {
      if (this.#nudged.size <= mostRemembered) break;
      this.#nudged.delete(key);
    }
    return true;
  }

  /** A session that can be resumed stays registered: its letters wait in its spool. */
  async end(over: boolean): Promise<void> {
    if (!over || this.#o.session === "") return;
    const entry = mapEntry(this.#o.session);
    const owner = await readFile(entry, "utf8").catch(() => "");
    // Somebody may have given the session to another user since.
    if (owner.trim() === (await realpath(this.#o.user))) await unlink(entry);
  }

  /** Removes the states of this host's sessions whose spools were collected. */
  async #forget(): Promise<void> {
    const folder = dirname(this.#o.state);
    const name = /^(\.\w+-state\.)(.+)(\.json)$/;
    const prefix = name.exec(basename(this.#o.state))?.[1];
    for (const file of await readdir(folder)) {
      const [, host, session] = name.exec(file) ?? [];
      if (host === undefined || host !== prefix || session === this.#o.session) continue;
      const [state, spool] = await Promise.all([stat(join(folder, file)), stat(join(folder, `${session}.ndjson`)).catch(() => undefined)]);
      if (spool === undefined && this.#now() - state.mtimeMs > keptMs) await unlink(join(folder, file));
    }
  }

  async #take(person: boolean): Promise<string | undefined> {
    const limits = await readLimits(this.#o.user);
    const limit = { letters: limits.max_at_once, chars: handedChars, perLetter: limits.max_characters };
    const { letters, more } = await this.#state.update(async (state) => {
      const account = parseAccount(state.account);
      if (person) account.row = account.auto = 0;
      const taken = await take(state, this.spools, limit);
      account.auto = Math.max(account.auto, ...taken.letters.map((l) => l.auto));
      state.account = account;
      return taken;
    });
    for (const letter of letters) this.#nudged.delete(letter.key);
    return letters.length > 0 ? quote(letters, limits.max_characters, more) : undefined;
  }

  async #unread(): Promise<Letter[]> {
    const { marks } = await this.#state.read();
    const unread: Letter[] = [];
    for (const spool of this.spools) {
      unread.push(...(await scan(spool, marks[spool], { letters: considered, chars: Number.POSITIVE_INFINITY, perLetter: 0 })).letters);
    }
    return unread;
  }
}

/** The registry that the follower reads: one line, the user's folder. */
function mapEntry(session: string): string {
  return join(homedir(), ".agent-talk", "by-session", session);
}
