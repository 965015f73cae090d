// Connecting one's own terminal, and its session, in a real browser against a stand-in for the server: `npm run build && npm run e2e`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mockAccount } from "./fixtures/account.mjs";
import { faultless } from "./fixtures/axe.mjs";
import { mock } from "./fixtures/mock.mjs";
import { stage } from "./fixtures/stage.mjs";
import { iso, makeWorld, nova } from "./fixtures/world.mjs";

const site = stage();

async function visit(path, context = {}, agent = {}) {
  const { page, errors, close } = await site.open(context);
  const world = makeWorld();
  const server = await mock(page, world);
  await mockAccount(page, {});
  const answer = (route, body, status = 200) => route.fulfill({ status, contentType: "application/json", body: JSON.stringify(body) });
  await page.route("**/api/me", async (route) => {
    if (route.request().method() !== "GET") return route.fallback();
    return answer(route, { ...world.self, features: { ...world.self.features, external_agents: true } });
  });
  const invites = [];
  await page.route("**/api/invites**", (route) => {
    const request = route.request();
    if (request.method() === "GET") return answer(route, { invites });
    if (request.method() === "DELETE") {
      invites.splice(0);
      return route.fulfill({ status: 204 });
    }
    const { displayName = "Terminal", agentId = null } = request.postDataJSON() ?? {};
    const made = { id: "i1", displayName, agentId, status: "pending", maxUses: 1, uses: 0, expiresAt: iso(Date.now() + 3 * 86_400_000) };
    invites.push(made);
    return answer(route, { ...made, code: "inv_0123456789abcdef_secret" }, 201);
  });
  await page.route(`**/api/agents/${nova.id}`, async (route) => {
    if (route.request().method() !== "GET" || Object.keys(agent).length === 0) return route.fallback();
    return answer(route, { ...world.agents.find((a) => a.id === nova.id), ...agent });
  });
  await page.goto(site.url + path);
  return { page, errors, invites, server, close };
}

test("a terminal is connected with one line, and the line can be taken back", async () => {
  const v = await visit("/agents");
  await v.page.getByRole("button", { name: "Connect your terminal" }).click();
  const dialog = v.page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Desk");
  await dialog.getByLabel("Codex").check();
  await dialog.getByRole("button", { name: "Make the command" }).click();
  await dialog.getByText(/agnt connect --session --tool codex --url \S+ inv_0123456789abcdef_secret/).waitFor();
  await faultless(v.page);
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await dialog.getByText("Commands that were not used yet").waitFor({ state: "detached" });
  assert.equal(v.invites.length, 0);
  assert.deepEqual(v.errors, []);
  await v.close();
});

test("a used command says so, where it was made", async () => {
  const v = await visit("/agents");
  await v.page.getByRole("button", { name: "Connect your terminal" }).click();
  const dialog = v.page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Desk");
  await dialog.getByRole("button", { name: "Make the command" }).click();
  await dialog.getByText("Commands that were not used yet").waitFor();
  v.invites[0].status = "claimed";
  v.server.user("agent_updated", { id: "a1" });
  await dialog.getByText(/^Connected\. What you type .* by Desk\.$/).waitFor();
  assert.equal(await dialog.getByText(/agnt connect/).count(), 0);
  await dialog.getByText("Commands that were not used yet").waitFor({ state: "detached" });
  await faultless(v.page);
  assert.deepEqual(v.errors, []);
  await v.close();
});

for (const [name, context] of [
  ["wide, light", {}],
  ["narrow, dark", { viewport: { width: 360, height: 740 }, colorScheme: "dark" }],
]) {
  test(`the page of an external agent shows its session: ${name}`, async () => {
    const session = {
      id: "s1",
      sessionKey: "k",
      tool: "claude_code",
      state: "running",
      cwd: "/src/app",
      repo: "org/app",
      branch: "main",
      hostname: "desk",
      stats: { prompts: 3, tool_calls: 12, tools: {} },
      startedAt: iso(Date.now() - 600_000),
      lastEventAt: iso(Date.now() - 5_000),
      endedAt: null,
      dmConversationId: null,
    };
    const v = await visit(`/agents/${nova.id}`, context, { runtime: "external", externalTool: "claude_code", externalSession: session });
    await v.page.getByText("Claude Code, at work").waitFor();
    await v.page.getByText("org/app (main) · desk").waitFor();
    await v.page.getByText("3 prompts, 12 tool calls").waitFor();
    assert.equal(await v.page.getByText("agnt bridge").count(), 0);
    await faultless(v.page);
    assert.deepEqual(v.errors, []);
    await v.close();
  });
}
