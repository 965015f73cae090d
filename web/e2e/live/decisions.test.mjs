// Approvals through the whole product: an agent asks, its owner decides in a browser, a colleague sees nothing.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { walk } from "./fixtures/browser.mjs";
import { Model } from "./fixtures/model.mjs";
import { Server } from "./fixtures/server.mjs";

let server;
let model;
before(async () => {
  [server, model] = await Promise.all([Server.start({ demo: false }), Model.start()]);
});
after(() => Promise.all([server?.stop(), model?.stop()]));

/** Pictures of a page for whoever designs it, in the folder that SHOTS names. */
async function shots(page, name) {
  if (!process.env.SHOTS) return;
  for (const [colorScheme, width] of [
    ["light", 1280],
    ["dark", 1280],
    ["light", 390],
    ["dark", 390],
  ]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 2400 });
    await page.screenshot({ path: `${process.env.SHOTS}/live-${name}-${colorScheme}-${width}.png` });
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 800 });
}

/** An agent's own token, as its bridge gets it. */
async function agentToken(person, agent) {
  const { apiKey } = await server.call("POST", `/api/agents/${agent.id}/regenerate-key`, { token: person.token });
  const { token } = await server.call("POST", "/api/auth/agent-token", { body: { agent_id: agent.id, api_key: apiKey } });
  return token;
}

walk("an owner approves, for good, in the room and in the inbox; a colleague sees nothing; a request ends by itself", async (device) => {
  const mara = await server.person("Mara");
  const bo = await server.person("Bo");
  const agent = await server.agent(mara, "Scout");
  const room = await server.room(mara, [agent.id, bo.participant.id], "Work");
  const token = await agentToken(mara, agent);
  const ask = (command) =>
    server.call("POST", "/api/agent/permission-requests", {
      token,
      body: { toolName: "Bash", toolInput: { command }, description: `Run command: ${command}`, conversationId: room.id },
    });
  const status = async (id) => (await server.call("GET", `/api/agent/permission-requests/${id}`, { token })).status;

  const owner = await device(server, { person: mara, path: `/rooms/${room.id}` });
  const colleague = await device(server, { person: bo, path: `/rooms/${room.id}` });
  await owner.log.waitFor();
  await colleague.log.waitFor();

  const first = await ask("git status");
  const here = owner.page.getByRole("region", { name: "Waiting for your decision" });
  await here.getByText("git status").first().waitFor();
  await owner.page.waitForFunction(() => document.title.startsWith("(1) "));
  assert.equal(await colleague.page.getByRole("region", { name: "Waiting for your decision" }).count(), 0);
  await here.getByLabel("How far does a yes go").selectOption({ label: "Every “git status …”" });
  await here.getByRole("button", { name: "Approve", exact: true }).click();
  await here.waitFor({ state: "detached" });
  assert.equal(await status(first.requestId), "approved");
  assert.equal((await ask("git status src")).status, "approved");

  const second = await ask("rm -rf build");
  await owner.page.getByRole("button", { name: "Decisions: 1 waits for you" }).click();
  await owner.page.getByRole("article").getByText("rm -rf build").first().waitFor();
  await owner.page.keyboard.press("d");
  await owner.page.getByText("Nothing waits for you").waitFor();
  assert.equal(await status(second.requestId), "denied");

  const third = await ask("make");
  await owner.page.getByRole("article").getByText("make").first().waitFor();
  await server.call("POST", `/api/agent/permission-requests/${third.requestId}/cancel`, { token });
  await owner.page.getByText("Nothing waits for you").waitFor();

  await owner.page.getByRole("tab", { name: "Allowed for good" }).click();
  await owner.page.getByText("used once").waitFor();
  await owner.page.getByRole("button", { name: "Take back" }).click();
  await owner.page.getByText("Nothing is allowed for good").waitFor();
  assert.equal((await ask("git status")).status, "pending");

  await owner.page.getByRole("tab", { name: "History" }).click();
  await owner.page.getByText("Denied by you").waitFor();
  assert.deepEqual(await owner.axe(), []);
  await colleague.page.goto(`${server.url}/decisions`);
  await colleague.page.getByText("Nothing waits for you").waitFor();
});

walk("an owner demands two people and bounds the day; what the agent asks runs when both said yes", async (device) => {
  const mara = await server.person("Mara");
  const bo = await server.person("Bo");
  const agent = await server.agent(mara, "Scout");
  const room = await server.room(mara, [agent.id, bo.participant.id], "Work");
  const token = await agentToken(mara, agent);
  const owner = await device(server, { person: mara, path: `/agents/${agent.id}?tab=tools` });
  const rule = owner.page.getByRole("region", { name: "Two people have to allow" });
  await rule.getByLabel("Two people decide about").selectOption("low");
  await rule.getByRole("option", { name: "Bo", exact: true }).click();
  await rule.getByRole("button", { name: "Save" }).click();
  await owner.page.getByText("Saved. It counts for what is asked from now on.", { exact: true }).waitFor();

  const day = owner.page.getByRole("region", { name: "Budget per day" });
  await day.getByLabel("Tokens per day").fill("250,000");
  await day.getByRole("button", { name: "Save" }).click();
  await day.getByText("0 of 250,000 tokens used today").waitFor();
  const { budget } = await server.call("GET", `/api/agents/${agent.id}/budget`, { token: mara.token });
  assert.equal(budget.tokensPerDay, 250_000);
  await day.getByRole("button", { name: "Take the limit away" }).click();
  await day.getByText("No limit is set.").waitFor();
  assert.equal((await server.call("GET", `/api/agents/${agent.id}/budget`, { token: mara.token })).budget, null);

  const second = await device(server, { person: bo, path: "/decisions" });
  await second.page.getByText("Nothing waits for you").waitFor();
  const asked = await server.call("POST", "/api/agent/permission-requests", {
    token,
    body: { toolName: "Bash", toolInput: { command: "make release" }, description: "Run command: make release", conversationId: room.id },
  });
  const status = async () => (await server.call("GET", `/api/agent/permission-requests/${asked.requestId}`, { token })).status;
  await second.page.getByRole("article").getByText("Yours is the first yes.").waitFor();
  await owner.page.getByRole("button", { name: "Decisions: 1 waits for you" }).click();
  await owner.page.getByRole("button", { name: "Approve", exact: true }).click();
  await owner.page.getByText("You have allowed this.").waitFor();
  assert.equal(await status(), "pending");
  await second.page.getByText("Two people have to allow this. Mara already has.").waitFor();
  await second.page.getByRole("button", { name: "Approve", exact: true }).click();
  await second.page.getByText("Nothing waits for you").waitFor();
  await owner.page.getByText("Nothing waits for you").waitFor();
  assert.equal(await status(), "approved");

  await owner.page.goto(`${server.url}/agents/${agent.id}?tab=tools`);
  await rule.getByLabel("Two people decide about").selectOption("");
  await rule.getByRole("button", { name: "Save" }).click();
  await owner.page.getByText("One person is enough again", { exact: true }).waitFor();
  await owner.page.goto(`${server.url}/settings?tab=security`);
  const all = owner.page.getByRole("region", { name: /^Two people have to allow: / });
  await all.getByLabel("Two people decide about").selectOption("critical");
  await all.getByRole("option", { name: "Bo", exact: true }).click();
  await all.getByRole("button", { name: "Save" }).click();
  await owner.page.getByText("Saved. It counts for what is asked from now on.", { exact: true }).waitFor();
  const [workspace] = (await server.call("GET", "/api/me", { token: mara.token })).organizations;
  const held = await server.call("GET", `/api/organizations/${workspace.id}/approval-rule`, { token: mara.token });
  assert.equal(held.rule.leastRisk, "critical");
  assert.deepEqual(held.rule.deciders, [{ id: bo.participant.id, displayName: bo.participant.displayName }]);
  assert.equal(held.rule.setBy.id, mara.participant.id);
});

walk("S1 everything that real agents wait for is decided by keys alone, and read in the history and among what is allowed", async (device) => {
  const mara = await server.person("Mara");
  const bo = await server.person("Bo");
  const iris = await server.agent(mara, "Iris", { backend: "anthropic" });
  const scout = await server.agent(mara, "Scout");
  await server.room(mara, [bo.participant.id], "Where they met");
  const room = await server.room(mara, [iris.id], "Harbour");
  const token = await agentToken(mara, scout);
  const direct = await server.room(mara, [scout.id]);
  const ask = (command) =>
    server.call("POST", "/api/agent/permission-requests", { token, body: { toolName: "Bash", toolInput: { command }, conversationId: direct.id } });

  const call = (name, args) => ({ name, args });
  await model.on(
    "Bring Bo in",
    {
      tools: [
        call("request_member", { conversation_id: room.id, participant_id: bo.participant.id, reason: "Bo knows the tides." }),
        call("request_credential", { label: "Tide key", reason: "To read the tide tables.", endpoint: "https://tides.example.com/v1" }),
      ],
    },
    { text: "I have asked." },
  );
  await model.on("Mara answered: green", { text: "It is green." });
  await model.on(
    "Paint the boat",
    { tools: [call("ask_person", { task_id: "current", question: "Which colour?", options: ["red", "green"] })] },
    { text: "I wait." },
  );
  await model.on("Mara answered: Nina", { text: "She is called Nina." });
  await model.on(
    "Name the boat",
    { tools: [call("ask_person", { task_id: "current", question: "What is she called?", field: "Name of the boat" })] },
    { text: "I wait." },
  );
  const bridge = server.bridge(iris.line, [], { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: "sk-made-up-key" });
  try {
    await bridge.line(/agent is online/);
    const { page, axe } = await device(server, { person: mara, path: "/decisions" });
    await page.getByText("Nothing waits for you").waitFor();
    const cards = page.getByRole("article");
    const card = (name) => page.getByRole("article", { name });
    await server.call("POST", `/api/conversations/${room.id}/messages`, { token: mara.token, body: { content: "@Iris Bring Bo in" } });
    await card("Iris asks for a credential").waitFor();
    await card("Iris wants to add Bo").waitFor();
    for (const title of ["Paint the boat", "Name the boat"])
      await server.call("POST", `/api/conversations/${room.id}/tasks`, { token: mara.token, body: { title, assignedTo: [iris.id] } });
    await card("Iris has a question").getByText("Which colour?").waitFor();
    await card("Iris has a question").getByLabel("Name of the boat").waitFor();
    await ask("git status");
    await card("Scout wants to run Bash").waitFor();
    await server.call("PUT", `/api/agents/${iris.id}/budget`, { token: mara.token, body: { tokensPerDay: 1 } });
    await server.call("POST", `/api/conversations/${room.id}/messages`, { token: mara.token, body: { content: "@Iris are you there?" } });
    await card("Iris has used up its tokens for today").waitFor();
    assert.equal(await cards.count(), 6);
    assert.deepEqual(await axe(), []);
    await shots(page, "waiting");

    // The keys go to the card that is meant, wherever it stands.
    const front = async (name) => {
      const want = await card(name).first().getAttribute("data-request");
      const order = await cards.evaluateAll((all) => all.map((a) => a.dataset.request));
      const at = order.indexOf(await page.locator("[data-current]").getAttribute("data-request"));
      const by = order.indexOf(want) - at;
      for (let n = 0; n < Math.abs(by); n++) await page.keyboard.press(by > 0 ? "j" : "k");
      await page.locator(`[data-current][data-request="${want}"]`).waitFor();
      return page.locator(`[data-request="${want}"]`);
    };
    const gone = (one) => one.waitFor({ state: "detached" });

    const permission = await front("Scout wants to run Bash");
    await page.keyboard.press("Tab"); // to its room, its exact form, how far
    const scope = permission.getByLabel("How far does a yes go");
    while (!(await scope.evaluate((el) => el === document.activeElement))) await page.keyboard.press("Tab");
    await page.keyboard.press("End");
    await page.keyboard.press("Escape");
    await page.keyboard.press("a");
    await gone(permission);
    const budget = await front("Iris has used up its tokens for today");
    await page.keyboard.press("e");
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("9,000,000");
    await page.keyboard.press("Enter");
    await gone(budget);
    const seat = await front("Iris wants to add Bo");
    await page.keyboard.press("a");
    await gone(seat);
    const secret = await front("Iris asks for a credential");
    await page.keyboard.press("a");
    await page.keyboard.type("sk-planted-Lauch-3");
    await page.keyboard.press("Enter");
    await gone(secret);
    for (;;) {
      const question = await front("Iris has a question");
      if ((await question.textContent()).includes("Which colour?")) await page.keyboard.press("2");
      else {
        await page.keyboard.press("e");
        await page.keyboard.type("Nina");
        await page.keyboard.press("ControlOrMeta+Enter");
      }
      await gone(question);
      if ((await cards.count()) === 0) break;
    }
    await page.getByText("Nothing waits for you").waitFor();
    const done = page.getByRole("region", { name: "Just decided" });
    await done.getByRole("listitem").nth(4).waitFor();
    await shots(page, "done");

    await page.getByRole("tab", { name: "History" }).click();
    const rows = page.getByRole("tabpanel").getByRole("listitem");
    for (const text of [
      /Scout wanted to run Bash.*Allowed for good by you.*git status/,
      /Iris had used up its tokens for the day.*Limit raised by you.*→ 9,000,000 a day/,
      /Iris wanted to add Bo.*Added by you.*Harbour — Bo knows the tides\./,
      /Iris asked for a credential.*Given by you.*Tide key — https:\/\/tides\.example\.com\/v1/,
      /Iris had a question.*Answered by you.*Which colour\? — green/,
      /Iris had a question.*Answered by you.*What is she called\? — Nina/,
    ])
      await rows.filter({ hasText: text }).waitFor();
    assert.equal(await rows.count(), 6);
    assert.ok(!(await page.content()).includes("sk-planted-Lauch-3"));
    assert.deepEqual(await axe(), []);
    await shots(page, "history");
    await page.getByRole("tab", { name: "Allowed for good" }).click();
    await page.getByText("Every “git status …”").waitFor();
    await page.getByText("Tide key").waitFor();
    assert.deepEqual(await axe(), []);
    await shots(page, "allowed");
  } catch (e) {
    e.message += `\nthe bridge said:\n${bridge.tail()}`;
    throw e;
  } finally {
    await bridge.stop();
  }
});
