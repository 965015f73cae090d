// Approvals through the whole product: an agent asks, its owner decides in a browser, a colleague sees nothing.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { walk } from "./fixtures/browser.mjs";
import { Server } from "./fixtures/server.mjs";

let server;
before(async () => {
  server = await Server.start({ demo: false });
});
after(() => server?.stop());

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
  assert.deepEqual(held.rule, { leastRisk: "critical", deciderIds: [bo.participant.id] });
});
