// Files of messages in a real browser: choosing, dropping, pasting, sending with progress, and reading. `npm run build && npm run e2e`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { faultless } from "./fixtures/axe.mjs";
import { ids, mock } from "./fixtures/mock.mjs";
import { stage } from "./fixtures/stage.mjs";
import { ada, makeWorld, me, message, NOW } from "./fixtures/world.mjs";

// A teal sail on a pale sea, 8 by 6.
const picture = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAGCAIAAABxZ0isAAAAKElEQVR42mN4/fkbBPGWFcDZQMSALIEshy4Bl8MiAZHDLTFt31msCAAmZGfb47hW4QAAAABJRU5ErkJggg==",
  "base64",
);
const file = (name, mimeType, buffer = Buffer.from("hello")) => ({ name, mimeType, buffer });

const site = stage();

/** The server's side of files: what was uploaded, and uploads that wait until they are let go or fail as told. */
async function shelf(page) {
  const state = { begun: [], sent: new Map(), hold: false, refuse: null, deleted: [] };
  let free = () => undefined;
  state.letGo = () => {
    state.hold = false;
    free();
  };
  let n = 0;
  const json = (route, body, status = 200) => route.fulfill({ status, contentType: "application/json", body: JSON.stringify(body) });
  await page.route("**/api/conversations/*/upload-url", (route) => {
    const body = JSON.parse(route.request().postData());
    state.begun.push(body);
    if (state.refuse) return json(route, { error: state.refuse }, 409);
    const key = `f${++n}`;
    return json(route, { uploadUrl: `http://elsewhere.invalid/api/files/${key}/content?until=1&signature=x`, storageKey: key });
  });
  await page.route("**/api/files/**", async (route) => {
    const request = route.request();
    const url = new URL(request.url());
    const key = url.pathname.split("/")[3];
    if (request.method() === "PUT") {
      if (state.hold) await new Promise((done) => (free = done));
      state.sent.set(key, request.postDataBuffer()?.length ?? 0);
      return json(route, { storageKey: key });
    }
    if (request.method() === "DELETE") {
      state.deleted.push(key);
      return json(route, { ok: true });
    }
    if (url.pathname.endsWith("/download-url")) return json(route, { url: `http://elsewhere.invalid/api/files/${key}/content?until=1&signature=x` });
    return route.fulfill({ contentType: "image/png", body: picture });
  });
  return state;
}

async function visit(path, options = {}) {
  const { page, errors, close } = await site.open(options.context);
  const world = makeWorld();
  options.world?.(world);
  const server = await mock(page, world, options.server);
  const files = await shelf(page);
  await page.goto(site.url + path);
  await page.getByRole("log").waitFor();
  return { page, server, world, files, errors, close };
}

const composer = (page) => page.locator("[data-composer]");
const box = (page) => page.locator("[data-composer] textarea");
const pick = (page, list) => page.locator("[data-composer] input[type=file]").setInputFiles(list);
const pushes = (server) => server.pushed.filter((p) => p.event === "new_message").map((p) => p.payload);
const room = `/rooms/${ids.nova}`;

test("P8 files are chosen, left out again, sent with the text, and shown as pictures and chips", async () => {
  const { page, server, files, errors, close } = await visit(room);
  await page.getByRole("button", { name: "Attach files" }).waitFor();
  await pick(page, [file("sails.png", "image/png", picture), file("notes.pdf", "application/pdf"), file("oops.txt", "text/plain")]);
  await page.getByRole("button", { name: "Leave out oops.txt" }).click();
  await box(page).fill("Which cloth?");
  await faultless(page, "with chosen files");
  await page.screenshot({ path: "e2e/out/files-chosen.png" });
  await box(page).press("Enter");
  await page.getByRole("button", { name: "Enlarge sails.png" }).waitFor();
  await page.getByRole("button", { name: "Open notes.pdf" }).waitFor();
  assert.deepEqual(files.begun, [
    { filename: "sails.png", contentType: "image/png", sizeBytes: picture.length },
    { filename: "notes.pdf", contentType: "application/pdf", sizeBytes: 5 },
  ]);
  const [sent] = pushes(server);
  assert.equal(sent.content, "Which cloth?");
  assert.deepEqual(
    sent.attachments.map((a) => [a.storageKey, a.filename]),
    [
      ["f1", "sails.png"],
      ["f2", "notes.pdf"],
    ],
  );
  assert.equal(files.sent.get("f1"), picture.length);
  assert.equal(await composer(page).getByRole("list", { name: "Files to send" }).count(), 0);
  // The picture is drawn from the server's own address, as this page reaches it.
  await page.waitForFunction(() => [...document.images].some((i) => i.alt === "sails.png" && i.naturalWidth > 0));
  await page.getByRole("button", { name: "Enlarge sails.png" }).click();
  await page.getByRole("dialog", { name: "sails.png" }).waitFor();
  await page.keyboard.press("Escape");
  assert.deepEqual(errors, []);
  await page.screenshot({ path: "e2e/out/files-sent.png" });
  await close();
});

test("P8 a file alone is a message; one that cannot be sent says why; the keyboard does it all", async () => {
  const { page, server, close } = await visit(room);
  await pick(page, [file("empty.txt", "text/plain", Buffer.alloc(0)), file("map.txt", "text/plain")]);
  await page.getByRole("alert").getByText("empty.txt is empty, or a folder").waitFor();
  await page.getByRole("button", { name: "Send" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Open map.txt" }).waitFor();
  assert.equal(pushes(server)[0].content, "");
  await close();
});

test("P8 files are dropped on the room and pasted into the text", async () => {
  const { page, files, close } = await visit(room);
  const carry = (name, type) =>
    page.evaluateHandle(
      ([n, t]) => {
        const data = new DataTransfer();
        data.items.add(new File(["dropped"], n, { type: t }));
        return data;
      },
      [name, type],
    );
  const data = await carry("chart.csv", "text/csv");
  const log = page.getByRole("log");
  await log.dispatchEvent("dragenter", { dataTransfer: data });
  await page.getByText("Drop files to attach them").waitFor();
  await log.dispatchEvent("drop", { dataTransfer: data });
  await page.getByRole("button", { name: "Leave out chart.csv" }).waitFor();
  assert.equal(await page.getByText("Drop files to attach them").count(), 0);
  const pasted = await carry("image.png", "image/png");
  await box(page).evaluate(
    (el, clipboardData) => el.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true })),
    pasted,
  );
  await page.getByRole("button", { name: /^Leave out \d{4}-\d\d-\d\d .*\.png$/ }).waitFor();
  // Another room and back: what was chosen stays.
  await page
    .getByRole("link", { name: /Empty room/ })
    .first()
    .click();
  await page.getByRole("heading", { name: "Empty room", exact: true }).waitFor();
  assert.equal(await page.getByRole("button", { name: /^Leave out/ }).count(), 0);
  await page.goBack();
  await page.getByRole("button", { name: "Leave out chart.csv" }).waitFor();
  assert.equal(files.begun.length, 0);
  await close();
});

test("P8 an upload shows how far it is, can be stopped, and a refused one is sent again", async () => {
  const { page, server, files, close } = await visit(room);
  files.hold = true;
  await pick(page, [file("slow.zip", "application/zip")]);
  await box(page).fill("never mind");
  await box(page).press("Enter");
  await page.getByRole("progressbar", { name: "Sending slow.zip" }).waitFor();
  await page.screenshot({ path: "e2e/out/files-sending.png" });
  await page.getByRole("log").getByRole("button", { name: "Cancel" }).click();
  await page.getByText("never mind").waitFor({ state: "detached" });
  files.letGo();
  assert.equal(pushes(server).length, 0);

  files.refuse = { code: "storage_full", message: "This workspace keeps 10 of its 10 MiB." };
  await pick(page, [file("again.txt", "text/plain")]);
  await box(page).fill("take two");
  await box(page).press("Enter");
  await page.getByText("Not sent: This workspace keeps 10 of its 10 MiB.").waitFor();
  await page.screenshot({ path: "e2e/out/files-refused.png" });
  files.refuse = null;
  await page.getByRole("button", { name: "Send again" }).click();
  await page.getByRole("button", { name: "Open again.txt" }).waitFor();
  assert.equal(pushes(server).length, 1);
  await close();
});

test("P8 what is written without a connection is sent after a reload, with its file", async () => {
  const { page, server, files, close } = await visit(room, { server: { silent: false } });
  server.state.refuse = true;
  server.drop();
  await page.getByText("The connection is lost").first().waitFor();
  await pick(page, [file("kept.txt", "text/plain", Buffer.from("kept bytes"))]);
  await box(page).fill("from the sea");
  await box(page).press("Enter");
  await page.getByText("from the sea").waitFor();
  // The bytes are on the device before the page goes.
  await page.waitForFunction(async () => {
    const all = await indexedDB.databases();
    const name = all.map((d) => d.name).find((d) => d.startsWith("agntchat.files."));
    if (!name) return false;
    return new Promise((done) => {
      const open = indexedDB.open(name);
      open.onsuccess = () => {
        const count = open.result.transaction("files").objectStore("files").count();
        count.onsuccess = () => {
          open.result.close();
          done(count.result === 1);
        };
      };
    });
  });
  assert.equal(files.begun.length, 0);
  server.state.refuse = false;
  await page.reload();
  await page.getByRole("button", { name: "Open kept.txt" }).waitFor();
  assert.equal(files.sent.get("f1"), 10);
  assert.equal(pushes(server).length, 1);
  await close();
});

test("P8 a file is deleted by who shared it, and a deleted one says so to everybody", async () => {
  let mine;
  let theirs;
  const { page, server, files, close } = await visit(room, {
    world: (w) => {
      const r = w.rooms.find((x) => x.conversation.id === ids.nova);
      const attachment = (id, filename) => ({ id, filename, contentType: "text/plain", sizeBytes: 2048 });
      mine = message(ids.nova, me, NOW - 60_000, "mine", { fileAttachments: [attachment("m1", "mine.txt")] });
      theirs = message(ids.nova, ada, NOW - 50_000, "theirs", { fileAttachments: [attachment("t1", "theirs.txt")] });
      r.messages.push(mine, theirs);
    },
  });
  await page.getByRole("button", { name: "Open theirs.txt" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Delete theirs.txt" }).count(), 0);
  await page.getByRole("button", { name: "Delete mine.txt" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Delete this file" }).getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.deepEqual(files.deleted, ["m1"]);
  const r = server.room;
  const gone = (m) => ({ ...m, fileAttachments: m.fileAttachments.map((f) => ({ ...f, deleted: true })) });
  r(ids.nova, "message_updated", gone(mine));
  r(ids.nova, "message_updated", gone(theirs));
  await page.getByText("deleted", { exact: true }).nth(1).waitFor();
  assert.equal(await page.getByRole("button", { name: /^Open (mine|theirs)/ }).count(), 0);
  assert.ok(await page.getByText("theirs", { exact: true }).isVisible());
  await close();
});

test("P8 the files of a room are listed beside it, page by page, and forwarded once", async () => {
  const { page, close } = await visit(room, {
    world: (w) => {
      const r = w.rooms.find((x) => x.conversation.id === ids.nova);
      for (let i = 0; i < 25; i++) {
        const fileAttachments = [{ id: `l${i}`, filename: `list-${i}.txt`, contentType: "text/plain", sizeBytes: 10 }];
        r.messages.push(message(ids.nova, i % 2 ? me : ada, NOW - (60 - i) * 1000, `file ${i}`, { fileAttachments }));
      }
    },
  });
  const forwards = [];
  await page.route("**/api/files/*/forward", async (route) => {
    const request = route.request();
    forwards.push([request.url().split("/").at(-2), JSON.parse(request.postData()).conversationId, request.headers()["idempotency-key"]]);
    return forwards.length === 1
      ? route.fulfill({
          status: 403,
          contentType: "application/json",
          body: JSON.stringify({ error: { code: "observer", message: "You may read this room, not write in it." } }),
        })
      : route.fulfill({ status: 201, contentType: "application/json", body: "{}" });
  });
  await page
    .getByRole("button", { name: /details/i })
    .last()
    .click();
  const list = page.getByRole("complementary").getByRole("region", { name: "Files" });
  await list.getByRole("button", { name: "Open list-24.txt" }).waitFor();
  assert.equal(await list.getByRole("button", { name: "Open list-0.txt" }).count(), 0);
  await list.getByRole("button", { name: "Older files" }).click();
  await list.getByRole("button", { name: "Open list-0.txt" }).waitFor();
  await list.getByRole("button", { name: "More: list-24.txt" }).click();
  await page.getByRole("menuitem", { name: "Forward to another room" }).click();
  const dialog = page.getByRole("dialog", { name: "Forward list-24.txt" });
  await dialog.getByLabel("Find a room").fill("empty");
  await dialog.getByRole("button", { name: "Empty room" }).click();
  await dialog.getByText("You may read this room, not write in it.").waitFor();
  await page.screenshot({ path: "e2e/out/files-forward.png" });
  await dialog.getByRole("button", { name: "Empty room" }).click();
  await page.getByText("Forwarded to Empty room", { exact: true }).waitFor();
  assert.deepEqual(
    forwards.map((f) => f.slice(0, 2)),
    [
      ["l24", ids.empty],
      ["l24", ids.empty],
    ],
  );
  assert.ok(forwards[0][2] && forwards[0][2] === forwards[1][2], "one key for both");
  await faultless(page, "details with files");
  await page.screenshot({ path: "e2e/out/files-details.png" });
  await close();
});

for (const theme of ["light", "dark"]) {
  for (const [width, lang] of [
    [360, "zh-CN"],
    [1440, "en-GB"],
  ]) {
    test(`P8 files look right, ${theme}, ${width} px, ${lang}`, async () => {
      const { page, close } = await visit(room, {
        context: { viewport: { width, height: 800 }, colorScheme: theme, locale: lang },
        world: (w) => {
          const r = w.rooms.find((x) => x.conversation.id === ids.nova);
          const attachment = (id, filename, contentType, extra = {}) => ({ id, filename, contentType, sizeBytes: 2_345_678, ...extra });
          r.messages.push(
            message(ids.nova, me, NOW - 60_000, "Everything for the refit", {
              fileAttachments: [
                attachment("p1", "sails.png", "image/png"),
                attachment(
                  "p2",
                  "A very long name of a contract that nobody would ever choose but somebody did, second revision.pdf",
                  "application/pdf",
                ),
                attachment("p3", "旧版本.xlsx", "application/vnd.ms-excel", { deleted: true }),
              ],
            }),
          );
        },
      });
      await page.waitForFunction(() => [...document.images].some((i) => i.alt === "sails.png" && i.naturalWidth > 0));
      await pick(page, [file("sails.png", "image/png", picture), file("a rather long file name for a phone.txt", "text/plain")]);
      await faultless(page, `${theme} ${width}`);
      await page.screenshot({ path: `e2e/out/files-${theme}-${width}.png` });
      await close();
    });
  }
}
