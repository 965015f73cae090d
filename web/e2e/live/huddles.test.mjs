// Side conversations and files through the whole product: our server, our bridge, two agents in front of the fake provider, a person's browser.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { walk } from "./fixtures/browser.mjs";
import { Model } from "./fixtures/model.mjs";
import { Server } from "./fixtures/server.mjs";

let server;
let model;
let ada;
before(async () => {
  [server, model] = await Promise.all([Server.start({ demo: false }), Model.start()]);
  ada = await server.person("Ada");
});
after(() => Promise.all([server?.stop(), model?.stop()]));

const provider = () => ({ ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: "sk-made-up-key" });

/** Two agents, online, in a group with the person. */
async function crew(title) {
  const made = [];
  for (const name of ["Nova", "Zoe"]) made.push(await server.agent(ada, name, { backend: "anthropic" }));
  const bridges = made.map((a) => server.bridge(a.line, [], provider()));
  const room = await server.room(
    ada,
    made.map((a) => a.id),
    title,
  );
  return {
    nova: made[0],
    zoe: made[1],
    room,
    stop: () => Promise.all(bridges.map((b) => b.stop())),
    tail: () => bridges.map((b) => b.tail()).join("\n"),
  };
}

walk("H1–H3 an agent takes another aside, the card lives, it answers, the first closes it, the room reads one message", async (device) => {
  const { nova, room, stop, tail } = await crew("Sail loft");
  await model.on("which cloth", {
    text: 'I ask Zoe.\n\n<dm target="zoe" topic="Sail cloth" goal="One cloth">Linen or hemp, and why?</dm>',
    hold: "ask",
  });
  await model.on("Linen or hemp", { text: "Hemp is stronger in a gale.", hold: "answer" });
  await model.on(
    "Hemp is stronger",
    {
      tools: [
        {
          name: "complete_huddle",
          args: { huddle_id: "current", outcome: "agreed", summary: "Hemp: it holds in a gale.", content: "We take **hemp**." },
        },
      ],
    },
    { text: "Said above." },
  );
  const { page, log, send } = await device(server, { person: ada, path: `/rooms/${room.id}` });
  try {
    await log.waitFor();
    await send("@Nova which cloth?");
    const growing = log.locator('article[aria-busy="true"]').filter({ hasText: "I" });
    await growing.waitFor();
    await model.release("ask");
    const card = page.getByRole("region", { name: "Huddle: Sail cloth" });
    await card.waitFor();
    // What goes to the huddle is not in the room, neither while it was written nor now.
    assert.ok(!(await log.textContent()).includes("Linen or hemp"));
    assert.ok(!(await log.textContent()).includes("<dm"));
    await card.getByRole("button", { name: "Show more about this huddle" }).click();
    await card.getByText("Linen or hemp, and why?").waitFor();
    await card.locator("[data-huddle]").click();
    const pane = page.getByRole("complementary", { name: "Huddle: Sail cloth" });
    await pane.getByText("Linen or hemp, and why?", { exact: true }).waitFor();
    await model.release("answer");
    await card.getByText("agreed").waitFor();
    await pane.getByText("Nova closed this huddle: agreed").waitFor();
    await log.first().getByText("We take hemp.").waitFor();
    const rows = await server.messages(ada, room.id);
    assert.deepEqual(
      rows.map((m) => m.content),
      ["@[Nova] which cloth?", "I ask Zoe.", "We take **hemp**."],
    );
    assert.equal(rows[2].senderId, nova.id);
    await page.getByRole("link", { name: "Came of the huddle “Sail cloth”" }).click();
    await page.getByRole("link", { name: /^Huddle of Sail loft/ }).waitFor();
    assert.equal(await page.getByText("Said above.").count(), 0);
  } catch (e) {
    e.message += `\nthe bridges said:\n${tail()}`;
    throw e;
  } finally {
    await stop();
  }
});

walk("P8 a file goes from the composer to the agent, which reads it, and is gone for both when it is deleted", async (device) => {
  const { nova, room, stop, tail } = await crew("Chart room");
  const { page, log, said } = await device(server, { person: ada, path: `/rooms/${room.id}` });
  try {
    await log.waitFor();
    await page
      .locator("[data-composer] input[type=file]")
      .setInputFiles([{ name: "tides.txt", mimeType: "text/plain", buffer: Buffer.from("High water at Brest: five o'clock.") }]);
    const box = page.locator("[data-composer] textarea");
    await box.fill("Keep this for later");
    await box.press("Enter");
    await log.getByRole("button", { name: "Open tides.txt" }).waitFor();
    const [stored] = (await server.messages(ada, room.id)).filter((m) => m.fileAttachments.length > 0);
    const { id } = stored.fileAttachments[0];
    await model.on("when is high water", { tools: [{ name: "read_attachment", args: { attachment_id: id } }] }, { text: "At five." });
    await box.fill("@Nova when is high water?");
    await box.press("Enter");
    await said("At five.").waitFor();
    const calls = await server.call("GET", `/api/agents/${nova.id}/tool-calls`, { token: ada.token });
    assert.ok(
      calls.toolCalls.some((c) => c.tool === "read_attachment" && c.outcome === "done"),
      JSON.stringify(calls),
    );
    const opened = page.waitForEvent("popup");
    await log.getByRole("button", { name: "Open tides.txt" }).click();
    const tab = await opened;
    await tab.getByText("High water at Brest").waitFor();
    await tab.close();
    await log.getByRole("button", { name: "Delete tides.txt" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await log.getByText("deleted", { exact: true }).waitFor();
    await server.call("GET", `/api/files/${id}/download-url`, { token: ada.token, status: 404 });
  } catch (e) {
    e.message += `\nthe bridges said:\n${tail()}`;
    throw e;
  } finally {
    await stop();
  }
});
