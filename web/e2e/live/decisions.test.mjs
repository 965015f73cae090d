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
