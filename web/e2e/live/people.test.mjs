// Two people and an agent in one group, each person in a browser of their own.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { walk } from "./fixtures/browser.mjs";
import { Server } from "./fixtures/server.mjs";

let server;
let scout;
let mara;
before(async () => {
  server = await Server.start({ demo: false });
  mara = await server.person("Mara");
  scout = await server.agent(mara, "Scout");
  await server.bridge(scout.line, ["--backend", "scripted"]).line(/agent is online/);
});
after(() => server?.stop());

walk("signing up ends in the guide", async (device) => {
  const { page } = await device(server, { path: "/" });
  await page.waitForURL("**/login**");
  await page.getByRole("link", { name: "Create account" }).click();
  await page.locator("[name=firstName]").fill("Ines");
  await page.locator("[name=email]").fill(`ines.${Date.now()}@example.org`);
  await page.locator("[name=password]").fill("Kuchen42a!x");
  await page.locator("[name=birthDate]").fill("1990-02-03");
  await page.getByRole("checkbox").click();
  await page.locator("button[type=submit]").click();
  await page.getByRole("heading", { name: "Welcome, Ines" }).waitFor();
  await page.getByRole("heading", { name: "A machine of your choice" }).waitFor();
});

walk("a group: a mention wakes the agent; typing, unread marks and a deletion reach the other side", async (device) => {
  const jon = await server.person("Jon");
  // Without a mention the first agent is meant: it is away, so that Scout speaks only when named.
  await server.agent(mara, "Aide");

  // Nobody is listed to strangers: a person is found by the whole address.
  const hers = await device(server, { person: mara, path: "/settings" });
  await hers.page.getByRole("heading", { name: "Settings" }).waitFor();
  await hers.page.keyboard.press("Control+Shift+O");
  const dialog = hers.page.getByRole("dialog", { name: "New room" });
  const who = dialog.getByRole("combobox");
  for (const [typed, name] of [
    [jon.email, "Jon"],
    ["Aide", "Aide"],
    ["Scout", "Scout"],
  ]) {
    await who.fill(typed);
    await dialog.getByRole("option", { name: new RegExp(`^${name}`) }).click();
    await dialog.getByRole("button", { name: `Remove ${name}` }).waitFor();
  }
  await dialog.getByLabel("Name of the room").fill("Launch");
  await dialog.getByRole("button", { name: "Start" }).click();
  await hers.page.waitForURL("**/rooms/*");
  const group = { id: hers.page.url().split("/").at(-1) };
  const side = await server.room(jon, [mara.participant.id]);
  const his = await device(server, { person: jon, path: `/rooms/${group.id}` });
  await his.box.waitFor();
  await hers.log.waitFor();

  await his.box.pressSequentially("I am", { delay: 20 });
  await hers.page.getByRole("region", { name: "What is going on" }).getByText("Jon is typing").first().waitFor();
  await his.send("just between people");
  await hers.said("just between people").waitFor();

  // Chosen from the list with the keyboard, answered to both.
  await hers.box.pressSequentially("@Sco");
  await hers.page.getByRole("listbox", { name: "Who to mention" }).getByRole("option", { name: /Scout/ }).waitFor();
  await hers.page.keyboard.press("Enter");
  await hers.page.keyboard.type("table");
  await hers.page.keyboard.press("Enter");
  for (const one of [hers, his]) await one.said("A table, from the script").getByRole("table").waitFor();
  await hers.settled();
  const answers = (await server.messages(mara, group.id)).filter((m) => m.senderId === scout.id);
  assert.equal(answers.length, 1, "only the mention was answered, once");

  // Somewhere else, his list counts, and marks that he was named.
  await his.settled();
  await his.page.getByRole("link", { name: /^Mara/ }).click();
  await his.page.waitForURL(`**/rooms/${side.id}`);
  await hers.send("@Jon look here");
  const row = his.page.getByRole("link", { name: /Launch/ });
  await row.getByText("1 unread message").waitFor();
  await row.getByText("you are mentioned").waitFor();
  await hers.send("and here");
  await row.getByText("2 unread messages").waitFor();
  await row.click();
  await his.said("and here").waitFor();

  const gone = hers.said("and here");
  await gone.hover();
  await gone.getByRole("button", { name: "Message actions" }).click();
  await hers.page.getByRole("menuitem", { name: "Delete" }).click();
  await hers.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  for (const one of [hers, his]) await one.said("and here").waitFor({ state: "detached" });
});

walk("what is read on one device is read on the other", async (device) => {
  const [kim, lou] = [await server.person("Kim"), await server.person("Lou")];
  const room = await server.room(kim, [lou.participant.id]);
  const desk = await device(server, { person: lou, path: "/settings" });
  const sofa = await device(server, { person: lou, path: "/settings" });
  const unread = (d) => d.page.getByRole("link", { name: /Kim/ }).getByText("1 unread message");
  await desk.page.getByRole("link", { name: /Kim/ }).waitFor();
  await sofa.page.getByRole("link", { name: /Kim/ }).waitFor();
  await server.call("POST", `/api/conversations/${room.id}/messages`, { token: kim.token, body: { content: "are you there" } });
  await unread(desk).waitFor();
  await unread(sofa).waitFor();
  await desk.page.getByRole("link", { name: /Kim/ }).click();
  await desk.said("are you there").waitFor();
  await unread(sofa).waitFor({ state: "detached" });
});
