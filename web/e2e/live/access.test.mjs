// axe over the product as it is served: light and dark, in both languages.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { walk } from "./fixtures/browser.mjs";
import { Server } from "./fixtures/server.mjs";

let server;
before(async () => {
  server = await Server.start({ demo: false });
});
after(() => server?.stop());

for (const locale of ["en", "zh-CN"])
  for (const colorScheme of ["light", "dark"])
    walk(`axe finds nothing serious: ${colorScheme}, ${locale}`, async (device) => {
      const person = await server.person("Mara");
      await server.call("PUT", "/api/me/locale", { token: person.token, body: { locale } });
      person.participant.locale = locale;
      const agent = await server.agent(person, "Scout");
      const room = await server.room(person, [agent.id]);
      const content =
        "Look at **this** and `that`:\n\n```go\nfunc main() { println(1) }\n```\n\n| a | b |\n|---|---|\n| [c](https://example.org) | d |";
      await server.call("POST", `/api/conversations/${room.id}/messages`, { token: person.token, body: { content } });
      const found = {};
      const look = async ({ page, axe }, name) => {
        await page.evaluate(() => document.fonts.ready);
        const bad = await axe();
        if (bad.length) found[name] = bad;
      };
      const out = await device(server, { path: "/login", colorScheme, locale: locale === "en" ? "en-GB" : locale });
      await out.page.locator("[name=password]").waitFor();
      await look(out, "login");
      const inside = await device(server, { person, path: `/rooms/${room.id}`, colorScheme });
      await inside.log.locator("table").waitFor();
      assert.equal(await inside.page.evaluate(() => document.documentElement.lang), locale);
      await look(inside, "room");
      await inside.page.goto(`${server.url}/agents/${agent.id}`);
      await inside.page.getByText(`--agent-id ${agent.id}`).first().waitFor();
      await look(inside, "agent");
      const task = { title: "Read it all", assignedTo: [agent.id] };
      const { id } = await server.call("POST", `/api/conversations/${room.id}/tasks`, { token: person.token, body: task });
      await inside.page.goto(`${server.url}/`);
      await inside.page.locator("main").getByText("Read it all").first().waitFor();
      await look(inside, "home");
      await inside.page.goto(`${server.url}/tasks?task=${id}`);
      await inside.page.locator("article h2").waitFor();
      await look(inside, "task");
      await inside.page.goto(`${server.url}/rooms/${room.id}`);
      await inside.log.locator("[data-task-card]").waitFor();
      await look(inside, "card");
      await inside.page.goto(`${server.url}/settings`);
      await inside.page.getByRole("tab").first().waitFor();
      await look(inside, "settings");
      assert.deepEqual(found, {});
    });
