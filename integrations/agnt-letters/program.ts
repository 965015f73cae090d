// A session's letters through the program agnt, run as a hook: it keeps cursor, locks, budget and registration for all hosts
// of a user together.
import { spawn } from "node:child_process";
import type { Host, Letters } from "./letters.ts";

const deadlineMs = 5000;
const mostOutput = 1 << 20;

export interface ProgramLettersOptions {
  host: Host;
  /** Absolute path of agnt. */
  agnt: string;
  /** The user's folder, absolute. */
  user: string;
  /** The host's own id of the session. */
  session: string;
  /** Folder that the session works in. */
  cwd: string;
  spools: string[];
}

interface Answer {
  decision?: unknown;
  hookSpecificOutput?: { additionalContext?: unknown };
}

/** Every method rejects when agnt cannot be run, fails, is slower than five seconds or answers what is no hook's answer. */
export class ProgramLetters implements Letters {
  readonly spools: string[];
  readonly #o: ProgramLettersOptions;

  constructor(options: ProgramLettersOptions) {
    this.#o = options;
    this.spools = options.spools;
  }

  async start(): Promise<string | undefined> {
    return context(await this.#run("session-start", { source: "startup" }));
  }

  async prompt(text: string): Promise<string | undefined> {
    // What a person wrote is nobody's business but whether it was a person; the fixed text of a wake is told from it by its beginning.
    return context(await this.#run("user-prompt-submit", { prompt: text.slice(0, 1000) }));
  }

  async during(): Promise<string | undefined> {
    return context(await this.#run("post-tool-use", {}));
  }

  async mayWake(): Promise<boolean> {
    return (await this.#run("stop", { stop_hook_active: false })).decision === "block";
  }

  async end(over: boolean): Promise<void> {
    await this.#run("session-end", { reason: over ? "clear" : "other" });
  }

  async #run(moment: string, input: Record<string, unknown>): Promise<Answer> {
    const { host, agnt, user, session, cwd } = this.#o;
    const output = await run(
      agnt,
      ["hook", host, moment, "--dir", user],
      JSON.stringify({ session_id: session, cwd, hook_event_name: moment, ...input }),
    );
    if (output.trim() === "") return {};
    const answer: unknown = JSON.parse(output);
    if (typeof answer !== "object" || answer === null) throw new Error("no hook's answer");
    return answer as Answer;
  }
}

function context(answer: Answer): string | undefined {
  const text = answer.hookSpecificOutput?.additionalContext;
  return typeof text === "string" && text !== "" ? text : undefined;
}

/** Runs a program without a shell and gives its standard output. */
function run(program: string, args: string[], input: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"], windowsHide: true, timeout: deadlineMs, killSignal: "SIGKILL" });
    const chunks: Buffer[] = [];
    let size = 0;
    child.once("error", reject);
    child.stdin.once("error", () => undefined); // it may end without reading
    child.stdout.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > mostOutput) child.kill("SIGKILL");
      else chunks.push(chunk);
    });
    child.once("close", (code, signal) => {
      if (code === 0) resolve(Buffer.concat(chunks).toString("utf8"));
      else reject(Object.assign(new Error("agnt hook failed"), { code: signal ?? `exit ${code}` }));
    });
    child.stdin.end(input);
  });
}
