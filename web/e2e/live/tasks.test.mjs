// Tasks through the whole product: asked for, watched, answered, failed, done again, handed on and cancelled, by agents on the real Anthropic SDK.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { walk } from "./fixtures/browser.mjs";
import { Model } from "./fixtures/model.mjs";
import { Server } from "./fixtures/server.mjs";

let server;
let model;
let ada;
let nova;
let vela;
before(async () => {
  [server, model] = await Promise.all([Server.start({ demo: false }), Model.start()]);
  ada = await server.person("Ada");
  nova = await server.agent(ada, "Nova", { backend: "anthropic" });
  vela = await server.agent(ada, "Vela", { backend: "anthropic" });
  const env = { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: "sk-made-up-key" };
  await Promise.all([nova, vela].map((a) => server.bridge(a.line, [], env).line(/agent is online/)));
});
after(() => Promise.all([server?.stop(), model?.stop()]));

const call = (name, args) => ({ name, args: { task_id: "current", ...args } });
const panelOf = (page) => page.getByRole("article");
const card = (page) => page.locator("[data-task-card]");

/** Asks for a task as a person does, and waits for its page. */
async function ask(page, title, who) {
  await page.goto(`${server.url}/tasks`);
  await page.getByRole("button", { name: "New task" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Title").fill(title);
  for (const name of who) await dialog.getByLabel(name, { exact: true }).check();
  await dialog.getByRole("button", { name: "Ask for it" }).click();
  await panelOf(page).getByRole("heading", { name: title, exact: true }).waitFor();
}

/** Says what the bridges and the server said when a walk fails. */
async function told(body) {
  try {
    await body();
  } catch (e) {
    e.message += `\n${server.bridges.map((b) => b.tail()).join("\n")}`;
    throw e;
  }
}

walk("T1 a task is watched, asks its question where it was asked for, and its result comes there", (device) =>
  told(async () => {
    // A run that asks may be stopped before or after its next step: the one that goes on is known by the answer.
    await model.on("Ada answered: By colour", { text: "All forty are sorted **by colour**." });
    await model.on(
      "Sort the shelf",
      { tools: [call("report_progress", { progress: { current_step: "Counting books" } })] },
      {
        text: "There are forty of them.",
        hold: "counted",
        tools: [call("ask_person", { question: "Sort by what?", options: ["By colour", "By size"] })],
      },
      { text: "I wait for the answer." },
    );
    const { page, said, axe } = await device(server, { person: ada, path: "/tasks" });
    await ask(page, "Sort the shelf", ["Nova"]);
    await panelOf(page).getByRole("region", { name: "Steps" }).getByText("Counting books").waitFor();
    assert.deepEqual(await axe(), []);
    await model.release("counted");
    await panelOf(page).getByRole("region", { name: "A question" }).getByText("Sort by what?").waitFor();

    await panelOf(page).getByRole("link", { name: "Where it was asked" }).click();
    await page.waitForURL("**/rooms/*");
    await card(page).getByText("Waiting for you").waitFor();
    await page.getByRole("region", { name: "Task: Sort the shelf" }).getByRole("button", { name: "By colour" }).click();
    await said("All forty are sorted").locator("strong").waitFor();
    await card(page).getByText("Done", { exact: true }).waitFor();
    assert.equal(await card(page).count(), 1, "one card for one task");
    await said("All forty are sorted").getByRole("link", { name: "Part of a task" }).click();
    await panelOf(page).getByText("All forty are sorted").waitFor();
    await panelOf(page).getByText("answered").waitFor();
  }),
);

walk("T1 a failure has words, and a second try with changes succeeds; done with nothing to show is told apart", (device) =>
  told(async () => {
    await model.on("Paint the door green", { text: "The door is green." });
    await model.on(
      "Paint the door",
      { tools: [call("fail_task", { error: "There is no paint.", summary: "I looked in the cellar." })] },
      { text: "" },
    );
    await model.on("Say nothing", { tools: [call("complete_task", {})] }, { text: "" });
    const { page } = await device(server, { person: ada, path: "/tasks" });
    await ask(page, "Paint the door", ["Nova"]);
    const panel = panelOf(page);
    await panel.getByText("The agent says that it cannot do this").first().waitFor();
    await panel.getByText("There is no paint.").waitFor();
    await panel.getByRole("button", { name: "Do it again" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Title").fill("Paint the door green");
    await dialog.getByLabel("What should be different").fill("Buy paint first.");
    await dialog.getByLabel("Who does it").selectOption({ label: "Vela" });
    await dialog.getByRole("button", { name: "Do it again" }).click();
    await panel.getByRole("heading", { name: "Paint the door green" }).waitFor();
    await panel.getByText("The door is green.").waitFor();
    await panel.getByText("by Vela").waitFor();
    await panel.getByRole("button", { name: "The try before this one" }).click();
    await panel.getByText("There is no paint.").waitFor();

    await ask(page, "Say nothing", ["Nova"]);
    await panel.getByText("Done, nothing to show").waitFor();
  }),
);

walk("T1 what runs is handed to another agent, and what another runs is cancelled", (device) =>
  told(async () => {
    await model.on("given to you after somebody else", { text: "Folded, all of them." });
    await model.on("Fold the sheets", { text: "I begin slowly.", hold: "fold" });
    await model.on("Never ends", { text: "Still at it.", hold: "never" });
    const { page } = await device(server, { person: ada, path: "/tasks" });
    await ask(page, "Fold the sheets", ["Nova"]);
    const panel = panelOf(page);
    await panel.getByText("working for").waitFor();
    await panel.getByRole("button", { name: "Give it to somebody else" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Who does it").selectOption({ label: "Vela" });
    await dialog.getByRole("button", { name: "Give it", exact: true }).click();
    await panel.getByText("Folded, all of them.").waitFor();
    await panel.getByText("by Vela").waitFor();

    await ask(page, "Never ends", ["Nova"]);
    await panel.getByText("working for").waitFor();
    await panel.getByRole("button", { name: "Cancel the task" }).click();
    await dialog.getByRole("button", { name: "Cancel the task" }).click();
    await panel.getByText("Cancelled", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Ended" }).click();
    await page.locator("[data-task]", { hasText: "Never ends" }).getByText("Cancelled").waitFor();
  }),
);

walk("T1 several agents each do their part; the page shows the parts and what they are waited for", (device) =>
  told(async () => {
    await model.on("Count the stars", { text: "I see nine." });
    const { page } = await device(server, { person: ada, path: "/tasks" });
    await ask(page, "Count the stars", ["Nova", "Vela"]);
    const panel = panelOf(page);
    await panel.getByText("2 of 2 have ended").waitFor();
    await panel.getByText("Done", { exact: true }).first().waitFor();
    await page.goto(`${server.url}/tasks?filter=all&who=${vela.id}`);
    await page.locator("[data-task]", { hasText: "Count the stars" }).first().waitFor();
    assert.equal(await page.locator("[data-task]", { hasText: "Sort the shelf" }).count(), 0, "the filter of the address is kept");
  }),
);
