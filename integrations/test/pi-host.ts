// The real pi as a process in RPC mode, with a stand-in for its model's provider.
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Model, startModel } from "./model.ts";
import { install, packageDir, until, type World } from "./world.ts";

export interface Event {
  type: string;
  [name: string]: unknown;
}

export interface Pi {
  model: Model;
  session: string;
  events: Event[];
  stderr: () => string;
  /** Sends a command and waits for its response's data. */
  command(type: string, more?: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** A person's prompt; returns when the run has settled. */
  prompt(text: string): Promise<void>;
  /** How many runs have settled. */
  settled(): number;
  quit(): Promise<number | null>;
}

/** Starts pi with a stand-in model and, unless there are no settings, with the extension installed. */
export async function piCommand(
  w: World,
  settings: Record<string, unknown> | undefined,
  args: string[],
): Promise<{ model: Model; child: ChildProcessWithoutNullStreams; stdout: () => string; stderr: () => string }> {
  const model = await startModel();
  w.after(() => model.close());
  const folder = join(w.home, ".pi", "agent");
  mkdirSync(folder, { recursive: true });
  if (settings) install("pi", folder, settings);
  const models = [{ id: "m", name: "m", reasoning: false, input: ["text"], contextWindow: 100_000, maxTokens: 1000 }];
  const providers = { fake: { baseUrl: model.url, api: "openai-completions", apiKey: "none", models } };
  writeFileSync(join(folder, "models.json"), JSON.stringify({ providers }));
  const work = join(w.home, "work");
  mkdirSync(work, { recursive: true });
  const cli = join(packageDir("@earendil-works/pi-coding-agent"), "dist", "cli.js");
  const env = { ...w.env, PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1", PI_TELEMETRY: "0" };
  const child = spawn(process.execPath, [cli, "--provider", "fake", "--model", "m", ...args], { cwd: work, env, stdio: "pipe" });
  w.after(() => kill(child));
  if (args.includes("-p")) child.stdin.end();
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString("utf8");
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString("utf8");
  });
  return { model, child, stdout: () => stdout, stderr: () => stderr };
}

/** Starts pi in RPC mode. */
export async function startPi(w: World, settings: Record<string, unknown> | undefined, args: string[] = []): Promise<Pi> {
  const { model, child, stderr } = await piCommand(w, settings, ["--mode", "rpc", ...args]);
  const events: Event[] = [];
  const waiting = new Map<string, (event: Event) => void>();
  let rest = "";
  child.stdout.on("data", (chunk: Buffer) => {
    rest += chunk.toString("utf8");
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
      const event = JSON.parse(rest.slice(0, end)) as Event;
      rest = rest.slice(end + 1);
      events.push(event);
      if (event.type === "response" && typeof event["id"] === "string") waiting.get(event["id"])?.(event);
    }
  });
  let n = 0;
  const command = async (type: string, more: Record<string, unknown> = {}): Promise<Record<string, unknown>> => {
    const id = `c${++n}`;
    const answer = new Promise<Event>((resolve, reject) => {
      waiting.set(id, resolve);
      child.once("exit", () => reject(new Error(`pi ended: ${stderr()}`)));
    });
    child.stdin.write(`${JSON.stringify({ id, type, ...more })}\n`);
    const event = await answer;
    if (event["success"] !== true) throw new Error(`${type}: ${JSON.stringify(event)}`);
    return (event["data"] ?? {}) as Record<string, unknown>;
  };
  const settled = (): number => events.filter((e) => e.type === "agent_settled").length;
  const state = await command("get_state");
  return {
    model,
    session: String(state["sessionId"]),
    events,
    stderr,
    command,
    settled,
    prompt: async (text) => {
      const before = settled();
      await command("prompt", { message: text });
      await until("the run to settle", () => settled() > before);
    },
    quit: async () => {
      child.stdin.end();
      const [code] = (await once(child, "exit")) as [number | null];
      return code;
    },
  };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}
