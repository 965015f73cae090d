// Side conversations in a real browser: the card under its message, the pane, the page, and the end. `npm run build && npm run e2e`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { faultless } from "./fixtures/axe.mjs";
import { ids, mock } from "./fixtures/mock.mjs";
import { stage } from "./fixtures/stage.mjs";
import { forge, iso, makeWorld, me, message, NOW, nova, uuid } from "./fixtures/world.mjs";

const huddleId = uuid(701);
const site = stage();

const member = (p, role = "member") => ({ participantId: p.id, displayName: p.displayName, role, participant: p });

function addHuddle(world, { members = [nova, forge], meta = {}, said = 2, id = huddleId, topic = "Sail cloth" } = {}) {
  const room = world.rooms.find((r) => r.conversation.id === ids.launch);
  const anchor = room.messages.at(-4);
  const messages = [
    message(id, nova, NOW - 9 * 60_000, "Linen or hemp? It has to hold in **force eight**."),
    message(id, forge, NOW - 8 * 60_000, "Hemp is stronger and half the price."),
  ].slice(0, said);
  messages.forEach((m, i) => {
    m.messageSeq = i + 1;
  });
  const conversation = {
    id,
    type: "group",
    title: topic,
    createdBy: nova.id,
    parentConversationId: ids.launch,
    metadata: {
      huddle: true,
      huddle_status: "open",
      huddle_topic: topic,
      huddle_goal: "One cloth, and its price",
      source_conversation_id: ids.launch,
      source_message_id: anchor.id,
      ...meta,
    },
    members: members.map((m, i) => member(m, i === 0 ? "admin" : "member")),
    insertedAt: iso(NOW - 9 * 60_000),
    updatedAt: iso(NOW - 8 * 60_000),
    lastMessage: messages.at(-1) ?? null,
    unreadCount: 0,
    mentionCount: 0,
    seq: 5,
    huddle: { status: "open", messageCount: messages.length },
  };
  world.huddles ??= [];
  world.huddles.push({ conversation, messages });
  return { conversation, messages, anchor };
}

async function visit(path, options = {}) {
  const { page, errors, close } = await site.open({ viewport: { width: 1440, height: 900 }, ...options.context });
  const world = makeWorld();
  const made = addHuddle(world, options.huddle);
  options.world?.(world);
  const server = await mock(page, world);
  await page.goto(site.url + path);
  return { page, server, world, errors, ...made, close };
}

const card = (page) => page.getByRole("region", { name: "Huddle: Sail cloth" });
const pane = (page) => page.getByRole("complementary", { name: "Huddle: Sail cloth" });

test("H2 the card stands under its message, unfolds, counts live, and stays out of the list of rooms", async () => {
  const { page, server, world, anchor, conversation, messages, errors, close } = await visit(`/rooms/${ids.launch}`);
  await card(page).waitFor();
  const before = await page.evaluate((id) => document.querySelector(`[data-key="h:${id}"]`)?.previousElementSibling?.dataset.key, huddleId);
  assert.equal(before, `m:${anchor.id}`);
  await card(page).getByText("2 messages").waitFor();
  assert.equal(await page.getByRole("navigation").getByText("Sail cloth").count(), 0);
  await card(page).getByRole("button", { name: "Show more about this huddle" }).click();
  await card(page).getByText("One cloth, and its price").waitFor();
  await card(page).getByText("Hemp is stronger and half the price.").waitFor();
  await page.screenshot({ path: "e2e/out/huddle-card.png" });

  messages.push(message(huddleId, nova, NOW, "Then hemp."));
  Object.assign(conversation, { lastMessage: messages.at(-1), huddle: { messageCount: 3 } });
  server.room(ids.launch, "huddle_changed", { conversationId: ids.launch, huddleId });
  await card(page).getByText("3 messages").waitFor();
  await card(page).getByText("Then hemp.").waitFor();

  // The end changes the card in place; the report is an ordinary message that leads to it.
  Object.assign(conversation.metadata, { huddle_status: "resolved", huddle_outcome: "agreed", huddle_summary: "Hemp, 12 a yard." });
  server.say(ids.launch, nova, "We take hemp.", { metadata: { huddle_report: huddleId, huddle_topic: "Sail cloth" } });
  server.room(ids.launch, "sub_conversation_created", { conversationId: ids.launch, huddleId });
  await card(page).getByText("agreed").waitFor();
  await card(page).getByText("Hemp, 12 a yard.").waitFor();
  assert.equal(await page.getByRole("region", { name: "Huddle: Sail cloth" }).count(), 1);
  await page.getByRole("link", { name: "Came of the huddle “Sail cloth”" }).waitFor();
  assert.equal(world.huddles.length, 1);
  assert.deepEqual(errors, []);
  await close();
});

test("H2 it opens beside the room, live, by keyboard; Escape goes back to the card", async () => {
  const { page, server, close } = await visit(`/rooms/${ids.launch}`);
  await card(page).waitFor();
  await card(page).locator("[data-huddle]").focus();
  await page.keyboard.press("Enter");
  await pane(page).getByText("Linen or hemp?").waitFor();
  await pane(page).getByText("You are looking in. Take a seat to write.").waitFor();
  server.say(huddleId, forge, "And it dyes well.");
  await pane(page).getByText("And it dyes well.", { exact: true }).waitFor();
  await faultless(page, "pane");
  await page.screenshot({ path: "e2e/out/huddle-pane.png" });
  await pane(page).getByRole("button", { name: "Back to the room" }).focus();
  await page.keyboard.press("Escape");
  await pane(page).waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("data-huddle")), huddleId);
  await close();
});

test("H2 who looks in takes a seat and writes", async () => {
  const { page, server, conversation, close } = await visit(`/rooms/${ids.launch}`);
  await page.route(`**/api/conversations/${huddleId}/members`, (route) => {
    assert.deepEqual(JSON.parse(route.request().postData()), { participantId: me.id });
    conversation.members.push(member(me));
    return route.fulfill({ status: 201, contentType: "application/json", body: "{}" });
  });
  await card(page).locator("[data-huddle]").click();
  await pane(page).getByRole("button", { name: "Take a seat" }).click();
  const write = pane(page).getByRole("combobox");
  await write.fill("Cotton?");
  await write.press("Enter");
  await pane(page).getByText("Cotton?").waitFor();
  assert.ok(server.pushed.some((p) => p.event === "new_message" && p.topic === `conversation:${huddleId}`));
  await close();
});

test("H3 who takes part closes it with a summary; then nobody writes", async () => {
  const { page, conversation, close } = await visit(`/rooms/${huddleId}`, { huddle: { members: [nova, me] } });
  await page.getByRole("link", { name: /^Huddle of Launch/ }).waitFor();
  let ended;
  await page.route("**/api/huddles/complete", (route) => {
    ended = JSON.parse(route.request().postData());
    Object.assign(conversation.metadata, {
      huddle_status: "abandoned",
      huddle_outcome: ended.outcome,
      huddle_summary: ended.summary,
      huddle_closed_by: me.id,
    });
    return route.fulfill({ contentType: "application/json", body: JSON.stringify({ huddleId, status: "abandoned", outcome: ended.outcome }) });
  });
  await page.getByRole("button", { name: "Close the huddle" }).click();
  const dialog = page.getByRole("dialog", { name: "Close the huddle" });
  assert.ok(await dialog.getByRole("button", { name: "Close the huddle" }).isDisabled());
  await dialog.getByLabel("What came of it").fill("No cloth to be had.");
  await dialog.getByLabel("How it ended").selectOption("abandoned");
  await page.screenshot({ path: "e2e/out/huddle-close.png" });
  await dialog.getByRole("button", { name: "Close the huddle" }).click();
  await page.getByText("Mara Lindqvist closed this huddle: abandoned").waitFor();
  assert.deepEqual(ended, { huddleId, outcome: "abandoned", summary: "No cloth to be had." });
  assert.equal(await page.locator("[data-composer]").count(), 0);
  assert.equal(await page.getByRole("button", { name: "Close the huddle" }).count(), 0);
  await close();
});

test("H3 a failed close says why and loses no word", async () => {
  const { page, close } = await visit(`/rooms/${huddleId}`, { huddle: { members: [nova, me] } });
  await page.route("**/api/huddles/complete", (route) =>
    route.fulfill({
      status: 409,
      contentType: "application/json",
      body: JSON.stringify({ error: { code: "huddle_closed", message: "This huddle is closed already." } }),
    }),
  );
  await page.getByRole("button", { name: "Close the huddle" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("What came of it").fill("Hemp.");
  await dialog.getByRole("button", { name: "Close the huddle" }).click();
  await dialog.getByText("This huddle is closed already.").waitFor();
  assert.equal(await dialog.getByLabel("What came of it").inputValue(), "Hemp.");
  await close();
});

test("H1 a block that went nowhere says so under its message", async () => {
  const { page, close } = await visit(`/rooms/${ids.launch}`, {
    world: (w) => {
      const room = w.rooms.find((r) => r.conversation.id === ids.launch);
      room.messages.push(
        message(ids.launch, nova, NOW, "> → Zed\n> \n> Are you there?", {
          metadata: { unrouted_asides: [{ names: ["Zed"], unknown: ["Zed"], reason: "unknown" }] },
        }),
      );
    },
  });
  await page.getByText("No huddle with Zed: Zed is not known here").waitFor();
  await close();
});

for (const theme of ["light", "dark"]) {
  for (const [width, lang] of [
    [360, "zh-CN"],
    [1440, "en-GB"],
  ]) {
    test(`H2 huddles look right, ${theme}, ${width} px, ${lang}`, async () => {
      const { page, close } = await visit(`/rooms/${ids.launch}`, {
        context: { viewport: { width, height: 800 }, colorScheme: theme, locale: lang },
        world: (w) => {
          addHuddle(w, {
            id: uuid(702),
            topic: "A topic that is so long that no card of any phone could ever show all of it at once",
            members: [nova, forge, me],
          });
          addHuddle(w, {
            id: uuid(703),
            topic: "绳索",
            said: 0,
            meta: { huddle_status: "resolved", huddle_outcome: "deferred", huddle_summary: "下周再谈。" },
          });
        },
      });
      await page.locator("[data-huddle]").nth(2).waitFor();
      await faultless(page, `cards ${theme} ${width}`);
      await page.screenshot({ path: `e2e/out/huddles-${theme}-${width}.png` });
      await page.locator(`[data-huddle="${huddleId}"]`).click();
      await page.getByText("Linen or hemp?").waitFor();
      await faultless(page, `pane ${theme} ${width}`);
      await page.screenshot({ path: `e2e/out/huddle-open-${theme}-${width}.png` });
      await close();
    });
  }
}
