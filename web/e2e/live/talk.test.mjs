// The first account and its demo agent, as `make run` opens them.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { walk } from "./fixtures/browser.mjs";
import { Server } from "./fixtures/server.mjs";

let server;
let owner;
let room;
before(async () => {
  server = await Server.start();
});
after(() => server?.stop());

/** The first person on a device of theirs, in the demo's room. The start link is used by the first test, which leaves the session here. */
async function demo(device, options) {
  return device(server, { person: owner, path: `/rooms/${room}`, ...options });
}

walk("the start link signs in and lands where the demo agent answers, live", async (device) => {
  const one = await device(server);
  await one.page.goto(server.startLink);
  await one.page.waitForFunction(() => localStorage.getItem("authToken"));
  assert.ok(!one.page.url().includes("token="), "the code does not stay in the address");
  owner = await one.page.evaluate(() => ({ token: localStorage.authToken, participant: JSON.parse(localStorage.participant) }));
  await one.page.getByRole("link", { name: /^Demo/ }).click();
  await one.said("I am Demo, a script").waitFor();
  room = /rooms\/([0-9a-f-]+)/.exec(one.page.url())[1];

  await one.send("help");
  // Whole sentences arrive in parts: a row that is still growing is seen, and it grows.
  const growing = one.log.locator('article[aria-busy="true"]');
  await growing.waitFor();
  const early = (await growing.textContent({ timeout: 1000 }).catch(() => "")) ?? "";
  const answer = one.said("this is my whole repertoire");
  await answer.getByRole("table").waitFor();
  await growing.waitFor({ state: "detached" });
  assert.ok((await answer.textContent()).length > early.length, "the text grew");
  assert.equal(await answer.count(), 1);

  await one.send("code");
  const code = one.log.locator("figure").filter({ hasText: "claim takes the next open rows" });
  await code.locator(".hljs-keyword").first().waitFor();
  await one.said("Inline code looks like").waitFor();
  await growing.waitFor({ state: "detached" });
  await code.getByRole("button", { name: "Copy" }).click();
  await code.getByRole("button", { name: "Copied" }).waitFor();
  assert.match(await one.page.evaluate(() => navigator.clipboard.readText()), /^\/\/ claim takes[\s\S]*CollectRows/);
});

walk("stop ends a slow answer, and the message says that it was not answered", async (device) => {
  const one = await demo(device);
  await one.send("please be slow");
  await one.page.getByRole("button", { name: "Stop Demo" }).click();
  const mine = one.said("please be slow");
  await mine.getByText(/^Not answered.*stopped$/).waitFor();
  await one.page.getByRole("button", { name: "Stop Demo" }).waitFor({ state: "detached" });
  assert.equal(await one.said("Then the script has won").count(), 0);
  // The stop was for that turn only.
  await one.send("table");
  await one.said("A table, from the script").waitFor();
});

walk("a failure, an empty answer and a rate limit each look like what they are", async (device) => {
  const one = await demo(device);
  for (const [word, title] of [
    ["fail", "The model of Demo failed"],
    ["empty", "Demo came back with an empty answer"],
    ["rate limit", "Demo was told to slow down by its model"],
  ]) {
    await one.send(word);
    await one.log.getByText(title).last().waitFor();
  }
});

walk("keyboard alone: to a room with Ctrl+K, a line break, and sent", async (device) => {
  const { page, box, said } = await device(server, { person: owner, path: "/settings" });
  await page.getByRole("heading", { name: "Settings" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: /Room, person, agent/ }).waitFor();
  await page.keyboard.type("demo");
  await page.getByRole("option", { name: /Demo/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/rooms/${room}`);
  await box.waitFor();
  await page.waitForFunction(() => document.activeElement?.matches("[data-composer] textarea"));
  await page.keyboard.type("by keys");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("alone");
  await page.keyboard.press("Enter");
  await said(/by keys\s*alone/)
    .first()
    .waitFor();
  assert.equal(await box.inputValue(), "");
});

walk("390 px: list, room and back, nothing wider than the screen", async (device) => {
  const { page, log, box, said } = await device(server, {
    person: owner,
    path: "/",
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  });
  const fits = async (where) =>
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${where} is too wide`);
  await page.getByRole("link", { name: /^Demo/ }).tap();
  await log.waitFor();
  await fits("the room");
  await box.fill("list");
  await page.getByRole("button", { name: "Send" }).tap();
  await said("Lists of each kind").waitFor();
  await fits("an answer");
  await page
    .getByRole("link", { name: "Back to rooms" })
    .or(page.getByRole("button", { name: "Back to rooms" }))
    .tap();
  await page.getByRole("link", { name: /^Demo/ }).waitFor();
  await fits("the list");
});
