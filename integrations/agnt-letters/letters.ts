// What an alarm needs of a session's letters, whoever keeps the books about them: the program agnt (program.ts), or this
// process over the files alone (files.ts).

/** The hosts that have an integration. */
export type Host = "pi" | "opencode";

/** A session's letters. Everything that gives text gives it quoted, ready for a model; undefined when there is nothing. */
export interface Letters {
  /** The files to watch, absolute paths. */
  readonly spools: string[];
  /** Registers the session, so that the follower writes for it. May already hand over what nobody has read. */
  start(): Promise<string | undefined>;
  /** A turn begins with this prompt. Takes what is unread. */
  prompt(text: string): Promise<string | undefined>;
  /** Between two tool calls of a turn that goes on. Takes what is unread, where the user allows it. */
  during(): Promise<string | undefined>;
  /** May unread letters begin a turn now? Enters the wake when they may, so it is asked only when the session is idle. */
  mayWake(): Promise<boolean>;
  /** The session ends; `over` when it cannot be resumed. */
  end(over: boolean): Promise<void>;
}
