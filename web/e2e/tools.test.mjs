// Tools of an agent and services of one's own, in a real browser against a stand-in for the server: `npm run build && npm run e2e`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mockAccount } from "./fixtures/account.mjs";
import { faultless } from "./fixtures/axe.mjs";
import { mock } from "./fixtures/mock.mjs";
import { stage } from "./fixtures/stage.mjs";
import { iso, makeWorld, nova } from "./fixtures/world.mjs";

const site = stage();

const tool = (name, category, displayName, extra = {}) => ({
  id: name,
  name,
  scope: "global",
  category,
  displayName,
  description: `What ${name} is for, said in one sentence.`,
  tags: [],
  risk: "low",
  essential: false,
  enabled: true,
  allowed: true,
  ...extra,
});

async function visit(path, context = {}) {
  const { page, errors, close } = await site.open(context);
  await mock(page, makeWorld());
  await mockAccount(page, {});
  const sent = [];
  const answer = (route, body, status = 200) => route.fulfill({ status, contentType: "application/json", body: JSON.stringify(body) });
  const tools = [
    tool("send_message", "messaging", "Send a message"),
    tool("end_turn", "conversation", "End the turn", { essential: true }),
    tool("update_soul", "identity", "Rewrite the soul", { risk: "high" }),
    tool("call_api", "integration", "Call a service", { enabled: false }),
  ];
  const services = [];
  await page.route("**/api/agents/*/tools?**", (route) => answer(route, { tools }));
  await page.route("**/api/agents/*/tool-calls**", (route) =>
    answer(route, {
      toolCalls: [
        {
          id: "1",
          tool: "web_fetch",
          outcome: "done",
          code: "",
          personName: "Mara",
          conversationId: null,
          untrusted: true,
          durationMs: 812,
          insertedAt: iso(Date.now() - 60_000),
        },
        {
          id: "2",
          tool: "update_soul",
          outcome: "refused",
          code: "forbidden",
          personName: null,
          conversationId: null,
          untrusted: false,
          durationMs: 4,
          insertedAt: iso(Date.now() - 90_000),
        },
      ],
    }),
  );
  await page.route("**/api/agents/*/usage", (route) =>
    answer(route, {
      days: 30,
      requests: 42,
      inputTokens: 12_000,
      outputTokens: 9_000,
      cacheReadInputTokens: 88_000,
      cacheCreationInputTokens: 0,
      cacheHitRate: 0.88,
      stableParts: [{ hash: "9f86d081884c7d659a2feaa0c55ad015", since: iso(Date.now() - 86_400_000) }],
    }),
  );
  await page.route("**/api/tools/*/assign**", (route) => {
    const url = new URL(route.request().url());
    sent.push(`${route.request().method()} ${url.pathname}`);
    const found = tools.find((t) => url.pathname.includes(`/${t.name}/`));
    if (found) found.allowed = found.enabled = route.request().method() === "POST";
    return route.fulfill({ status: 204 });
  });
  await page.route("**/api/me/apis**", (route) => {
    const request = route.request();
    if (request.method() === "GET") return answer(route, { apis: services });
    const body = request.postDataJSON();
    sent.push(body);
    if (!body.auth.secret && body.auth.kind !== "none")
      return answer(
        route,
        {
          error: {
            code: "invalid",
            message: "This service needs a secret.",
            details: [{ field: "auth.secret", code: "required", message: "Paste it." }],
          },
        },
        422,
      );
    const { secret: _, ...auth } = body.auth;
    services.push({ id: "s1", ...body, auth: { ...auth, fingerprint: "a1b2c3" } });
    return answer(route, { api: services[0] }, 201);
  });
  await page.goto(site.url + path);
  return { page, errors, sent, close };
}

test("K3 a tool is taken away and given back, and what was done is shown", async () => {
  const { page, sent, errors, close } = await visit(`/agents/${nova.id}?tab=tools`);
  const soul = page.getByRole("switch", { name: /Rewrite its soul/ });
  await soul.waitFor();
  assert.equal(await soul.getAttribute("aria-checked"), "true");
  await soul.click();
  await page.waitForFunction(() => document.querySelector("[role=switch][aria-checked=false]"));
  await soul.click();
  await page.getByText("88%").waitFor();
  await page.getByText("brought text from outside").waitFor();
  await page.getByText("Offered as soon as it has a use for it.").waitFor();
  assert.ok(await page.getByRole("switch", { name: "End its turn" }).isDisabled());
  assert.deepEqual(sent, [`DELETE /api/tools/update_soul/assign/${nova.id}`, "POST /api/tools/update_soul/assign"]);
  assert.deepEqual(errors, []);
  await close();
});

test("K3 a service is described by keyboard; its secret is asked for and not shown again", async () => {
  const { page, sent, errors, close } = await visit("/settings?tab=services");
  await page.getByRole("button", { name: "Add a service" }).press("Enter");
  await page.getByLabel("Name", { exact: true }).fill("crm");
  await page.getByLabel("Address").fill("https://api.example.com/v1");
  await page.getByLabel("How it is signed in to").selectOption("bearer");
  const what = page.getByLabel("What may be called");
  await what.fill("GET /contacts/{id}\nFETCH /x");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Line 2 is no operation.").waitFor();
  await what.fill("GET /contacts/{id}\n!DELETE /contacts/{id} forget it");
  await page.getByRole("checkbox", { name: "Nova" }).check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Paste the secret for this address.").waitFor();
  await page.getByLabel("Secret", { exact: true }).fill("s3cret");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("a1b2c3").waitFor();
  assert.ok(!(await page.content()).includes("s3cret"));
  assert.deepEqual(sent.at(-1).operations, [
    { ask: false, method: "GET", path: "/contacts/{id}", description: "" },
    { ask: true, method: "DELETE", path: "/contacts/{id}", description: "forget it" },
  ]);
  assert.deepEqual(sent.at(-1).agentIds, [nova.id]);
  assert.deepEqual(errors, []);
  await close();
});

for (const [colorScheme, width, locale] of [
  ["light", 1280, "en-GB"],
  ["dark", 360, "zh-CN"],
  ["dark", 1280, "en-GB"],
  ["light", 360, "en-GB"],
]) {
  test(`K3 tools and services have no fault that axe finds, and fit: ${colorScheme}, ${width} px, ${locale}`, async () => {
    const tab = await visit(`/agents/${nova.id}?tab=tools`, { colorScheme, locale, viewport: { width, height: 800 } });
    await tab.page.getByRole("switch").first().waitFor();
    await tab.page.getByText("88%").waitFor();
    await faultless(tab.page);
    await tab.close();
    const form = await visit("/settings?tab=services", { colorScheme, locale, viewport: { width, height: 800 } });
    await form.page.getByRole("button", { name: /Add a service|添加服务/ }).click();
    await form.page.getByRole("dialog").waitFor();
    await faultless(form.page);
    await form.close();
  });
}

test("an unknown word in an address is no choice, and the chosen tab is in sight on a phone", async () => {
  const odd = await visit(`/agents/${nova.id}?tab=bogus`);
  assert.equal(await odd.page.getByRole("tab", { name: "Overview" }).getAttribute("aria-selected"), "true");
  await odd.page.goto(`${site.url}/tasks?filter=bogus`);
  await odd.page.locator('button[aria-pressed="true"]', { hasText: "Open" }).waitFor();
  await odd.close();
  const phone = await visit(`/agents/${nova.id}?tab=manage`, { viewport: { width: 390, height: 780 } });
  const tab = phone.page.getByRole("tab", { name: "Key and more" });
  await tab.waitFor();
  const box = await tab.boundingBox();
  assert.ok(box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box));
  assert.deepEqual([odd.errors, phone.errors], [[], []]);
  await phone.close();
});
