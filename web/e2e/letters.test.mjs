// The letter address of an agent, in a real browser against a stand-in for the server: `npm run build && npm run e2e`.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import { mockAccount } from "./fixtures/account.mjs";
import { faultless } from "./fixtures/axe.mjs";
import { mock } from "./fixtures/mock.mjs";
import { stage } from "./fixtures/stage.mjs";
import { iso, makeWorld, nova } from "./fixtures/world.mjs";

const pictures = process.env.LETTERS_PICTURES;
if (pictures) mkdirSync(pictures, { recursive: true });
const site = stage();

const one = "3f6812a28f1794cbd7c63a5a7aae8e2e";
const two = "279fd3b1cc5efc964d9c9a8b706e7c7a";
const day = 86_400_000;
const address = (fingerprint, age) => ({
  fingerprint,
  identityKey: "nF7Nifyw",
  signingKey: "3G4QzkgR",
  relayUrl: "https://letters.example.com/relay",
  since: iso(Date.now() - age),
});
const former = (fingerprint, from, until) => ({ fingerprint, since: iso(Date.now() - from), until: iso(Date.now() - until) });

async function visit(answer, { owner, ...device } = {}) {
  const { page, errors, close } = await site.open({ viewport: { width: 1280, height: 900 }, ...device });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: site.url });
  await mock(page, makeWorld());
  const { agents } = await mockAccount(page, {});
  if (owner)
    await page.route(`**/api/agents/${nova.id}`, (route) =>
      route.fulfill({
        status: 200,
        contentType: "application/json",
        body: JSON.stringify({ ...agents.find((a) => a.id === nova.id), ownerId: owner }),
      }),
    );
  let answered;
  const asked = new Promise((done) => {
    answered = done;
  });
  await page.route("**/api/agents/*/letter-address", async (route) => {
    await (answer
      ? route.fulfill({ status: 200, contentType: "application/json", body: JSON.stringify(answer) })
      : route.fulfill({
          status: 404,
          contentType: "application/json",
          body: JSON.stringify({ error: { code: "not_found", message: "Not found." } }),
        }));
    answered();
  });
  await page.goto(`${site.url}/agents/${nova.id}`);
  await page.getByRole("heading", { name: /Recent turns|最近的轮次/ }).waitFor();
  await asked;
  return { page, errors, close };
}

async function picture(page, name) {
  if (!pictures) return;
  await page.getByRole("region", { name: /Letter address|信件地址/ }).scrollIntoViewIfNeeded();
  await page.screenshot({ path: `${pictures}/${name}.png` });
}

test("L2 the address is copied, and the page says how to verify it", async () => {
  const { page, errors, close } = await visit({ letterAddress: address(one, 2 * day), former: [] });
  const section = page.getByRole("region", { name: "Letter address" });
  await section.getByText("3f68 12a2 8f17 94cb d7c6 3a5a 7aae 8e2e").waitFor();
  await section.getByRole("button", { name: "Copy" }).first().click();
  await section.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), one);
  await section.getByText("Write to Nova, and be sure that it is Nova").click();
  await section.getByText(`agnt letter add ${one} --peer nova --verify --relay https://letters.example.com/relay`).waitFor();
  await section.getByText(/Compare the address with the owner of Nova/).waitFor();
  assert.equal(await section.getByText(/The address changed/).count(), 0);
  await faultless(page);
  await picture(page, "address-light");
  assert.deepEqual(errors, []);
  await close();
});

test("L2 a changed address is not replaced silently", async () => {
  const { page, errors, close } = await visit(
    { letterAddress: address(two, day / 2), former: [former(one, 30 * day, day / 2)] },
    { colorScheme: "dark" },
  );
  const section = page.getByRole("region", { name: "Letter address" });
  await section.getByText(/The address changed on/).waitFor();
  await section.getByText("Before: 3f68 12a2 8f17 94cb d7c6 3a5a 7aae 8e2e").waitFor();
  await section.getByText("279f d3b1 cc5e fc96 4d9c 9a8b 706e 7c7a").waitFor();
  await section.getByText("Earlier addresses: 1").click();
  await section.getByText(/ to /).last().waitFor();
  await faultless(page);
  await picture(page, "changed-dark");
  assert.deepEqual(errors, []);
  await close();
});

test("L2 an address that was taken away is said, and the same one again is no change", async () => {
  const gone = await visit({ letterAddress: null, former: [former(one, 30 * day, day)] });
  await gone.page.getByText(/No letter address since/).waitFor();
  await faultless(gone.page);
  await picture(gone.page, "gone-light");
  await gone.close();
  const back = await visit({ letterAddress: address(one, day), former: [former(one, 30 * day, 2 * day)] });
  await back.page.getByText("Earlier addresses: 1").waitFor();
  assert.equal(await back.page.getByText(/The address changed/).count(), 0);
  assert.deepEqual([...gone.errors, ...back.errors], []);
  await back.close();
});

test("L2 without an address its owner sees how to get one, others and older servers see nothing", async () => {
  const none = { letterAddress: null, former: [] };
  const mine = await visit(none);
  await mine.page.getByText(new RegExp(`agnt bridge --url .* --agent-id ${nova.id} --letters`)).waitFor();
  await faultless(mine.page);
  await mine.close();
  for (const [answer, context] of [
    [none, { owner: "00000000-0000-7000-8000-00000000beef" }],
    [undefined, {}],
  ]) {
    const other = await visit(answer, context);
    await other.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    assert.equal(await other.page.getByRole("region", { name: "Letter address" }).count(), 0);
    assert.deepEqual(other.errors, []);
    await other.close();
  }
});

for (const [width, scheme] of [
  [360, "light"],
  [768, "dark"],
  [1600, "light"],
])
  test(`L2 the address at ${width} px in Chinese`, async () => {
    const { page, errors, close } = await visit(
      { letterAddress: address(two, day / 2), former: [former(one, 30 * day, day / 2)] },
      { viewport: { width, height: 900 }, locale: "zh-CN", colorScheme: scheme },
    );
    const section = page.getByRole("region", { name: "信件地址" });
    await section.getByText(/地址已于/).waitFor();
    await section.getByText(/给 Nova 写信/).click();
    await section
      .getByText(/核对地址/)
      .first()
      .waitFor();
    await faultless(page);
    await picture(page, `zh-${width}`);
    assert.deepEqual(errors, []);
    await close();
  });

test("M2 somebody else's agent has a page without what only its owner may see and do", async () => {
  const { page, errors, close } = await visit({ letterAddress: null, former: [] }, { owner: "00000000-0000-7000-8000-00000000beef" });
  await page.getByText("Somebody else's agent. You reach it in the rooms that you share with it.").waitFor();
  await page.getByRole("region", { name: "Recent turns" }).waitFor();
  assert.equal(await page.getByRole("tab").count(), 0);
  for (const name of ["Write to it", "Stop its bridge", "Wake"]) assert.equal(await page.getByRole("button", { name }).count(), 0, name);
  assert.equal(await page.getByRole("alert").count(), 0);
  await faultless(page);
  assert.deepEqual(errors, []);
  await close();
});
