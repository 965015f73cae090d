// What is written without a connection arrives, in order, once; a killed server takes nothing with it.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { walk } from "./fixtures/browser.mjs";
import { Server } from "./fixtures/server.mjs";

let server;
let mara;
let scout;
before(async () => {
  server = await Server.start({ demo: false });
  mara = await server.person("Mara");
  scout = await server.agent(mara, "Scout");
  await server.bridge(scout.line, ["--backend", "scripted"]).line(/agent is online/);
});
after(() => server?.stop());

const written = async (room) => (await server.messages(mara, room.id)).filter((m) => m.senderId === mara.participant.id).map((m) => m.content);

walk("offline: written messages wait, and are sent on return in order, once", async (device) => {
  const jon = await server.person("Jon");
  const room = await server.room(mara, [jon.participant.id]);
  const { page, context, box, said, send } = await device(server, { person: mara, path: `/rooms/${room.id}` });
  await box.waitFor();
  await send("before");
  await said("before").waitFor();
  await context.setOffline(true);
  await page.getByText("You are offline").first().waitFor();
  const texts = ["one away", "two away", "three away"];
  for (const text of texts) {
    await send(text);
    await said(text).getByText("Will be sent when you are online").waitFor();
  }
  assert.deepEqual(await written(room), ["before"]);
  await context.setOffline(false);
  await page.getByText("Will be sent when you are online").first().waitFor({ state: "detached" });
  await page.getByText("You are offline").first().waitFor({ state: "detached" });
  assert.deepEqual(await written(room), ["before", ...texts]);
  for (const text of texts) assert.equal(await said(text).count(), 1);
});

walk("kill -9 of the server with the page open: it heals, nothing is lost, nothing comes twice", async (device) => {
  const room = await server.room(mara, [scout.id]);
  const { page, log, box, said, send, settled } = await device(server, { person: mara, path: `/rooms/${room.id}` });
  await box.waitFor();
  await send("slow one, please");
  await log.locator('article[aria-busy="true"]').waitFor();
  await server.kill();
  await page.getByText("The connection is lost").waitFor();
  const texts = ["first while away", "second while away"];
  for (const text of texts) {
    await send(text);
    await said(text).waitFor();
  }
  await page.getByText("2 messages wait to be sent").waitFor();
  await server.run();
  await page.getByText("The connection is lost").waitFor({ state: "detached" });
  await page.getByText("Will be sent when you are online").first().waitFor({ state: "detached" });
  await said("Then the script has won").waitFor();
  await said("You wrote:").last().waitFor();
  await settled();
  await page.getByText("Waiting for Scout").first().waitFor({ state: "detached" });
  assert.deepEqual(await written(room), ["slow one, please", ...texts]);
  const answers = (await server.messages(mara, room.id)).filter((m) => m.senderId === scout.id).map((m) => m.content);
  assert.equal(answers.filter((a) => a.includes("the script has won")).length, 1);
  assert.ok(answers.length <= 3, "no message has two answers");
  for (const text of texts) assert.equal(await said(text).filter({ hasNotText: "You wrote" }).count(), 1);
});
