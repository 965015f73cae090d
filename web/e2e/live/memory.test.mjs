// What agents remember, through the whole product: kept from their words, told in the next turn, read, changed and forgotten by their person; and their former souls.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { walk } from "./fixtures/browser.mjs";
import { Model } from "./fixtures/model.mjs";
import { Server } from "./fixtures/server.mjs";

let server;
let model;
before(async () => {
  [server, model] = await Promise.all([Server.start({ demo: false }), Model.start()]);
});
after(() => Promise.all([server?.stop(), model?.stop()]));

walk("K3 what an agent keeps is not in its words, is told in its next turn, and is its person's to change", async (device) => {
  const ada = await server.person("Ada");
  const iris = await server.agent(ada, "Iris", { backend: "anthropic" });
  const room = await server.room(ada, [iris.id]);
  const other = await server.room(ada, [iris.id], "Kitchen");
  await model.on(
    "remember my tea",
    { tools: [{ name: "save_agent_memory", args: { category: "fact", key: "boat", content: "Ada has a boat." } }] },
    { text: 'I will.\n<memory category="preference" key="tea">Ada takes tea without milk.</memory>' },
  );
  const bridge = server.bridge(iris.line, [], { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: "sk-made-up-key" });
  try {
    await bridge.line(/agent is online/);
    const { page, said, send, axe, settled } = await device(server, { person: ada, path: `/rooms/${room.id}` });
    await send("remember my tea");
    await said("I will.").waitFor();
    await settled();
    assert.equal(await page.getByText("without milk").count(), 0, "what is to be kept is taken out of what people read");

    await page.goto(`${server.url}/agents/${iris.id}?tab=memory`);
    const own = page.getByRole("region", { name: "What Iris remembers" });
    await own.getByText("Ada takes tea without milk.").waitFor();
    await own.getByText("Ada has a boat.").waitFor();
    assert.deepEqual(await axe(), []);

    await own.getByRole("searchbox").fill("boats");
    await own.getByText("Ada takes tea without milk.").waitFor({ state: "detached" });
    await own.getByText("Ada has a boat.").waitFor();
    await own.getByRole("searchbox").fill("zebra");
    await own.getByText("Nothing fits.").waitFor();
    await own.getByRole("searchbox").fill("");

    await own.getByRole("button", { name: "Edit tea" }).click();
    await page.getByLabel("What to remember").fill("Ada takes tea with lemon.");
    await page.getByLabel("Tags").fill("drinks, drinks");
    await page.getByRole("button", { name: "Save" }).click();
    await own.getByText("Ada takes tea with lemon.").waitFor();
    await own.getByText("#drinks").waitFor();

    await own.getByRole("button", { name: "Forget boat" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Forget" }).click();
    await own.getByText("Ada has a boat.").waitFor({ state: "detached" });

    const shared = page.getByRole("region", { name: "What all your agents share" });
    await shared.getByRole("button", { name: "Add a memory" }).click();
    await page.getByLabel("Name").fill("home");
    await page.getByLabel("What to remember").fill("Ada lives in Oslo.");
    await page.getByRole("button", { name: "Save" }).click();
    await shared.getByText("Ada lives in Oslo.").waitFor();
    await shared.getByRole("button", { name: "Add a memory" }).click();
    await page.getByLabel("Name").fill("home");
    await page.getByLabel("What to remember").fill("Ada lives in Rome.");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("There is a memory of this kind and name.").waitFor();
    await page.keyboard.press("Escape");

    // Another room: what the model is asked holds what is remembered now, and nothing of what is forgotten.
    await model.on("tea with lemon", { text: "With lemon, in Oslo." });
    await model.on("boat", { text: "It is told what was forgotten." });
    await page.goto(`${server.url}/rooms/${other.id}`);
    await send("@Iris how do I take it?");
    await said("With lemon, in Oslo.").waitFor();
  } catch (e) {
    e.message += `\nthe bridge said:\n${bridge.tail()}`;
    throw e;
  } finally {
    await bridge.stop();
  }
});

walk("K9 a former soul is used again, and the present one is kept", async (device) => {
  const ada = await server.person("Ada");
  const iris = await server.agent(ada, "Iris");
  const { page, axe } = await device(server, { person: ada, path: `/agents/${iris.id}?tab=character` });
  const soul = page.getByRole("textbox", { name: "Soul" });
  const form = page.getByRole("region", { name: "Soul" });
  for (const text of ["# Calm", "# Quick"]) {
    await soul.fill(text);
    await form.getByRole("button", { name: "Save" }).click();
    await form.getByText("Saved").waitFor();
  }
  await form.getByRole("button", { name: "Earlier versions" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("# Calm").waitFor();
  assert.deepEqual(await axe(), []);
  await dialog.getByRole("listitem").filter({ hasText: "# Calm" }).getByRole("button", { name: "Use this again" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.equal(await soul.inputValue(), "# Calm");
  await form.getByRole("button", { name: "Earlier versions" }).click();
  await dialog.getByText("# Quick").waitFor();
});

walk("K3 a person shares where they are, and takes it back", async (device) => {
  const ada = await server.person("Ada");
  const { page } = await device(server, {
    person: ada,
    path: "/settings?tab=account",
    permissions: ["geolocation"],
    geolocation: { latitude: 59.9139, longitude: 10.7522, accuracy: 20 },
  });
  const place = page.getByRole("region", { name: "Where you are" });
  await place.getByRole("button", { name: "Share where I am" }).click();
  await place.getByText("59.9139, 10.7522").waitFor();
  await page.reload();
  await place.getByText("59.9139, 10.7522").waitFor();
  await place.getByRole("button", { name: "Stop sharing" }).click();
  await place.getByText("59.9139, 10.7522").waitFor({ state: "detached" });
});

for (const [locale, width, colorScheme] of [
  ["en", 390, "light"],
  ["zh-CN", 390, "dark"],
])
  walk(`K3 memory on a phone, ${locale}, ${colorScheme}`, async (device) => {
    const ada = await server.person("Ada");
    await server.call("PUT", "/api/me/locale", { token: ada.token, body: { locale } });
    ada.participant.locale = locale;
    const iris = await server.agent(ada, "Iris");
    const long = "a-name-without-any-place-to-break-it-".repeat(5).slice(0, 190);
    await server.call("POST", `/api/agents/${iris.id}/memories`, {
      token: ada.token,
      body: { category: "fact", key: long, content: "很长的内容。".repeat(60), tags: ["one", "two"] },
    });
    const { page, axe } = await device(server, {
      person: ada,
      path: `/agents/${iris.id}?tab=memory`,
      viewport: { width, height: 800 },
      colorScheme,
    });
    await page.getByText(long).waitFor();
    assert.deepEqual(await axe(), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "nothing stands beside the screen");
  });

walk("K3 what a room remembers is written by its agent, seen and changed beside the room, and told on every device", async (device) => {
  const ada = await server.person("Ada");
  const bob = await server.person("Bob");
  const iris = await server.agent(ada, "Iris", { backend: "anthropic" });
  const room = await server.room(ada, [iris.id, bob.participant.id], "Harbour");
  const changes = { summary: "They sail at nine.", openQuestions: ["Who steers?"], tide: { high: "9:10" } };
  await model.on(
    "sum it up",
    { tools: [{ name: "update_memory", args: { conversation_id: "current", changes, reason: "asked to" } }] },
    { text: "It is summed up." },
  );
  const bridge = server.bridge(iris.line, [], { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: "sk-made-up-key" });
  try {
    await bridge.line(/agent is online/);
    const first = await device(server, { person: ada, path: `/rooms/${room.id}` });
    const second = await device(server, { person: bob, path: `/rooms/${room.id}` });
    const pane = ({ page }) => page.getByRole("region", { name: "What this room remembers" });
    for (const { page } of [first, second]) await page.getByRole("button", { name: "Room details", exact: true }).click();
    await pane(first).getByText("Nothing yet.").waitFor();
    await first.send("@Iris sum it up");
    await first.said("It is summed up.").waitFor();
    for (const d of [first, second]) {
      await pane(d).getByText("They sail at nine.").waitFor();
      await pane(d).getByText("Who steers?").waitFor();
      await pane(d).getByText("high: 9:10").waitFor();
    }
    assert.deepEqual(await first.axe(), []);

    await pane(second).getByRole("button", { name: "Edit Open questions" }).click();
    await second.page.getByRole("textbox", { name: "Open questions" }).fill("Who steers?\nWho cooks?");
    await second.page.getByRole("button", { name: "Save" }).click();
    await pane(first).getByText("Who cooks?").waitFor();
    await pane(first).getByRole("button", { name: "Edit tide" }).click();
    await first.page.getByRole("dialog").getByRole("button", { name: "Forget" }).click();
    await pane(second).getByText("high: 9:10").waitFor({ state: "detached" });
    await pane(second).getByRole("button", { name: "Changes of the memory" }).click();
    await second.page.getByRole("dialog").getByText("asked to").waitFor();
    await second.page.getByRole("dialog").getByText("Bob").waitFor();
  } catch (e) {
    e.message += `\nthe bridge said:\n${bridge.tail()}`;
    throw e;
  } finally {
    await bridge.stop();
  }
});
