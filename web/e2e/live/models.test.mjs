// The main job: agents whose models are the real Claude Code, the real Codex and the real SDKs, in front of a fake provider.
import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before } from "node:test";
import { walk } from "./fixtures/browser.mjs";
import { Model } from "./fixtures/model.mjs";
import { clis, Server } from "./fixtures/server.mjs";

let server;
let model;
let ada;
before(async () => {
  for (const name of ["claude", "codex"])
    if (!existsSync(join(clis, name))) throw new Error(`${name} is not installed; run make deps: a backend counts only when its real CLI ran`);
  [server, model] = await Promise.all([Server.start({ demo: false }), Model.start()]);
  ada = await server.person("Ada");
});
after(() => Promise.all([server?.stop(), model?.stop()]));

walk("a new agent: its key is shown once, the copied line brings it online, it answers", async (device) => {
  const { page, said, send } = await device(server, { person: ada, path: "/agents?create=true" });
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("Juno");
  await dialog.getByRole("button", { name: "Create agent" }).click();
  await page.waitForURL("**/agents/*-*");
  await page.getByText("Waiting for the bridge of Juno").waitFor();
  await page.getByRole("button", { name: "Copy", exact: true }).first().click();
  const line = await page.waitForFunction(async () => {
    const text = await navigator.clipboard.readText();
    return text.includes("AGENT_API_KEY") && text;
  });
  server.bridge(await line.jsonValue(), ["--backend", "scripted"]);
  await page.getByText("Juno is online on test-box").waitFor();
  await page.reload();
  await page.getByRole("heading", { name: /Juno/ }).waitFor();
  assert.ok(!(await page.content()).includes(/AGENT_API_KEY=(\S{12})/.exec(await line.jsonValue())[1]), "the key is shown once");
  await page.getByRole("button", { name: "Write to it" }).first().click();
  await page.waitForURL("**/rooms/*");
  await send("code");
  await said("A piece of Go").locator(".hljs-keyword").first().waitFor();
});

walk("the guide leads from an empty account to an answer", async (device) => {
  const { page, said, box } = await device(server, { person: await server.person("Nils"), path: "/welcome" });
  await page.getByLabel("Name of the agent").fill("Nova");
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByRole("heading", { name: "Bring Nova online" }).waitFor();
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  const line = await page.waitForFunction(async () => {
    const text = await navigator.clipboard.readText();
    return text.includes("AGENT_API_KEY") && text;
  });
  server.bridge(await line.jsonValue(), ["--backend", "scripted"]);
  await page.getByRole("heading", { name: "Nova is online" }).waitFor();
  await page.getByRole("button", { name: /Who are you/ }).click();
  await page.waitForURL("**/rooms/*");
  assert.match(await box.inputValue(), /^Hello\. Who are you/);
  await box.press("Enter");
  await said("I am the demo agent").waitFor();
});

// Codex's launcher is a script for the node that runs this.
const PATH = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`;
const home = (name) => {
  const dir = join(server.dir, `home-${name}`);
  mkdirSync(join(dir, ".codex"), { recursive: true });
  return dir;
};
const anthropic = () => ({ ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: "sk-made-up-key" });
const openai = () => ({ OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_API_KEY: "sk-made-up-key" });
const backends = {
  claude_cli: {
    name: "Claude Code",
    path: "/v1/messages",
    env: () => ({ CLAUDE_CLI_PATH: join(clis, "claude"), HOME: home("claude"), PATH, IS_SANDBOX: "1", ...anthropic() }),
  },
  codex_cli: { name: "Codex", path: "/v1/responses", env: () => ({ CODEX_CLI_PATH: join(clis, "codex"), HOME: home("codex"), PATH, ...openai() }) },
  anthropic: { name: "Anthropic SDK", path: "/v1/messages", env: anthropic },
  openai: { name: "OpenAI SDK", path: "/v1/chat/completions", env: openai },
};

for (const [backend, { name, path, env }] of Object.entries(backends)) {
  walk(`${name} answers in the browser, streamed; a refused sign-in is shown as such`, async (device) => {
    const agent = await server.agent(ada, name, { backend });
    const room = await server.room(ada, [agent.id]);
    const key = `${backend} question`;
    await model.on(key, { text: `First of all, **${name}** says that two and two is four.`, hold: backend });
    await model.on(`${backend} locked`, { status: 401 });
    const bridge = server.bridge(agent.line, [], env());
    const asked = await model.requests(path);
    const { page, log, said, send } = await device(server, { person: ada, path: `/rooms/${room.id}` });
    await log.waitFor();
    try {
      await send(`${key}: what is two and two?`);
      // The first word is there while the model still holds back the rest.
      const growing = log.locator('article[aria-busy="true"]').filter({ hasText: "First" });
      await growing.waitFor();
      assert.ok(!(await growing.textContent()).includes("four"));
      await model.release(backend);
      await said(`${name} says that two and two is four.`).locator("strong").waitFor();
      await growing.waitFor({ state: "detached" });
      assert.ok((await model.requests(path)) > asked, "the provider was asked");
      await send(`${backend} locked: and now?`);
      await log.getByText(`${name} could not sign in to its model`).waitFor();
      const answers = (await server.messages(ada, room.id)).filter((m) => m.senderId === agent.id && m.content.includes("four"));
      assert.equal(answers.length, 1);
      await page.goto(`${server.url}/agents/${agent.id}`);
      await page.getByText("The model refused the sign-in").first().waitFor();
    } catch (e) {
      e.message += `\nthe bridge said:\n${bridge.tail()}`;
      throw e;
    } finally {
      await bridge.stop();
    }
  });
}
