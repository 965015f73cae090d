// Pictures of every important state, into e2e/out: `npm run build && npm run shots [name…]`.
import { mkdirSync } from "node:fs";
import { launch } from "./fixtures/browser.mjs";
import { ids, mock } from "./fixtures/mock.mjs";
import { serve } from "./fixtures/serve.mjs";
import { mid, openForPicture, phone, wide } from "./fixtures/shoot.mjs";
import { ada, forge, makeWorld, nova } from "./fixtures/world.mjs";

const out = new URL("./out/", import.meta.url).pathname;
mkdirSync(out, { recursive: true });
const only = process.argv.slice(2);

const open = (id) => async (page, base) => {
  await page.goto(`${base}/rooms/${id}`);
  await page.getByRole("log").waitFor();
  await page.waitForTimeout(500);
};

const shots = {
  room: open(ids.launch),
  table: async (page, base) => {
    await open(ids.launch)(page, base);
    await page.getByRole("log").evaluate((el) => {
      const t = el.querySelector("table") ?? el;
      t.closest("article")?.scrollIntoView({ block: "start" });
    });
    await page.waitForTimeout(500);
  },
  code: async (page, base) => {
    await open(ids.launch)(page, base);
    for (
      let i = 0;
      i < 12 &&
      !(await page
        .locator("figure")
        .first()
        .isVisible()
        .catch(() => false));
      i++
    ) {
      await page.mouse.move(700, 400);
      await page.mouse.wheel(0, -400);
      await page.waitForTimeout(120);
    }
    await page
      .locator("figure")
      .first()
      .evaluate((el) => el.closest("article")?.scrollIntoView({ block: "start" }));
    await page.waitForTimeout(700);
  },
  live: async (page, base, server) => {
    await open(ids.nova)(page, base);
    server.stream(ids.nova, nova, "s1", "started", "thinking", "");
    server.stream(
      ids.nova,
      nova,
      "s1",
      "streaming",
      "writing",
      'Here is the short version so far:\n\n## Dates\n\n- **14th** launch\n- **21st** review\n\n```go\nfunc main() {\n\tprintln("still writing',
    );
    await page.waitForTimeout(500);
  },
  dock: async (page, base, server) => {
    await open(ids.launch)(page, base);
    server.stream(ids.launch, nova, "s1", "streaming", "tool_call", "", "Reading plan.md");
    server.stream(ids.launch, forge, "s2", "streaming", "thinking", "");
    server.room(ids.launch, "typing_indicator", {
      conversationId: ids.launch,
      participantId: ada.id,
      participantName: ada.displayName,
      participantType: "human",
      isTyping: true,
    });
    await page.waitForTimeout(300);
    await page
      .locator('section[aria-label] button[aria-expanded="false"]')
      .last()
      .click()
      .catch(() => {});
    await page.waitForTimeout(300);
  },
  details: async (page, base) => {
    await open(ids.launch)(page, base);
    await page.keyboard.press("Control+i");
    await page.waitForTimeout(400);
  },
  switcher: async (page, base) => {
    await open(ids.nova)(page, base);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("a");
    await page.waitForTimeout(300);
  },
  new: async (page, base) => {
    await open(ids.nova)(page, base);
    await page.keyboard.press("Control+Shift+o");
    await page.waitForTimeout(300);
  },
  keys: async (page, base) => {
    await open(ids.nova)(page, base);
    await page.getByRole("log").focus();
    await page.keyboard.press("?");
    await page.waitForTimeout(300);
  },
  mention: async (page, base) => {
    await open(ids.launch)(page, base);
    await page.getByRole("combobox").last().fill("Thank you @Ada Okonkwo and ");
    await page.keyboard.type("@");
    await page.waitForTimeout(300);
  },
  failed: async (page, base, server) => {
    await open(ids.nova)(page, base);
    server.state.rejectSend = true;
    await page.getByRole("combobox").last().fill("This one is refused");
    await page.keyboard.press("Enter");
    await page.waitForTimeout(600);
  },
  offline: async (page, base, server) => {
    await open(ids.nova)(page, base);
    server.state.refuse = true;
    server.drop(1011);
    await page.getByRole("combobox").last().fill("Written while away");
    await page.getByRole("button", { name: "Send" }).click();
    await page.waitForTimeout(4000);
  },
  hover: async (page, base) => {
    await open(ids.launch)(page, base);
    await page.locator("article").nth(-2).hover();
    await page.locator("article").nth(-2).getByRole("button", { name: "Message actions" }).click();
    await page.waitForTimeout(300);
  },
  menu: async (page, base) => {
    await page.goto(`${base}/`);
    await page.getByRole("button", { name: /Mara Lindqvist/ }).click();
    await page.waitForTimeout(300);
  },
  skeleton: async (page, base, server) => {
    server.state.delayMessages = 60_000;
    server.state.silent = true;
    await page.goto(`${base}/rooms/${ids.launch}`);
    await page.waitForTimeout(900);
  },
  messagesFailed: async (page, base, server) => {
    server.state.failMessages = true;
    server.state.silent = true;
    await page.goto(`${base}/rooms/${ids.launch}`);
    await page.waitForTimeout(4500);
  },
  remove: async (page, base) => {
    await open(ids.launch)(page, base);
    await page.getByRole("log").focus();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Delete");
    await page.waitForTimeout(300);
  },
  add: async (page, base) => {
    await open(ids.launch)(page, base);
    await page.keyboard.press("Control+i");
    await page.getByRole("button", { name: "Add" }).click();
    await page.waitForTimeout(400);
  },
  empty: open(ids.empty),
  missing: async (page, base) => {
    await page.goto(`${base}/rooms/00000000-0000-4000-8000-000000009999`);
    await page.waitForTimeout(1500);
  },
  loadFailed: async (page, base, server) => {
    server.state.failRooms = true;
    await page.goto(`${base}/`);
    await page.waitForTimeout(3500);
  },
  home: async (page, base) => {
    await page.goto(`${base}/`);
    await page.waitForTimeout(800);
  },
  chinese: async (page, base) => {
    await page.addInitScript(() => localStorage.setItem("agntchat.locale", "zh-CN"));
    await open(ids.launch)(page, base);
    await page.keyboard.press("Control+i");
    await page.waitForTimeout(400);
  },
};

const plan = [
  ["room", wide, "light"],
  ["room", wide, "dark"],
  ["room", mid, "light"],
  ["room", phone, "light"],
  ["room", phone, "dark"],
  ["table", wide, "light"],
  ["table", phone, "dark"],
  ["code", wide, "dark"],
  ["code", wide, "light"],
  ["code", phone, "light"],
  ["live", wide, "light"],
  ["live", phone, "dark"],
  ["dock", wide, "light"],
  ["details", wide, "light"],
  ["details", wide, "dark"],
  ["details", mid, "light"],
  ["details", phone, "light"],
  ["switcher", wide, "light"],
  ["switcher", phone, "dark"],
  ["new", wide, "light"],
  ["new", phone, "light"],
  ["keys", wide, "dark"],
  ["mention", wide, "light"],
  ["mention", phone, "light"],
  ["failed", wide, "light"],
  ["offline", wide, "light"],
  ["offline", phone, "dark"],
  ["hover", wide, "light"],
  ["hover", wide, "dark"],
  ["menu", wide, "light"],
  ["skeleton", wide, "light"],
  ["skeleton", phone, "dark"],
  ["messagesFailed", wide, "light"],
  ["remove", wide, "dark"],
  ["add", wide, "light"],
  ["empty", wide, "light"],
  ["missing", wide, "light"],
  ["loadFailed", wide, "light"],
  ["home", wide, "light"],
  ["home", wide, "dark"],
  ["home", phone, "light"],
  ["chinese", wide, "light"],
];

const browser = await launch();
const site = await serve();
try {
  for (const [name, viewport, theme] of plan) {
    if (only.length && !only.includes(name)) continue;
    const { page, problems, close } = await openForPicture(browser, viewport, theme);
    const server = await mock(page, makeWorld());
    try {
      await shots[name](page, site.url, server);
    } catch (e) {
      problems.push(String(e));
    }
    await page.screenshot({ path: `${out}${name}-${viewport.width}-${theme}.png` });
    process.stdout.write(`${name} ${viewport.width} ${theme}${problems.length ? `\n  ${problems.join("\n  ")}` : ""}\n`);
    await close();
  }
} finally {
  await browser.close();
  site.close();
}
