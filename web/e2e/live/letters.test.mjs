// Issue 4.5: an agent's letter address on its page, kept by a real bridge; the copied command is run by a real `agnt letter`.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { promisify } from "node:util";
import { walk } from "./fixtures/browser.mjs";
import { bin, Server } from "./fixtures/server.mjs";

let server;
let ada;
before(async () => {
  server = await Server.start({ demo: false });
  ada = await server.person("Ada");
});
after(() => server?.stop());

/** A line as it stands on the page, in somebody's shell. */
function shell(line) {
  const home = join(server.dir, "ada");
  mkdirSync(home, { recursive: true });
  const env = { HOME: home, PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`, RETALK_USER: "ada" };
  return promisify(execFile)("/bin/sh", ["-c", line], { env, cwd: home });
}

walk("L2 an address appears while the page is open, is verified by the copied command, and a change of it is told", async (device) => {
  const agent = await server.agent(ada, "Juno");
  const { page } = await device(server, { person: ada, path: `/agents/${agent.id}` });
  const section = page.getByRole("region", { name: "Letter address" });
  await section.getByText(`agnt bridge --url ${server.url} --agent-id ${agent.id} --letters`).waitFor();
  const first = server.bridge(agent.line, ["--backend", "scripted", "--letters"]);
  const shown = section.getByText(/^[0-9a-f]{4}( [0-9a-f]{4}){7}$/).first();
  await shown.waitFor();
  const address = await shown.textContent();

  await section.getByText("Write to Juno, and be sure that it is Juno").click();
  const add = section.getByText(/^agnt letter add /);
  await shell(`agnt letter init -np --relay ${server.url}/relay`);
  await shell(await add.textContent());
  const { stdout } = await shell("agnt letter contacts");
  assert.equal(stdout, `juno\t${address.replaceAll(" ", "")}\tverified\n`);
  await shell(await section.getByText(/^agnt letter send /).textContent());

  // Another machine, another identity: nobody is to miss that.
  await first.stop();
  server.bridge(agent.line, ["--backend", "scripted", "--letters"]);
  await section.getByText(/^The address changed on /).waitFor();
  await section.getByText(`Before: ${address}`).waitFor();
  assert.notEqual(await shown.textContent(), address);
});
