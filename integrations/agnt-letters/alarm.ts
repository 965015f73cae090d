// One session's alarm: it watches the session's spools, hands unread letters over when a turn begins, and may begin one.
import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Letters } from "./letters.ts";
import { nudge } from "./quote.ts";

/** The way into a host's session. */
export interface Door {
  /** True when a wake would begin a turn of this session now: it is idle, and nothing is queued. */
  idle(): boolean | Promise<boolean>;
  /** Begins a turn with the fixed text, and only that. */
  wake(text: string): void | Promise<void>;
}

export interface AlarmOptions {
  letters: Letters;
  door: Door;
  /** Told what failed. */
  failed: (what: string, err: unknown) => void;
  /** Milliseconds, as Date.now. */
  now?: () => number;
}

const pollMs = 1000;
const settleMs = 50;
const lookAgainMs = 60_000; // limits of the last hour let go by and by
const failedWaitMs = 60_000;
const deadlineMs = 3000;

/** Nothing here throws or rejects: the host goes on as if there were no letters, and `failed` is told. */
export class Alarm {
  readonly #o: AlarmOptions;
  readonly #now: () => number;
  #watchers: FSWatcher[] = [];
  #timer: NodeJS.Timeout | undefined;
  #settling: NodeJS.Timeout | undefined;
  #closed = false;
  #looking: Promise<void> | undefined;
  #again = false;
  #files = "";
  #shown = ""; // the files when a turn was last given what is unread
  #looked = 0;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(options: AlarmOptions) {
    this.#o = options;
    this.#now = options.now ?? Date.now;
  }

  /** Begins to watch. What is unread already counts as new. */
  watch(): void {
    if (this.#closed || this.#timer) return;
    const { spools } = this.#o.letters;
    for (const dir of new Set(spools.map((s) => dirname(s)))) {
      const names = new Set(spools.filter((s) => dirname(s) === dir).map((s) => basename(s)));
      try {
        const watcher = watch(dir, { persistent: false }, (_, name) => {
          if (name === null || names.has(name)) this.#soon();
        });
        // The poll below goes on without it.
        watcher.on("error", () => watcher.close());
        this.#watchers.push(watcher);
      } catch (err) {
        this.#o.failed("watch", err);
      }
    }
    this.#timer = setInterval(() => void this.#poll(), pollMs);
    this.#timer.unref();
    this.#soon();
  }

  /** Stops watching. A wake that is under way may still come. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    clearTimeout(this.#settling);
    for (const watcher of this.#watchers) watcher.close();
    this.#watchers = [];
  }

  /** A turn begins with this prompt: the unread letters as quoted data, undefined when there are none. They are not offered again. */
  async prompt(text: string): Promise<string | undefined> {
    return this.#take("prompt", () => this.#o.letters.prompt(text));
  }

  /** The same between two tool calls of a turn that goes on. */
  async during(): Promise<string | undefined> {
    if ((await this.#signature()) === this.#shown) return undefined;
    return this.#take("during", () => this.#o.letters.during());
  }

  /** Wakes the session if a letter asks for it and everything allows it. Called when letters came and when the session became idle. */
  async check(): Promise<void> {
    if (this.#closed) return;
    this.#again = true;
    this.#looking ??= (async () => {
      try {
        while (this.#again && !this.#closed) {
          this.#again = false;
          await this.#look();
        }
      } catch (err) {
        this.#failedAt = this.#now();
        this.#o.failed("wake", err);
      } finally {
        this.#looking = undefined;
      }
    })();
    await this.#looking;
  }

  async #take(what: string, take: () => Promise<string | undefined>): Promise<string | undefined> {
    if (this.#closed) return undefined;
    try {
      const files = await this.#signature();
      const text = await take();
      this.#shown = files;
      return text;
    } catch (err) {
      this.#o.failed(what, err);
      return undefined;
    }
  }

  // A writer makes several changes at once.
  #soon(): void {
    if (this.#closed || this.#settling) return;
    this.#settling = setTimeout(() => {
      this.#settling = undefined;
      void this.check();
    }, settleMs);
    this.#settling.unref();
  }

  async #poll(): Promise<void> {
    const files = await this.#signature();
    if (files === this.#files && this.#now() - this.#looked < lookAgainMs) return;
    this.#files = files;
    await this.check();
  }

  async #signature(): Promise<string> {
    const files = this.#o.letters.spools.map(async (path) => {
      const st = await stat(path).catch(() => undefined);
      return st ? `${st.ino} ${st.size} ${st.mtimeMs}` : "none";
    });
    return (await Promise.all(files)).join("\n");
  }

  async #look(): Promise<void> {
    if (this.#now() - this.#failedAt < failedWaitMs || !(await this.#o.door.idle())) return;
    this.#looked = this.#now();
    if (!(await this.#o.letters.mayWake()) || this.#closed) return;
    // The fixed text of this program, whatever was found.
    await within(deadlineMs, this.#o.door.wake(nudge));
  }
}

/** Rejects when the work takes longer. */
async function within<T>(ms: number, work: T | Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("deadline")), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
