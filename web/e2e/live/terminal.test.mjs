// A person's own terminal: connected with the copied line, its session shown and reached. The host of the hooks is scripted; `agnt hook` is the real program.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { walk } from "./fixtures/browser.mjs";
import { Program } from "./fixtures/program.mjs";
import { bin, Server } from "./fixtures/server.mjs";

let server;
let ada;
before(async () => {
  server = await Server.start({ demo: false });
  ada = await server.person("Ada");
});
after(() => server?.stop());

/** A machine with the settings of Claude Code, and what it would run at each moment of a session. */
class Desk {
  constructor(home) {
    this.home = home;
    mkdirSync(join(home, "work"), { recursive: true });
    this.env = { HOME: home, PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`, AGENTGRAM_DEVICE_NAME: "desk", AGNT_HOOK_DEBUG: "1" };
  }

  async connect(line) {
    const words = line.trim().split(/\s+/).slice(1);
    const program = new Program(join(bin, "agnt"), words, { env: this.env });
    const { code } = await program.ended;
    assert.equal(code, 0, program.tail());
    const settings = JSON.parse(readFileSync(join(this.home, ".claude/settings.json"), "utf8"));
    this.hooks = settings.hooks;
  }

  /** Runs the hook that the settings name for an event, with what Claude Code says on its standard input; gives what the hook says. */
  hook(event, more = {}) {
    const { command } = this.hooks[event][0].hooks[0];
    const said = { session_id: "5e551011-0000-4000-8000-000000000001", hook_event_name: event, cwd: join(this.home, "work"), ...more };
    return new Promise((done, fail) => {
      const child = spawn("/bin/sh", ["-c", command], { env: this.env });
      let out = "";
      let err = "";
      child.stdout.on("data", (d) => (out += d));
      child.stderr.on("data", (d) => (err += d));
      child.on("error", fail);
      child.on("close", () => (err ? fail(new Error(`${event}: ${err}`)) : done(out)));
      child.stdin.end(JSON.stringify(said));
    });
  }
}

walk("B1 a terminal is connected by the copied line; its session is shown, read and reached, and ends", async (device) => {
  const desk = new Desk(join(server.dir, "desk"));
  const { page, log, said, send, axe } = await device(server, { person: ada, path: "/agents" });
  await page.getByRole("button", { name: "Connect your terminal" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Desk");
  await dialog.getByRole("button", { name: "Make the command" }).click();
  await dialog.getByRole("button", { name: "Copy", exact: true }).click();
  const line = await page.waitForFunction(async () => {
    const text = await navigator.clipboard.readText();
    return text.startsWith("agnt connect --session") && text;
  });
  await desk.connect(await line.jsonValue());
  await page.keyboard.press("Escape");

  await desk.hook("SessionStart", { source: "startup" });
  const sessions = page.getByRole("region", { name: "Terminal sessions" });
  await sessions.getByText("at work").waitFor();
  await sessions.getByRole("link").first().click();
  await page.waitForURL("**/rooms/*");
  await log.getByText("Claude Code has started").waitFor();
  await desk.hook("UserPromptSubmit", { prompt: "rename the harbour" });
  await said("rename the harbour").waitFor();
  await desk.hook("Stop", { last_assistant_message: "The harbour is **renamed**." });
  await said("The harbour is renamed.").locator("strong").waitFor();

  await send("please look at the lighthouse too");
  await said("please look at the lighthouse too").getByText("Waits in the terminal of Desk").waitFor();
  assert.deepEqual(await axe(), []);
  const brought = await desk.hook("UserPromptSubmit", { prompt: "go on" });
  assert.match(brought, /please look at the lighthouse too/);
  await said("please look at the lighthouse too").getByText("Read by Desk").waitFor();

  await desk.hook("Notification", { notification_type: "permission_prompt" });
  await page.getByText("asks for permission in the terminal").first().waitFor();
  await desk.hook("SessionEnd", { reason: "exit" });
  await log.getByText("Claude Code has ended: 2 prompts").waitFor();
  await page.goto(`${server.url}/agents`);
  await sessions.getByText("ended").waitFor();
});
