// Sign-in, settings, agents and the guide in a real browser against a stand-in for the server: `npm run build && npm run e2e`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mockAccount } from "./fixtures/account.mjs";
import { mock } from "./fixtures/mock.mjs";
import { stage } from "./fixtures/stage.mjs";
import { makeWorld, nova, scout } from "./fixtures/world.mjs";

const site = stage();

async function visit(path, { signedIn = true, account = {}, context = {} } = {}) {
  const { page, errors, close } = await site.open(context);
  const sent = [];
  page.on("request", (r) => {
    const url = new URL(r.url());
    if (url.pathname.startsWith("/api/") && r.method() !== "GET")
      sent.push({ method: r.method(), path: url.pathname, body: r.postData() ? JSON.parse(r.postData()) : null });
  });
  const server = await mock(page, makeWorld(), { signedIn });
  const state = await mockAccount(page, account);
  await page.goto(site.url + path);
  return { page, server, state, errors, sent, close };
}

const stored = (page) => page.evaluate(() => localStorage.getItem("authToken"));

test("who is not signed in comes to the sign-in page and back to where they wanted", async () => {
  const { page, errors, close } = await visit(`/agents/${nova.id}?tab=manage`, { signedIn: false });
  await page.waitForURL("**/login?next=**");
  await page.getByLabel("Email").fill("mara@example.org");
  await page.getByLabel("Password", { exact: true }).fill("Kuchen42a!");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/agents/${nova.id}?tab=manage`);
  await page.getByRole("heading", { name: /Nova/ }).waitFor();
  assert.deepEqual(errors, []);
  await close();
});

test("a wrong password is said in place, keeps the address and signs nobody in", async () => {
  const { page, close } = await visit("/login", { signedIn: false, account: { loginStatus: 422 } });
  await page.getByLabel("Email").fill("mara@example.org");
  await page.getByLabel("Password", { exact: true }).fill("Nope12345");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").getByText("Email or password is wrong").waitFor();
  assert.equal(await page.getByLabel("Email").inputValue(), "mara@example.org");
  assert.equal(await stored(page), null);
  await close();
});

test("a redirect to another site is not followed", async () => {
  const { page, close } = await visit("/login?next=//evil.example/x", { signedIn: false });
  await page.getByLabel("Email").fill("mara@example.org");
  await page.getByLabel("Password", { exact: true }).fill("Kuchen42a!");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${site.url}/**`);
  await page.waitForFunction(() => localStorage.getItem("authToken"));
  assert.equal(new URL(page.url()).origin, site.url);
  await close();
});

test("a one-time link leaves the address bar at once, used or not", async () => {
  const { page, close } = await visit("/login#token=otc_secret", { signedIn: false });
  await page.getByText("This link has been used or is too old").waitFor();
  assert.ok(!page.url().includes("otc_secret"));
  await close();
});

test("sign-up shows every problem at its field, then sends what the contract asks", async () => {
  const { page, sent, close } = await visit("/signup", { signedIn: false });
  await page.locator("button[type=submit]").click();
  for (const text of [
    "Enter your first name",
    "Enter an address like name@example.org",
    "Choose a stronger password",
    "Enter your date of birth",
    "Accept the terms",
  ])
    await page.getByText(text).first().waitFor();
  assert.equal(sent.length, 0);
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("name")), "firstName");
  await page.locator("[name=firstName]").fill("Ada");
  await page.locator("[name=email]").fill("ada@example.org");
  await page.locator("[name=password]").fill("Kuchen42a!");
  await page.locator("[name=birthDate]").fill("1990-02-03");
  await page.getByRole("checkbox").click();
  await page.locator("button[type=submit]").click();
  await page.waitForFunction(() => localStorage.getItem("authToken"));
  const { body } = sent.find((s) => s.path === "/api/auth/signup");
  assert.deepEqual(
    { ...body, timezone: undefined },
    {
      email: "ada@example.org",
      password: "Kuchen42a!",
      firstName: "Ada",
      acceptedTerms: true,
      birthDate: "1990-02-03",
      marketingOptIn: false,
      analyticsOptIn: false,
      timezone: undefined,
    },
  );
  await close();
});

test("a server's objection lands at its field", async () => {
  const signup = { status: 422, body: { error: { code: "email_taken", message: "x", details: [{ field: "email", code: "taken", message: "x" }] } } };
  const { page, close } = await visit("/signup", { signedIn: false, account: { signup } });
  await page.locator("[name=firstName]").fill("Ada");
  await page.locator("[name=email]").fill("ada@example.org");
  await page.locator("[name=password]").fill("Kuchen42a!");
  await page.locator("[name=birthDate]").fill("1990-02-03");
  await page.getByRole("checkbox").click();
  await page.locator("button[type=submit]").click();
  await page.getByText("There is an account with this address").waitFor();
  assert.equal(await page.locator("[name=email]").getAttribute("aria-invalid"), "true");
  await close();
});

test("a new agent shows its key once, and turns to online by itself", async () => {
  const { page, server, sent, errors, close } = await visit("/agents", { context: { permissions: ["clipboard-read", "clipboard-write"] } });
  await page.getByRole("button", { name: "New agent" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("Juno");
  await dialog.getByRole("button", { name: "Create agent" }).click();
  await page.waitForURL(`**/agents/${scout.id}`);
  await page.getByText(/^Waiting for the bridge/).waitFor();
  assert.match(
    await page.locator("code").first().textContent(),
    /^AGENT_API_KEY=ak_4hZk2…cKeU agnt bridge --url http:\/\/127\.0\.0\.1:\d+ --agent-id /,
  );
  // The line copied by hand is the whole line, though the middle of its key is not shown.
  await page.locator("code").first().selectText();
  await page.keyboard.press("Control+c");
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^AGENT_API_KEY=ak_4hZk2mVw8xQ1rT9yLpN3sD7fGbJ6cKeU agnt bridge /);
  assert.equal(sent.find((s) => s.path === "/api/agents").body.displayName, "Juno");
  server.user("agent_status_changed", { agentId: scout.id, presence: "online_local", deviceName: "mara-laptop" });
  await page.getByText(/is online on mara-laptop/).waitFor();
  await page.getByRole("tab", { name: "Key and more" }).click();
  await page.getByText("ak_4hZk2mVw8xQ1rT9yLpN3sD7fGbJ6cKeU").waitFor();
  await page.getByRole("button", { name: "I have kept it" }).click();
  assert.equal(await page.getByText("ak_4hZk2mVw8xQ1rT9yLpN3sD7fGbJ6cKeU").count(), 0);
  const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
  assert.ok(!kept.includes("ak_4hZk2"), "the key is not kept on the device");
  assert.deepEqual(errors, []);
  await close();
});

test("deleting for good asks for the name", async () => {
  const { page, sent, close } = await visit(`/agents/${nova.id}?tab=manage`);
  await page.getByRole("button", { name: "Delete for good" }).click();
  const dialog = page.getByRole("dialog");
  const go = dialog.getByRole("button", { name: "Delete for good" });
  assert.equal(await go.isDisabled(), true);
  await dialog.getByRole("textbox").fill("nova");
  assert.equal(await go.isDisabled(), true);
  await dialog.getByRole("textbox").fill("Nova");
  assert.equal(await go.isDisabled(), false);
  await page.keyboard.press("Escape");
  assert.equal(await page.getByRole("dialog").count(), 0);
  assert.equal(sent.filter((s) => s.path.endsWith("/delete-permanent")).length, 0);
  await close();
});

test("the guide ends in a room with a first message in the composer", async () => {
  const { page, server, errors, close } = await visit("/welcome");
  await page.getByRole("button", { name: "Make my agent" }).click();
  await page.getByText(/is starting/).waitFor();
  server.user("agent_status_changed", { agentId: scout.id, presence: "online_local" });
  await page.getByRole("heading", { name: /is online/ }).waitFor();
  const room = makeWorld().rooms[0].conversation;
  await page.route("**/api/conversations", (route) =>
    route.request().method() === "POST"
      ? route.fulfill({ status: 200, contentType: "application/json", body: JSON.stringify(room) })
      : route.fallback(),
  );
  await page.getByRole("button", { name: /Who are you/ }).click();
  await page.waitForURL(`**/rooms/${room.id}`);
  await page.waitForFunction(() => document.querySelector("[data-composer] textarea")?.value.startsWith("Hello. Who are you"));
  assert.deepEqual(errors, []);
  await close();
});

test("a session that ended elsewhere leads to the sign-in page and back", async () => {
  const { page, close } = await visit("/agents");
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  await page.route("**/api/me/sessions*", (route) =>
    route.fulfill({ status: 401, contentType: "application/json", body: '{"error":{"code":"unauthenticated","message":"x"}}' }),
  );
  await page.evaluate(() => window.history.pushState({}, "", "/settings?tab=security"));
  await page.goto(`${site.url}/settings?tab=security`);
  await page.getByText("Your session has ended").waitFor();
  assert.equal(await stored(page), null);
  assert.match(decodeURIComponent(page.url()), /next=\/settings\?tab=security/);
  await close();
});

test("a notification switch goes back when the server says no", async () => {
  const { page, close } = await visit("/settings?tab=notifications");
  const mentions = page.getByRole("switch", { name: "Mentions" });
  await mentions.waitFor();
  await page.route("**/api/me/notification-preferences", (route) =>
    route.request().method() === "PATCH" ? route.fulfill({ status: 500, contentType: "application/json", body: "{}" }) : route.fallback(),
  );
  assert.equal(await mentions.getAttribute("aria-checked"), "true");
  await mentions.click();
  await page.getByRole("alert").getByText("Something went wrong on the server").waitFor();
  assert.equal(await mentions.getAttribute("aria-checked"), "true");
  await close();
});

test("the language switches everywhere at once", async () => {
  const { page, sent, close } = await visit("/settings?tab=appearance");
  await page.getByLabel("Language", { exact: true }).selectOption("zh-CN");
  await page.getByRole("heading", { name: "设置" }).waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), "zh-CN");
  assert.deepEqual(sent.find((s) => s.path === "/api/me/locale").body, { locale: "zh-CN" });
  await close();
});
