// What bounds an agent: two people, a budget of tokens, whom it may bring in; in a real browser against a stand-in for the server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { faultless } from "./fixtures/axe.mjs";
import { ids, mock } from "./fixtures/mock.mjs";
import { stage } from "./fixtures/stage.mjs";
import { ada, iso, lin, makeWorld, me, nova, uuid } from "./fixtures/world.mjs";

const site = stage();

const hash = (c) => c.repeat(64);

function request(extra = {}) {
  const toolInput = { command: "make release" };
  return {
    id: uuid(7001),
    agentId: nova.id,
    agentName: "Nova",
    ownerId: me.id,
    conversationId: ids.launch,
    conversationTitle: "Launch",
    taskId: null,
    toolName: "Bash",
    toolInput,
    status: "pending",
    state: "pending",
    action: JSON.stringify({ input: toolInput, tool: "Bash" }),
    actionHash: hash("a"),
    risk: "high",
    scopes: ["once"],
    durable: true,
    decidersNeeded: 2,
    allowedBy: [],
    allowedByNames: [],
    expiresAt: iso(Date.now() + 3_600_000),
    insertedAt: iso(Date.now()),
    ...extra,
  };
}

const waiting = (kind, n, extra) => ({
  kind,
  id: `${kind}:${n}`,
  sourceId: uuid(n),
  conversationId: ids.launch,
  agent: { id: nova.id, displayName: "Nova" },
  insertedAt: iso(Date.now()),
  expiresAt: iso(Date.now() + 3_600_000),
  ...extra,
});
const seat = (n) => waiting("member_request", n, { label: "Ada Okonkwo", title: "Launch", description: "She knows the numbers." });
const stop = (n) => waiting("budget_stop", n, { used: 120_000, tokensPerDay: 100_000 });

/** A page, and what it wrote to the server. */
async function visit(path, fill = {}, context = {}) {
  const { page, errors, close } = await site.open({ viewport: { width: 1280, height: 900 }, ...context });
  const world = Object.assign(makeWorld(), { requests: [], asks: [] }, fill);
  const server = await mock(page, world);
  const sent = [];
  page.on("request", (r) => {
    const at = new URL(r.url()).pathname;
    if (r.method() !== "GET" && /approval-rule|budget|member-requests|permission-requests/.test(at))
      sent.push([r.method(), at.split("/").slice(3).join("/"), r.postDataJSON()]);
  });
  await page.goto(site.url + path);
  return { page, server, world, sent, errors, close };
}

const tools = `/agents/${nova.id}?tab=tools`;

test("S1 a first yes waits for a second person, and what that person changes is asked again", async () => {
  const { page, server, world, sent, errors, close } = await visit("/decisions", { requests: [request()] });
  await page.route("**/api/permission-requests/*/resolve", (route) => {
    world.requests = [request({ allowedBy: [me.id], allowedByNames: [me.displayName] })];
    return route.fulfill({ status: 200, contentType: "application/json", body: JSON.stringify(world.requests[0]) });
  });
  const card = page.getByRole("article");
  await card.getByText("Two people have to allow this. Yours is the first yes.").waitFor();
  await card.getByRole("button", { name: "Approve", exact: true }).click();
  await card.getByText("You have allowed this. It runs when another person has allowed it too.").waitFor();
  assert.ok(await card.getByRole("button", { name: "Approve", exact: true }).isDisabled());
  assert.ok(await card.getByRole("button", { name: "Deny" }).isEnabled(), "a no can still end it");
  const changed = request({
    toolInput: { command: "make release DRY=1" },
    action: '{"input":{"command":"make release DRY=1"},"tool":"Bash"}',
    actionHash: hash("b"),
    changed: true,
    allowedBy: [ada.id],
    allowedByNames: [ada.displayName],
  });
  server.user("permission_request", changed);
  await card.getByText("Two people have to allow this. Ada Okonkwo already has. What would run was changed since it was asked.").waitFor();
  await card.getByText("make release DRY=1").first().waitFor();
  await card.getByRole("button", { name: "Approve", exact: true }).click();
  await card.getByText("You have allowed this.").waitFor();
  assert.deepEqual(
    sent.map(([, , body]) => body.actionHash),
    [hash("a"), hash("b")],
    "each yes names what was seen",
  );
  assert.deepEqual(errors, []);
  await close();
});

test("S1 who is asked for, and a day without tokens, are decided in the inbox; what comes is seen at once", async () => {
  const { page, server, world, sent, errors, close } = await visit("/decisions", { asks: [seat(601)] });
  const card = (name) => page.getByRole("article", { name });
  await card("Nova wants to add Ada Okonkwo").getByText("She knows the numbers.").waitFor();
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText("Nothing waits for you").waitFor();
  world.asks = [stop(701)];
  server.user("budget_stop", { id: uuid(701), agentId: nova.id, tokensPerDay: 100_000, used: 120_000, status: "pending" });
  const budget = card("Nova has used up its tokens for today");
  await budget.getByText("120,000 of 100,000 tokens").waitFor();
  const limit = budget.getByLabel("Tokens per day");
  for (const wrong of ["120000", "1e9", "150.5", ""]) {
    await limit.fill(wrong);
    assert.ok(await budget.getByRole("button", { name: "Raise the limit" }).isDisabled(), wrong);
  }
  await limit.fill("300,000");
  await budget.getByRole("button", { name: "Raise the limit" }).click();
  await page.getByText("Nothing waits for you").waitFor();
  world.asks = [seat(602)];
  server.user("member_request", { id: uuid(602), status: "pending" });
  await card("Nova wants to add Ada Okonkwo").getByRole("button", { name: "Deny" }).click();
  await page.getByText("Nothing waits for you").waitFor();
  world.asks = [seat(603)];
  server.user("member_request", { id: uuid(603), status: "pending" });
  await page.getByRole("button", { name: "Add", exact: true }).waitFor();
  world.asks = []; // somebody else said yes, and this page has not heard it
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText("Nothing waits for you").waitFor();
  assert.deepEqual(sent.slice(0, 3), [
    ["POST", `${uuid(601)}/resolve`, { decision: "approve" }],
    ["POST", `${uuid(701)}/resolve`, { decision: "raise", tokensPerDay: 300_000 }],
    ["POST", `${uuid(602)}/resolve`, { decision: "deny" }],
  ]);
  assert.deepEqual(errors, []);
  await close();
});

test("S1 two people are demanded and let go, by keyboard", async () => {
  const { page, sent, errors, close } = await visit(tools);
  const part = page.getByRole("region", { name: "Two people have to allow" });
  const save = part.getByRole("button", { name: "Save" });
  await part.getByLabel("Two people decide about").selectOption("high");
  await part.getByText("Choose at least one person").waitFor();
  assert.ok(await save.isDisabled());
  const who = part.getByRole("combobox", { name: "Who may decide beside the owner" });
  await who.fill("nova");
  assert.equal(await part.getByRole("option", { name: "Nova" }).count(), 0, "agents decide nothing");
  await who.fill("ada");
  await who.press("Enter");
  await who.press("Tab");
  await save.press("Enter");
  await page.getByText("Saved. It counts for what is asked from now on.", { exact: true }).waitFor();
  await page.reload();
  await part.getByText("Ada Okonkwo").first().waitFor();
  assert.equal(await part.getByLabel("Two people decide about").inputValue(), "high");
  await part.getByLabel("Two people decide about").selectOption("");
  await save.press("Enter");
  await page.getByText("One person is enough again", { exact: true }).waitFor();
  assert.deepEqual(sent, [
    ["PUT", `${nova.id}/approval-rule`, { leastRisk: "high", deciderIds: [ada.id] }],
    ["DELETE", `${nova.id}/approval-rule`, null],
  ]);
  assert.deepEqual(errors, []);
  await close();
});

test("S1 who runs a workspace demands two people for every agent that asks there", async () => {
  const { page, sent, errors, close } = await visit("/settings?tab=security");
  const part = page.getByRole("region", { name: "Two people have to allow: Mara’s workspace" });
  await part.getByLabel("Two people decide about").selectOption("medium");
  const who = part.getByRole("combobox", { name: "Who may decide beside the owner" });
  for (const name of ["mara", "ada"]) {
    await who.fill(name);
    await who.press("Enter");
  }
  await faultless(page);
  await part.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved. It counts for what is asked from now on.", { exact: true }).waitFor();
  const at = `${uuid(900)}/approval-rule`;
  assert.deepEqual(sent, [["PUT", at, { leastRisk: "medium", deciderIds: [me.id, ada.id] }]]);
  assert.deepEqual(errors, []);
  await close();
});

test("S1 a refused rule is told, and loses nothing", async () => {
  const { page, close } = await visit(tools, { rules: { [nova.id]: { leastRisk: "critical", deciderIds: [lin.id, uuid(4711)] } } });
  await page.route("**/api/agents/*/approval-rule", (route) =>
    route.request().method() === "PUT"
      ? route.fulfill({
          status: 422,
          contentType: "application/json",
          body: JSON.stringify({
            error: { code: "invalid", message: "Only people can decide.", details: [{ field: "deciderIds", code: "unknown" }] },
          }),
        })
      : route.fallback(),
  );
  const part = page.getByRole("region", { name: "Two people have to allow" });
  await part.getByText("Kim Elsewhere").first().waitFor();
  await part.getByLabel("Two people decide about").selectOption("low");
  await part.getByRole("button", { name: "Save" }).click();
  await part.getByRole("alert").getByText("Only people can decide.").waitFor();
  assert.equal(await part.getByLabel("Two people decide about").inputValue(), "low");
  await close();
});

test("S1 a budget per day is set, seen, raised and taken away", async () => {
  const { page, server, world, sent, errors, close } = await visit(tools);
  const part = page.getByRole("region", { name: "Budget per day" });
  const limit = part.getByLabel("Tokens per day");
  const save = part.getByRole("button", { name: "Save" });
  await part.getByText("No limit is set.").waitFor();
  await limit.fill("a lot");
  await part.getByText("A whole number from 1 to 1,000,000,000,000.").waitFor();
  assert.ok(await save.isDisabled());
  await limit.fill("100,000");
  await limit.press("Enter");
  await part.getByText("0 of 100,000 tokens used today").waitFor();
  Object.assign(world.budgets[nova.id], { usedToday: 120_000, stopped: true, decision: "pending" });
  server.user("budget_stop", { id: uuid(701), agentId: nova.id, status: "pending" });
  await part.getByText("120,000 of 100,000 tokens used today").waitFor();
  await part.getByText(/It is given nothing more until/).waitFor();
  assert.equal(await part.getByRole("link", { name: "Decide" }).getAttribute("href"), "/decisions");
  await limit.fill("110000");
  await part.getByText("More than this was used today").waitFor();
  await limit.fill("400000");
  await save.click();
  await part.getByText("120,000 of 400,000 tokens used today").waitFor();
  await part.getByText(/A new day begins/).waitFor();
  await part.getByRole("button", { name: "Take the limit away" }).press("Enter");
  await part.getByText("No limit is set.").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "INPUT", "the focus is not lost");
  assert.deepEqual(sent, [
    ["PUT", `${nova.id}/budget`, { tokensPerDay: 100_000 }],
    ["PUT", `${nova.id}/budget`, { tokensPerDay: 400_000 }],
    ["DELETE", `${nova.id}/budget`, null],
  ]);
  assert.deepEqual(errors, []);
  await close();
});

test("S1 who writes to an agent that works elsewhere is led there", async () => {
  const { page, server, errors, close } = await visit(`/rooms/${ids.launch}`);
  await page.getByRole("log").waitFor();
  const busy = { agentId: nova.id, agentName: "Nova", parentConversationId: ids.launch, taskId: uuid(700), taskTitle: "Tidy the list" };
  server.user("agent_busy_redirect", { ...busy, workConversationId: ids.launch, taskTitle: "Here already" });
  server.user("agent_busy_redirect", { ...busy, workConversationId: ids.empty });
  await page.getByText("Nova works at “Tidy the list”", { exact: true }).waitFor();
  assert.equal(await page.getByText("Nova works at “Here already”").count(), 0);
  await page.getByRole("button", { name: "Go there" }).click();
  await page.waitForURL(`**/rooms/${ids.empty}`);
  assert.deepEqual(errors, []);
  await close();
});

for (const [colorScheme, width, locale] of [
  ["light", 1440, "en-GB"],
  ["dark", 1280, "en-GB"],
  ["light", 390, "zh-CN"],
  ["dark", 390, "en-GB"],
]) {
  test(`S1 the limits of an agent and their cards have no fault that axe finds, and fit: ${colorScheme}, ${width} px, ${locale}`, async () => {
    const fill = {
      requests: [request({ allowedBy: [ada.id], allowedByNames: [ada.displayName], changed: true })],
      asks: [seat(601), stop(701)],
      rules: { [nova.id]: { leastRisk: "high", deciderIds: [ada.id, lin.id] } },
      budgets: {
        [nova.id]: { tokensPerDay: 100_000, usedToday: 120_000, timezone: "UTC", dayEndsAt: iso(Date.now()), stopped: true, decision: "pending" },
      },
    };
    const { page, close } = await visit(tools, fill, { colorScheme, locale, viewport: { width, height: 900 } });
    const used = page.getByText(/120,000 .*100,000/);
    await used.waitFor();
    await page.getByRole("combobox").last().waitFor();
    await faultless(page);
    if (process.env.SHOTS) {
      await used.scrollIntoViewIfNeeded();
      await page.screenshot({ path: `${process.env.SHOTS}/limits-${colorScheme}-${width}.png` });
    }
    await page.goto(`${site.url}/decisions`);
    await page.getByRole("article").nth(2).waitFor();
    await faultless(page);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/cards-${colorScheme}-${width}.png`, fullPage: true });
    await close();
  });
}
