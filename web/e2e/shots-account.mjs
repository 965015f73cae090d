// Pictures and axe over sign-in, settings, agents and the guide: `npm run build && node e2e/shots-account.mjs [name…]`. Exits 1 on an error of the page or
// a finding.
import { mkdirSync } from "node:fs";
import { mockAccount } from "./fixtures/account.mjs";
import { axe } from "./fixtures/axe.mjs";
import { launch } from "./fixtures/browser.mjs";
import { mock } from "./fixtures/mock.mjs";
import { serve } from "./fixtures/serve.mjs";
import { mid, openForPicture, phone, wide } from "./fixtures/shoot.mjs";
import { forge, makeWorld, nova, scout } from "./fixtures/world.mjs";

const out = process.env.SHOTS_OUT ?? new URL("./out/", import.meta.url).pathname;
mkdirSync(out, { recursive: true });
const only = process.argv.slice(2);
const all = [wide, mid, phone];

const go =
  (path, wait = 700) =>
  async (page, base) => {
    await page.goto(base + path);
    await page.waitForTimeout(wait);
  };
const signedOut = { signedIn: false };

const shots = {
  login: { run: go("/login"), mock: signedOut, at: all, dark: true, zh: true },
  loginWrong: {
    mock: signedOut,
    account: { loginStatus: 422 },
    at: [wide],
    run: async (page, base) => {
      await go("/login")(page, base);
      await page.getByLabel("Email").fill("mara@example.org");
      await page.getByLabel("Password", { exact: true }).fill("Wrong1234");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.waitForTimeout(500);
    },
  },
  oneTimeUsed: { run: go("/login#token=abc", 1000), mock: signedOut, at: [wide] },
  signup: {
    mock: signedOut,
    at: all,
    dark: true,
    zh: true,
    run: async (page, base) => {
      await go("/signup")(page, base);
      await page.locator("[name=password]").fill("Kuchen42a!");
    },
  },
  signupProblems: {
    mock: signedOut,
    at: [wide, phone],
    run: async (page, base) => {
      await go("/signup")(page, base);
      await page.locator("[name=email]").fill("mara@");
      await page.locator("[name=password]").fill("mara1234");
      await page.locator("[name=birthDate]").fill("2015-02-01");
      await page.locator("button[type=submit]").click();
      await page.waitForTimeout(300);
    },
  },
  agents: { run: go("/agents", 1200), at: all, dark: true, zh: true },
  agentsEmpty: { run: go("/agents", 1000), account: { agents: [] }, at: [wide, phone] },
  agentsCreate: {
    at: [wide, phone],
    dark: true,
    run: async (page, base) => {
      await go("/agents?create=true", 1000)(page, base);
      await page.locator("[role=dialog] summary").click();
      await page.waitForTimeout(300);
    },
  },
  agent: { run: go(`/agents/${nova.id}`, 1400), at: all, dark: true, zh: true },
  agentTrouble: { run: go(`/agents/${forge.id}`, 1400), at: [wide], dark: true },
  agentOffline: { run: go(`/agents/${scout.id}`, 1400), at: all, dark: true, zh: true },
  agentCharacter: { run: go(`/agents/${nova.id}?tab=character`, 1400), at: [wide, phone], zh: true },
  agentKey: {
    at: [wide, phone],
    run: async (page, base) => {
      await go(`/agents/${nova.id}?tab=manage`, 1200)(page, base);
      await page.getByRole("button", { name: "Make a new key" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Make a new key" }).click();
      await page.waitForTimeout(500);
    },
  },
  agentDelete: {
    at: [wide, phone],
    run: async (page, base) => {
      await go(`/agents/${nova.id}?tab=manage`, 1200)(page, base);
      await page.getByRole("button", { name: "Delete for good" }).click();
      await page.waitForTimeout(400);
    },
  },
  agentMissing: { run: go("/agents/00000000-0000-4000-8000-00000000dead", 1200), at: [wide] },
  settings: { run: go("/settings", 1000), at: all, dark: true, zh: true },
  settingsLook: { run: go("/settings?tab=appearance", 1000), at: [wide, phone], dark: true },
  settingsNotify: { run: go("/settings?tab=notifications", 1000), at: [wide], zh: true },
  settingsKeys: { run: go("/settings?tab=keys", 1000), at: [wide, phone], dark: true },
  settingsKeysEmpty: { run: go("/settings?tab=keys", 1000), account: { noKeys: true }, at: [wide] },
  settingsSecurity: { run: go("/settings?tab=security", 1000), at: [wide, phone] },
  settingsAccount: { run: go("/settings?tab=account", 1000), at: [wide] },
  guide: { run: go("/welcome", 1200), at: all, dark: true, zh: true },
  guideBare: { run: go("/welcome", 1200), account: { offers: [], demoAgentId: null }, at: [wide] },
  guideConnect: {
    at: all,
    dark: true,
    zh: false,
    run: async (page, base) => {
      await go("/welcome", 1000)(page, base);
      await page.locator("form input").fill("Juno");
      await page.locator("form button[type=submit]").click();
      await page.waitForTimeout(900);
    },
  },
  guideOnline: {
    at: [wide, phone],
    run: async (page, base, server) => {
      await go(`/welcome?agent=${scout.id}`, 1200)(page, base);
      for (let i = 0; i < 20 && (await page.getByRole("heading", { name: /is online/ }).count()) === 0; i++) {
        server.user("agent_status_changed", { agentId: scout.id, presence: "online_local", deviceName: "mara-laptop" });
        await page.waitForTimeout(250);
      }
    },
  },
};

const browser = await launch();
const site = await serve();
let bad = 0;

async function one(name, shot, viewport, theme, locale) {
  const { page, problems, close } = await openForPicture(browser, viewport, theme);
  if (locale) await page.addInitScript((l) => localStorage.setItem("agntchat.locale", l), locale);
  const server = await mock(page, makeWorld(), shot.mock ?? {});
  await mockAccount(page, shot.account ?? {});
  try {
    await shot.run(page, site.url, server);
  } catch (e) {
    problems.push(String(e).split("\n")[0]);
  }
  await page.screenshot({ path: `${out}/${name}-${viewport.width}-${theme}${locale ? `-${locale}` : ""}.png` });
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (wider > 0) problems.push(`the page is ${wider} px too wide`);
  problems.push(...(await axe(page)));
  if (problems.length) bad++;
  process.stdout.write(
    `${problems.length ? "✗" : "✓"} ${name} ${viewport.width} ${theme} ${locale ?? "en"}${problems.map((p) => `\n    ${p}`).join("")}\n`,
  );
  await close();
}

try {
  for (const [name, shot] of Object.entries(shots)) {
    if (only.length && !only.includes(name)) continue;
    for (const viewport of shot.at) await one(name, shot, viewport, "light");
    if (shot.dark) await one(name, shot, shot.at[0], "dark");
    if (shot.dark && shot.at.includes(phone)) await one(name, shot, phone, "dark");
    if (shot.zh) await one(name, shot, shot.at[0], "light", "zh-CN");
  }
} finally {
  await browser.close();
  site.close();
}
process.exitCode = bad ? 1 : 0;
