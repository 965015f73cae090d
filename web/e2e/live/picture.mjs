// Makes the picture of the README, docs/room.png, from the real server: `make build && node web/e2e/live/picture.mjs`.
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { walk } from "./fixtures/browser.mjs";
import { Server } from "./fixtures/server.mjs";

const target = fileURLToPath(new URL("../../../docs/room.png", import.meta.url));
const server = await Server.start({ demo: false });
after(() => server.stop());

const post = (who, room, content) => server.call("POST", `/api/conversations/${room.id}/messages`, { token: who.token, body: { content } });

walk("docs/room.png", async (device) => {
  const [mara, jon, ines] = [await server.person("Mara"), await server.person("Jon"), await server.person("Ines")];
  const demo = await server.agent(mara, "Demo");
  const scout = await server.agent(mara, "Scout");
  await server.bridge(demo.line, ["--backend", "scripted"]).line(/agent is online/);

  const alone = await server.room(mara, [demo.id]);
  await post(mara, alone, "table");
  const withInes = await server.room(ines, [mara.participant.id]);
  await post(mara, withInes, "Are the release notes done?");
  await post(ines, withInes, "Almost. I read them once more after lunch.");
  const docs = await server.room(ines, [mara.participant.id, jon.participant.id], "Docs");
  await post(ines, docs, "The page about bridges is ready to read. @Mara, would you look?");
  await server.room(mara, [scout.id]);

  // The agent joins after the people have talked: without a mention the first agent of a room is meant.
  const room = await server.room(mara, [jon.participant.id], "Work queue");
  await post(jon, room, "From tonight two bridges run for each agent. What keeps them from taking the same message?");
  await post(mara, room, "A row lock. Whoever claims a row skips what the other one holds. Here comes the sketch.");
  await server.call("POST", `/api/conversations/${room.id}/members`, { token: mara.token, body: { participantId: demo.id } });

  const wide = { viewport: { width: 1440, height: 900 }, colorScheme: "light" };
  const hers = await device(server, { person: mara, path: `/rooms/${room.id}`, ...wide });
  const his = await device(server, { person: jon, path: `/rooms/${room.id}` });
  const third = await device(server, { person: ines, path: `/rooms/${docs.id}` });
  await third.log.waitFor();
  await his.box.waitFor();
  await hers.box.waitFor();
  await hers.send("@Demo the code, please");
  await hers.log.locator('article[aria-busy="true"]').waitFor();
  await hers.said("Inline code looks like").waitFor();
  await hers.settled();
  await hers.log.locator(".hljs-keyword").first().waitFor();
  await hers.page.evaluate(() => document.fonts.ready);
  await his.box.pressSequentially("That is the whole trick", { delay: 60 });
  await hers.page.getByRole("region", { name: "What is going on" }).getByText("Jon is typing").first().waitFor();
  await hers.page.screenshot({ path: target });
});
