// What only a real browser can show, against the built client and a stand-in for the server: `npm run build && npm run e2e`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { faultless } from "./fixtures/axe.mjs";
import { ids, mock } from "./fixtures/mock.mjs";
import { stage } from "./fixtures/stage.mjs";
import { ada, makeWorld, me, nova } from "./fixtures/world.mjs";

const site = stage();

async function visit(path, options = {}) {
  const { page, errors, close } = await site.open(options.context);
  const world = makeWorld();
  options.world?.(world);
  const server = await mock(page, world, options.server);
  await page.goto(site.url + path);
  return { page, server, world, errors, close };
}

const log = (page) => page.getByRole("log");
const box = (page) => page.locator("[data-composer] textarea");
/** Top of the row that holds a text, from the top of the view. */
const topOf = (page, key) => page.evaluate((k) => document.querySelector(`[data-key="${k}"]`)?.getBoundingClientRect().top ?? null, key);
const firstVisible = (page) =>
  page.evaluate(() => {
    const top = document.querySelector('[role="log"]').getBoundingClientRect().top;
    for (const row of document.querySelectorAll("[data-key]")) if (row.getBoundingClientRect().bottom > top + 1) return row.dataset.key;
    return null;
  });
const frames = (page, n = 3) =>
  page.evaluate(
    (count) =>
      new Promise((done) => {
        const step = (i) => (i ? requestAnimationFrame(() => step(i - 1)) : done());
        step(count);
      }),
    n,
  );
const atEnd = (page) => log(page).evaluate((el) => el.scrollHeight - el.scrollTop - el.clientHeight < 2);

async function scrollUp(page, px) {
  const area = await log(page).boundingBox();
  await page.mouse.move(area.x + 300, area.y + 300);
  await page.mouse.wheel(0, -px);
  await page.waitForTimeout(150);
  await frames(page);
}

test("P8 opens where reading stopped, with the divider in view", async () => {
  const { page, errors, close } = await visit(`/rooms/${ids.launch}`);
  await page.getByText("New", { exact: true }).waitFor();
  const top = await topOf(page, "unread");
  assert.ok(top > 0 && top < 800, `divider at ${top}`);
  assert.deepEqual(errors, []);
  await close();
});

test("P8 goes after the reading point when it lies pages back", async () => {
  const { page, world, close } = await visit(`/rooms/${ids.launch}`, {
    world: (w) => {
      const room = w.rooms[0];
      Object.assign(room.conversation, { unreadCount: 100, lastReadSeq: room.messages.length - 100 });
    },
  });
  await page.getByText("New", { exact: true }).waitFor();
  // The first unread one of somebody else follows the divider; what stands above it was read, or is one's own.
  const { messages } = world.rooms[0];
  const first = messages.slice(-100).find((m) => m.senderId !== me.id && m.senderId);
  await page.waitForFunction((key) => document.querySelector('[data-key="unread"]')?.nextElementSibling?.dataset.key === key, `m:${first.id}`);
  await frames(page, 6);
  const top = await topOf(page, "unread");
  assert.ok(top > 0 && top < 300, `divider at ${top}`);
  await close();
});

test("P8 pages back without a jump and draws only what is near", async () => {
  const { page, close } = await visit(`/rooms/${ids.launch}`);
  await log(page).waitFor();
  await frames(page);
  let pages = 0;
  page.on("request", (r) => r.url().includes("before=") && pages++);
  for (let i = 0; i < 60; i++) {
    const key = await firstVisible(page);
    const before = await topOf(page, key);
    const scrolled = await log(page).evaluate((el) => el.scrollTop);
    await scrollUp(page, 700);
    await page.waitForTimeout(60);
    const moved = (await topOf(page, key)) ?? Number.NaN;
    const after = await log(page).evaluate((el) => el.scrollTop);
    // The row moved exactly as far as the wheel asked (the browser may stop at the very top), never by the height of a page put above it.
    if (!Number.isNaN(moved))
      assert.ok(moved - before <= 701 && moved - before >= Math.min(0, after - scrolled) - 1, `moved ${moved - before} in step ${i}`);
    if (
      await page
        .getByText("This is where")
        .isVisible()
        .catch(() => false)
    )
      break;
  }
  assert.ok(pages >= 4, `${pages} older pages`);
  const drawn = await page.locator("[data-key]").count();
  assert.ok(drawn < 80, `${drawn} rows in the document`);
  await page.getByRole("button", { name: "Jump to latest" }).click();
  await frames(page, 6);
  assert.ok(await atEnd(page));
  await close();
});

test("P8 never moves under a reader while an answer grows and messages arrive", async () => {
  const { page, server, close } = await visit(`/rooms/${ids.launch}`);
  await log(page).waitFor();
  await frames(page);
  await scrollUp(page, 900);
  const key = await firstVisible(page);
  const before = await topOf(page, key);
  let text = "";
  for (let i = 0; i < 30; i++) {
    text += `Line ${i} of a long answer that keeps growing.\n\n`;
    server.stream(ids.launch, nova, "grow", "streaming", "writing", text);
    if (i % 5 === 0) server.say(ids.launch, ada, `Arrived meanwhile ${i}`);
    await frames(page, 2);
    assert.ok(Math.abs((await topOf(page, key)) - before) < 1, `moved in step ${i}`);
  }
  await page.getByRole("button", { name: /new message/ }).waitFor();
  await close();
});

test("P6 the line being read stays while the same message grows, and nothing jumps when the answer lands", async () => {
  const { page, server, close } = await visit(`/rooms/${ids.nova}`);
  await log(page).waitFor();
  let text = "";
  for (let i = 0; i < 60; i++) text += `Paragraph ${i} is long enough to be read for a while.\n\n`;
  server.stream(ids.nova, nova, "s9", "streaming", "writing", text);
  await page.getByText("Paragraph 59").waitFor();
  assert.ok(await atEnd(page), "follows the end while it is there");
  await scrollUp(page, 600);
  const probe = () =>
    page.evaluate(() => {
      const p = [...document.querySelectorAll("p")].find((x) => x.textContent.startsWith("Paragraph 40 "));
      return p.getBoundingClientRect().top;
    });
  const before = await probe();
  for (let i = 60; i < 90; i++) {
    text += `Paragraph ${i} comes later.\n\n`;
    server.stream(ids.nova, nova, "s9", "streaming", "writing", text);
    await frames(page, 2);
  }
  assert.ok(Math.abs((await probe()) - before) < 1, "moved while growing");
  server.say(ids.nova, nova, text.trim(), { metadata: { stream_id: "s9" } });
  await frames(page, 6);
  assert.ok(Math.abs((await probe()) - before) < 1, `moved when it landed: ${(await probe()) - before}`);
  assert.equal(await page.getByText("Paragraph 40 is").count(), 1);
  await close();
});

test("composer: Enter sends the mention in its unmistakable form, Shift+Enter does not, an input method is left alone", async () => {
  const { page, server, close } = await visit(`/rooms/${ids.launch}`);
  await log(page).waitFor();
  await box(page).focus();
  await page.keyboard.type("hello @no");
  await page.getByRole("option", { name: /Nova/ }).waitFor();
  await page.keyboard.press("Enter");
  assert.equal(await box(page).inputValue(), "hello @Nova ");
  await page.keyboard.type("look");
  await page.keyboard.press("Shift+Enter");
  await box(page).evaluate((el) =>
    el.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", keyCode: 229, bubbles: true, cancelable: true, isComposing: true })),
  );
  assert.equal(server.pushed.filter((p) => p.event === "new_message").length, 0);
  await page.keyboard.type("here");
  await page.keyboard.press("Enter");
  await log(page).getByText("look").waitFor();
  const [sent] = server.pushed.filter((p) => p.event === "new_message");
  assert.equal(sent.payload.content, "hello @[Nova] look\nhere");
  assert.equal(await box(page).inputValue(), "");
  assert.ok(server.pushed.filter((p) => p.event === "typing").length <= 2, "typing at most once a second");
  await close();
});

for (const reducedMotion of ["reduce", "no-preference"])
  test(`composer: low again after a long message, motion ${reducedMotion}; wide tables scroll in their frame; Arabic stands at the right`, async () => {
    const { page, close } = await visit(`/rooms/${ids.launch}`, { context: { reducedMotion } });
    await log(page).waitFor();
    const height = () => box(page).evaluate((el) => el.offsetHeight);
    const low = await height();
    const say = async (text) => {
      await box(page).fill(text);
      await box(page).press("Enter");
    };
    await box(page).fill("many words ".repeat(80));
    assert.ok((await height()) > 2 * low, "it grows");
    await box(page).press("Enter");
    await log(page).getByText("many words many words").waitFor();
    assert.equal(await height(), low);

    await say(`| one | two |\n|---|---|\n| a | ${"long words ".repeat(60)} | \n| ${"x".repeat(300)} | b |`);
    const frame = log(page).locator(".table-frame").filter({ hasText: "long words" });
    await frame.waitFor();
    assert.deepEqual(await frame.evaluate((el) => [getComputedStyle(el).display, getComputedStyle(el).overflowX]), ["block", "auto"]);
    // Nothing that is not scrolled away reaches out of the frame.
    assert.ok(await frame.evaluate((el) => el.getBoundingClientRect().right <= el.closest("article").getBoundingClientRect().right));
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));

    const arabic = "مرحبا بالعالم";
    await say(`${arabic}\n\nplain`);
    const sides = (text) =>
      log(page)
        .getByText(text, { exact: true })
        .evaluate((el) => {
          const range = document.createRange();
          range.selectNodeContents(el);
          const [words, block] = [range.getBoundingClientRect(), el.getBoundingClientRect()];
          return { left: words.left - block.left, right: block.right - words.right };
        });
    const right = await sides(arabic);
    assert.ok(right.right < 2 && right.left > 100, JSON.stringify(right));
    assert.ok((await sides("plain")).left < 2);
    await close();
  });

test("drafts belong to their room and survive a reload", async () => {
  const { page, close } = await visit(`/rooms/${ids.nova}`);
  await box(page).fill("half a thought");
  await page.getByRole("link", { name: /Empty room/ }).click();
  await page.waitForURL(/508/);
  assert.equal(await box(page).inputValue(), "");
  await page.getByText("Draft: half a thought").waitFor();
  await page.reload();
  await page.getByRole("link", { name: /^Nova/ }).click();
  await page.waitForURL(/502/);
  assert.equal(await box(page).inputValue(), "half a thought");
  await close();
});

test("a refused message stays where it was written, with retry and discard", async () => {
  const { page, server, close } = await visit(`/rooms/${ids.nova}`, { server: { rejectSend: true } });
  await box(page).fill("refused at first");
  await box(page).press("Enter");
  await page.getByText("Not sent").waitFor();
  server.state.rejectSend = false;
  await page.getByRole("button", { name: "Send again" }).click();
  await page.getByText("Not sent").waitFor({ state: "detached" });
  assert.equal(await page.locator("article").filter({ hasText: "refused at first" }).count(), 1);
  await close();
});

test("offline: says so, keeps what is written, sends it once on return", async () => {
  const { page, server, close } = await visit(`/rooms/${ids.nova}`);
  await log(page).waitFor();
  server.state.refuse = true;
  server.drop();
  await box(page).fill("written away");
  await box(page).press("Enter");
  await page.getByText("The connection is lost").waitFor();
  await page.getByText("1 message waits").waitFor();
  server.state.refuse = false;
  await page
    .getByRole("button", { name: "Try now" })
    .click({ timeout: 3000 })
    .catch(() => {});
  await page.getByText("The connection is lost").waitFor({ state: "detached", timeout: 15_000 });
  await page.getByText("Will be sent when you are online").waitFor({ state: "detached" });
  assert.equal(server.pushed.filter((p) => p.event === "new_message").length, 1);
  await close();
});

test("keyboard: map, switcher, walking through messages, back with Escape", async () => {
  const { page, close } = await visit(`/rooms/${ids.launch}`);
  await log(page).waitFor();
  await log(page).focus();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("forge");
  await page.keyboard.press("Enter");
  await page.waitForURL(/507/);
  await log(page).getByText("All tests pass.").waitFor();
  await log(page).focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("r");
  await page.getByText("Reply to Forge").waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("Reply to Forge").waitFor({ state: "detached" });
  await page.keyboard.press("Control+i");
  await page.getByRole("complementary", { name: "Room details" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("complementary", { name: "Room details" }).waitFor({ state: "detached" });
  await close();
});

test("stop: one agent, or all", async () => {
  const { page, server, close } = await visit(`/rooms/${ids.launch}`);
  await log(page).waitFor();
  const bodies = [];
  page.on("request", (r) => r.url().endsWith("/stop-agents") && bodies.push(r.postDataJSON()));
  server.stream(ids.launch, nova, "a", "streaming", "thinking", "");
  await page.getByRole("button", { name: "Stop Nova" }).click();
  server.stream(ids.launch, { ...nova, id: "00000000-0000-4000-8000-000000000013", displayName: "Forge" }, "b", "streaming", "thinking", "");
  await page.getByRole("button", { name: "Stop all" }).click();
  await page.waitForTimeout(200);
  assert.deepEqual(bodies, [{ agentId: nova.id }, {}]);
  await close();
});

for (const scheme of ["light", "dark"]) {
  for (const [name, path, prepare] of [
    ["room", `/rooms/${ids.launch}`, async () => {}],
    ["details", `/rooms/${ids.launch}`, async (page) => page.keyboard.press("Control+i")],
    ["switcher", `/rooms/${ids.nova}`, async (page) => page.keyboard.press("Control+k")],
    ["new room", `/rooms/${ids.nova}`, async (page) => page.keyboard.press("Control+Shift+o")],
  ]) {
    test(`axe finds nothing serious: ${name}, ${scheme}`, async () => {
      const { page, close } = await visit(path, { context: { colorScheme: scheme, reducedMotion: "reduce" } });
      await log(page).waitFor();
      await prepare(page);
      await page.waitForTimeout(400);
      await faultless(page, name);
      await close();
    });
  }
}

test("P8 who leaves a room is at the beginning again, though the news comes before the answer", async () => {
  const { page, server, errors, close } = await visit(`/rooms/${ids.launch}`);
  await page.route(`**/api/conversations/${ids.launch}/members/**`, async (route) => {
    server.user("removed_from_conversation", { conversationId: ids.launch });
    await page.getByText("This room is not there").waitFor();
    await route.fulfill({ status: 204 });
  });
  await log(page).waitFor();
  await page.keyboard.press("Control+i");
  await page.getByRole("button", { name: "Leave room" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Leave room" }).click();
  await page.waitForURL(`${site.url}/`);
  assert.deepEqual(errors, []);
  await close();
});
