// Tools through the whole product: the real Claude Code asks before it runs something; yes once, yes for good, taken back, no; and a tool that is switched off.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before } from "node:test";
import { walk } from "./fixtures/browser.mjs";
import { Model } from "./fixtures/model.mjs";
import { clis, Server } from "./fixtures/server.mjs";

let server;
let model;
let ada;
before(async () => {
  if (!existsSync(join(clis, "claude"))) throw new Error("claude is not installed; run make deps: a backend counts only when its real CLI ran");
  [server, model] = await Promise.all([Server.start({ demo: false }), Model.start()]);
  ada = await server.person("Ada");
});
after(() => Promise.all([server?.stop(), model?.stop()]));

const anthropic = () => ({ ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: "sk-made-up-key" });

/** How often a command wrote its line, wherever the CLI's working folder is. */
function lines(home, name) {
  let n = 0;
  for (const entry of readdirSync(home, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && entry.name === name) n += readFileSync(join(entry.parentPath, name), "utf8").split("\n").length - 1;
  }
  return n;
}

/** The real Claude Code as an agent of Ada's, in a home of its own. */
async function claude(name) {
  const agent = await server.agent(ada, name, { backend: "claude_cli" });
  const home = join(server.dir, `home-${name}`);
  mkdirSync(home, { recursive: true });
  const bridge = server.bridge(agent.line, [], {
    CLAUDE_CLI_PATH: join(clis, "claude"),
    HOME: home,
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    IS_SANDBOX: "1",
    ...anthropic(),
  });
  return { agent, bridge };
}

const bash = (command) => ({ tools: [{ name: "Bash", args: { command } }] });

walk("S1 Claude Code asks in the room and in the inbox; a lasting yes is used, listed and taken back", async (device) => {
  const { agent: scout, bridge } = await claude("Scout");
  const room = await server.room(ada, [scout.id]);
  await model.on("Continue from where you left off", { text: "It is made." });
  await model.on("ring once", bash("echo ring >> bell"));
  await model.on("ring again", bash("echo ring >> bell"), { text: "It rang by itself." });
  await model.on("sweep", bash("echo swept >> floor"));
  await model.on("burn", bash("echo burnt >> barn"), { text: "I leave it." });
  try {
    await bridge.line(/agent is online/);
    const { page, said, send, axe } = await device(server, { person: ada, path: `/rooms/${room.id}` });
    const here = page.getByRole("region", { name: "Waiting for your decision" });

    await send("ring once");
    await here.getByText("echo ring >> bell").first().waitFor();
    assert.equal(lines(server.dir, "bell"), 0, "nothing runs before the answer");
    assert.deepEqual(await axe(), []);
    await here.getByLabel("How far does a yes go").selectOption({ label: "Exactly this, again" });
    await here.getByRole("button", { name: "Approve", exact: true }).click();
    await said("It is made.").first().waitFor();
    await here.waitFor({ state: "detached" });
    assert.equal(lines(server.dir, "bell"), 1);

    await send("ring again");
    await said("It rang by itself.").waitFor();
    assert.equal(lines(server.dir, "bell"), 2, "the lasting yes was used");

    await send("sweep");
    await page.getByRole("button", { name: "Decisions: 1 waits for you" }).click();
    await page.getByRole("article").getByText("echo swept >> floor").first().waitFor();
    await page.keyboard.press("a");
    await page.getByText("Nothing waits for you").waitFor();
    await page.goto(`${server.url}/rooms/${room.id}`);
    await said("It is made.").nth(1).waitFor();
    assert.equal(lines(server.dir, "floor"), 1);

    await page.goto(`${server.url}/agents/${scout.id}?tab=tools`);
    const allowed = page.getByRole("region", { name: "Allowed for good" });
    await allowed.getByText("Exactly this call").waitFor();
    await allowed.getByText("used once").waitFor();
    await allowed.getByRole("button", { name: "Take back" }).click();
    await allowed.getByText("It asks you every time.").waitFor();

    await page.goto(`${server.url}/rooms/${room.id}`);
    await send("burn");
    await here.getByText("echo burnt >> barn").first().waitFor();
    await here.getByRole("button", { name: "Deny", exact: true }).click();
    await here.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Decisions", exact: true }).click();
    await page.getByRole("tab", { name: "History" }).click();
    await page.getByText("Denied by you").waitFor();
    assert.equal(lines(server.dir, "barn"), 0);
  } catch (e) {
    e.message += `\nthe bridge said:\n${bridge.tail()}`;
    throw e;
  } finally {
    await bridge.stop();
  }
});

walk("K3 an agent uses a tool of the server; switched off, it is not offered any more", async (device) => {
  const iris = await server.agent(ada, "Iris", { backend: "anthropic" });
  const room = await server.room(ada, [iris.id], "Garden");
  await model.on("who is here", { tools: [{ name: "list_members", args: { conversation_id: room.id } }] }, { text: "The two of us." });
  await model.on("and now", { tools: [{ name: "list_members", args: { conversation_id: room.id } }] }, { text: "I cannot look any more." });
  const bridge = server.bridge(iris.line, [], anthropic());
  try {
    await bridge.line(/agent is online/);
    const { page, said, send } = await device(server, { person: ada, path: `/rooms/${room.id}` });
    await send("@Iris who is here");
    await said("The two of us.").waitFor();
    await page.goto(`${server.url}/agents/${iris.id}?tab=tools`);
    const calls = page.getByRole("region", { name: "What it did" });
    await calls.getByText("See who is in a room").first().waitFor();
    const stored = page.waitForResponse((r) => r.url().includes("/assign/") && r.request().method() === "DELETE");
    await page.getByRole("switch", { name: /See who is in a room/ }).click();
    assert.ok((await stored).ok());
    await page.reload();
    await page.locator('[role=switch][aria-checked="false"]').filter({ visible: true }).first().waitFor();
    await page.goto(`${server.url}/rooms/${room.id}`);
    await send("@Iris and now");
    await said("I cannot look any more.").waitFor();
    await page.goto(`${server.url}/agents/${iris.id}?tab=tools`);
    await calls.getByText("refused").first().waitFor();
  } catch (e) {
    e.message += `\nthe bridge said:\n${bridge.tail()}`;
    throw e;
  } finally {
    await bridge.stop();
  }
});

walk("S1 what a task wants to run is approved where the task was asked for, and the task ends", async (device) => {
  const { agent, bridge } = await claude("Mason");
  const room = await server.room(ada, [agent.id]);
  await model.on("Continue from where you left off", { text: "It is made." });
  await model.on("Lay a stone", bash("echo stone >> wall"));
  try {
    await bridge.line(/agent is online/);
    const { page, said } = await device(server, { person: ada, path: `/rooms/${room.id}` });
    await server.call("POST", `/api/conversations/${room.id}/tasks`, { token: ada.token, body: { title: "Lay a stone", assignedTo: [agent.id] } });
    const card = page.getByRole("region", { name: "Task: Lay a stone" });
    await card.getByText("echo stone >> wall").first().waitFor();
    await card.getByText("Waiting for you").waitFor();
    // The page of the task says the same; there it is answered.
    await card.getByRole("link").first().click();
    const panel = page.getByRole("article", { name: "Lay a stone" });
    await panel.getByText("echo stone >> wall").first().waitFor();
    assert.equal(lines(server.dir, "wall"), 0, "nothing runs before the answer");
    await panel.getByRole("button", { name: "Approve", exact: true }).click();
    await panel.getByText("It is made.").waitFor();
    assert.equal(lines(server.dir, "wall"), 1);
    await panel.getByRole("link", { name: "Where it was asked" }).click();
    await card.getByText("Done", { exact: true }).waitFor();
    await said("It is made.").waitFor();
  } catch (e) {
    e.message += `\nthe bridge said:\n${bridge.tail()}`;
    throw e;
  } finally {
    await bridge.stop();
  }
});
