// The real opencode as a server process, with a stand-in for its model's provider, driven over its own API.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createOpencodeClient, type OpencodeClient } from "@opencode-ai/sdk";
import { type Model, startModel } from "./model.ts";
import { install, packageDir, until, type World } from "./world.ts";

export interface Opencode {
  model: Model;
  client: OpencodeClient;
  url: string;
  output: () => string;
  /** Makes a session. */
  session(parent?: string): Promise<string>;
  /** A person's prompt; returns when it was answered. */
  prompt(session: string, text: string, agent?: string): Promise<void>;
  /** Waits until a session has answered so many prompts and is idle. */
  idle(session: string, answers: number): Promise<void>;
  /** The agents that the session's prompts went to. */
  agents(session: string): Promise<string[]>;
  quit(): Promise<void>;
}

const { version } = JSON.parse(readFileSync(join(packageDir("@opencode-ai/plugin"), "package.json"), "utf8")) as { version: string };
// npm installs one for Linux x64; elsewhere it is the one on the PATH.
const installed = join(packageDir("opencode-linux-x64-baseline"), "bin", "opencode");
const program = existsSync(installed) ? installed : "opencode";

export async function startOpencode(w: World, settings: Record<string, unknown> | undefined): Promise<Opencode> {
  const model = await startModel();
  w.after(() => model.close());
  const folder = join(w.home, ".config", "opencode");
  const work = join(w.home, "work");
  mkdirSync(folder, { recursive: true });
  mkdirSync(work, { recursive: true });
  if (settings) install("opencode", folder, settings);
  const options = { baseURL: model.url, apiKey: "none" };
  const config = {
    model: "fake/m",
    small_model: "fake/m",
    autoupdate: false,
    share: "disabled",
    provider: {
      fake: { npm: "@ai-sdk/openai-compatible", options, models: { m: { name: "m", tool_call: true, limit: { context: 100_000, output: 1000 } } } },
    },
    permission: { bash: "allow", edit: "allow", webfetch: "deny", external_directory: "allow" },
  };
  writeFileSync(join(folder, "opencode.json"), JSON.stringify(config));
  // opencode installs the package of its plugin types beside every configuration. The plugin needs none of it when it runs.
  const dependencies = { "@opencode-ai/plugin": version };
  const name = "@opencode-ai/plugin";
  mkdirSync(join(folder, "node_modules", name), { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ dependencies }));
  const packages = { "": { dependencies }, [`node_modules/${name}`]: { version } };
  for (const lock of [join(folder, "package-lock.json"), join(folder, "node_modules", ".package-lock.json")]) {
    writeFileSync(lock, JSON.stringify({ lockfileVersion: 3, packages }));
  }
  writeFileSync(join(folder, "node_modules", name, "package.json"), JSON.stringify({ name, version }));
  const env = {
    ...w.env,
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
  };
  const child = spawn(program, ["serve", "--port", "0", "--hostname", "127.0.0.1", "--print-logs"], {
    cwd: work,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  w.after(() => kill(child));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
    });
  }
  const url = await until("opencode to listen", () => {
    if (child.exitCode !== null) throw new Error(output);
    return /listening on (http:\/\/\S+)/.exec(output)?.[1];
  });
  const client = createOpencodeClient({ baseUrl: url, directory: work });
  return {
    model,
    client,
    url,
    output: () => output,
    session: async (parent) => {
      const { data, error } = await client.session.create({ body: parent === undefined ? {} : { parentID: parent } });
      if (!data) throw new Error(JSON.stringify(error));
      return data.id;
    },
    prompt: async (session, text, agent) => {
      const { error } = await client.session.prompt({
        path: { id: session },
        body: { parts: [{ type: "text", text }], ...(agent !== undefined && { agent }) },
      });
      if (error) throw new Error(JSON.stringify(error));
    },
    idle: async (session, answers) => {
      await until(`${answers} answers`, async () => {
        const { data } = await client.session.messages({ path: { id: session } });
        const done = (data ?? []).filter((m) => m.info.role === "assistant" && m.info.time.completed !== undefined && m.info.finish !== "tool-calls");
        return done.length >= answers;
      });
    },
    agents: async (session) => {
      const { data } = await client.session.messages({ path: { id: session } });
      return (data ?? []).flatMap((m) => (m.info.role === "user" ? [m.info.agent] : []));
    },
    quit: async () => {
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}
