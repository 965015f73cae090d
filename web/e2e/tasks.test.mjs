// Tasks in a real browser against a stand-in for the server: `npm run build && npm run e2e`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { faultless } from "./fixtures/axe.mjs";
import { ids, mock } from "./fixtures/mock.mjs";
import { stage } from "./fixtures/stage.mjs";
import { iso, makeWorld, me, nova, uuid } from "./fixtures/world.mjs";

const site = stage();

const agent = { id: nova.id, type: "agent", displayName: "Nova", avatarUrl: null };
const person = { id: me.id, type: "human", displayName: me.displayName, avatarUrl: null };

function task(n, title, status, extra = {}) {
  return {
    id: uuid(8000 + n),
    conversationId: ids.launch,
    workConversationId: uuid(8500 + n),
    title,
    description: `Everything about ${title}`,
    status,
    createdBy: me.id,
    requesterId: me.id,
    assignedTo: [nova.id],
    assignees: [agent],
    creator: person,
    requester: person,
    parentTaskId: null,
    fanOut: false,
    response: null,
    summary: null,
    endKind: null,
    failure: null,
    working: false,
    workingSince: null,
    retryAt: null,
    insertedAt: iso(Date.now() - 3_600_000),
    updatedAt: iso(Date.now() - n * 1000),
    ...extra,
  };
}

const working = task(1, "Read the quarterly reports", "in_progress", { working: true, workingSince: iso(Date.now() - 90_000) });
const asking = task(2, `Colours ${"x".repeat(120)}`, "blocked");
const failed = task(3, "Count", "failed", {
  endKind: "failed",
  failure: { code: "rate_limited", origin: "tool", transient: true, message: "The model refused: too many requests." },
});
const all = () => [working, asking, failed, task(4, "Nothing there", "complete", { endKind: "empty" }), task(5, "Next", "pending")];

function detail(of) {
  return {
    ...of,
    steps: [
      { id: "a", title: "Read", status: "completed" },
      { id: "b", title: "Write", status: "in_progress" },
    ],
    asks:
      of.status === "blocked"
        ? [
            {
              id: uuid(8800),
              taskId: of.id,
              asked: [me.id],
              question: "Which colour?",
              options: ["red", "blue"],
              default: "red",
              status: "open",
              answer: null,
              insertedAt: of.insertedAt,
            },
          ]
        : [],
    subtasks: [task(9, "A part", "complete", { parentTaskId: of.id })],
    history: [{ id: uuid(8900), kind: "created", note: "", insertedAt: of.insertedAt }],
  };
}

/** A page whose tasks are these; what it asks for is recorded. */
async function visit(path, tasks = all(), { world = makeWorld(), ...options } = {}) {
  const { page, errors, close } = await site.open(options);
  const server = await mock(page, world);
  const asked = [];
  const answer = (route, body) => route.fulfill({ status: 200, contentType: "application/json", body: JSON.stringify(body) });
  await page.route(/\/api\/(tasks|conversations\/[^/]+\/tasks|conversations$)/, (route) => {
    const request = route.request();
    const url = new URL(request.url());
    if (request.method() === "GET" && url.pathname === "/api/tasks") {
      const states = url.searchParams.get("status")?.split(",");
      return answer(route, { tasks: tasks.filter((x) => !states || states.includes(x.status)), hasMore: false });
    }
    if (request.method() === "GET" && url.pathname.startsWith("/api/tasks/")) {
      const found = tasks.find((x) => url.pathname === `/api/tasks/${x.id}`);
      return found ? answer(route, detail(found)) : route.fulfill({ status: 404, contentType: "application/json", body: "{}" });
    }
    if (request.method() === "GET") return route.fallback();
    asked.push({ path: url.pathname, ...request.postDataJSON() });
    if (url.pathname === "/api/conversations") return answer(route, { id: ids.launch, type: "direct", members: [] });
    if (url.pathname.startsWith("/api/conversations/")) {
      tasks.unshift(task(0, request.postDataJSON().title, "pending"));
      return answer(route, tasks[0]);
    }
    return answer(route, tasks[0]);
  });
  await page.goto(site.url + path);
  return { page, server, errors, asked, close };
}

const card = (page, name) => page.locator("[data-task]", { hasText: name });

test("T1 open tasks are listed, keys move and open, and one is shown with all that belongs to it", async () => {
  const { page, errors, asked, close } = await visit("/tasks");
  await card(page, "Next").waitFor();
  assert.equal(await page.locator("[data-task]").count(), 3); // ended ones are behind the filter
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  const panel = page.getByRole("article");
  await panel.getByText("Which colour?").waitFor();
  await panel.getByRole("button", { name: "blue" }).click();
  await page.waitForFunction(() => !document.querySelector("button[aria-busy=true]"));
  assert.deepEqual(asked, [{ path: `/api/tasks/${asking.id}/asks/${uuid(8800)}/answer`, answer: "blue" }]);
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Ended" }).click();
  await card(page, "Count").click();
  await panel.getByText("The model refused: too many requests.").waitFor();
  assert.deepEqual(errors, []);
  await close();
});

test("T1 a task is asked for, in the direct room with the agent", async () => {
  const { page, errors, asked, close } = await visit("/tasks", []);
  await page.getByRole("button", { name: "New task" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Nova", { exact: true }).check();
  await dialog.getByLabel("Title").fill("Tidy up");
  await dialog.getByLabel("What is to be done").fill("All of it");
  await dialog.getByRole("button", { name: "Ask for it" }).click();
  await page.getByRole("article").getByRole("heading", { name: "Tidy up" }).waitFor();
  assert.deepEqual(asked, [
    { path: "/api/conversations", type: "direct", memberIds: [nova.id] },
    { path: `/api/conversations/${ids.launch}/tasks`, title: "Tidy up", description: "All of it", assignedTo: [nova.id] },
  ]);
  assert.deepEqual(errors, []);
  await close();
});

test("T1 several agents are asked, with how many results are enough", async () => {
  const { page, errors, asked, close } = await visit("/tasks", []);
  await page.getByRole("button", { name: "New task" }).waitFor();
  await page.keyboard.press("n");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Title").fill("Vote");
  await dialog.getByLabel("Nova", { exact: true }).check();
  await dialog.getByLabel("Forge", { exact: true }).check();
  await dialog.getByLabel("The task is done when").selectOption("1");
  await dialog.getByLabel("Where the result is told").selectOption({ index: 1 });
  await dialog.getByRole("button", { name: "Ask for it" }).click();
  await page.getByRole("article").getByRole("heading", { name: "Vote" }).waitFor();
  const [made] = asked;
  assert.equal(made.path, `/api/conversations/${ids.launch}/tasks`);
  assert.equal(made.assignedTo.length, 2);
  assert.deepEqual(made.join, { mode: "any" });
  assert.deepEqual(errors, []);
  await close();
});

test("T1 a task is given to somebody else, and one that failed is repeated with changes", async () => {
  const { page, errors, asked, close } = await visit(`/tasks?task=${working.id}`);
  const panel = page.getByRole("article");
  await panel.getByRole("button", { name: "Give it to somebody else" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Who does it").selectOption({ label: "Forge" });
  await dialog.getByRole("button", { name: "Give it", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  assert.equal(asked[0].path, `/api/tasks/${working.id}/reassign`);
  assert.equal(asked[0].assignedTo.length, 1);
  await page.goto(`${site.url}/tasks?task=${failed.id}`);
  await panel.getByText("The model is at its limit").waitFor();
  await panel.getByRole("button", { name: "Do it again" }).click();
  await dialog.getByLabel("What is to be done").fill("Count to ten");
  await dialog.getByRole("button", { name: "Do it again" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.deepEqual(asked[1], { path: `/api/tasks/${failed.id}/retry`, description: "Count to ten" });
  assert.deepEqual(errors, []);
  await close();
});

test("S1 nobody approves a command whose end is not on the screen, on the page of its task", async () => {
  const world = makeWorld();
  world.requests = [
    {
      id: uuid(7001),
      agentId: nova.id,
      agentName: "Nova",
      ownerId: me.id,
      conversationId: null,
      taskId: working.id,
      toolName: "Bash",
      toolInput: { command: `rm -rf build && ${"echo a very long command ".repeat(30)}\u202Egnp.exe` },
      status: "pending",
      actionHash: "ab".repeat(32),
      expiresAt: iso(Date.now() + 600_000),
      insertedAt: iso(Date.now()),
    },
  ];
  const { page, close } = await visit(`/tasks?task=${working.id}`, all(), { world, viewport: { width: 390, height: 844 } });
  const approve = page.getByRole("button", { name: "Approve", exact: true });
  await approve.waitFor();
  assert.ok(await approve.isDisabled());
  await page.getByRole("button", { name: /^\d+ more lines/ }).click();
  assert.ok(await approve.isEnabled());
  await page.getByText("⟨U+202E⟩gnp.exe").waitFor();
  await close();
});

test("T1 the board is walked by keys, across its columns, and the address keeps what is chosen", async () => {
  const { page, errors, close } = await visit("/tasks?look=board&filter=all");
  await card(page, "Next").waitFor();
  await page.keyboard.press("j");
  const focused = () => page.evaluate(() => document.activeElement?.closest("[data-column]")?.getAttribute("data-column"));
  assert.equal(await focused(), "waiting");
  await page.keyboard.press("l");
  assert.equal(await focused(), "working");
  await page.keyboard.press("ArrowRight");
  assert.equal(await focused(), "parked");
  await page.keyboard.press("h");
  assert.equal(await focused(), "working");
  await page.getByLabel("Whose tasks").selectOption(nova.id);
  await page.waitForURL(`**/tasks?*who=${nova.id}*`);
  await page.reload();
  await card(page, "Next").waitFor();
  assert.equal(await page.getByLabel("Whose tasks").inputValue(), nova.id);
  assert.deepEqual(errors, []);
  await close();
});

test("T1 all rows of a task are one card in its room, and one line where it stopped when others wrote since", async () => {
  const world = makeWorld();
  const room = world.rooms.find((r) => r.conversation.id === ids.launch);
  const write = (n, sender, content, extra = {}) => {
    const at = iso(Date.now() - 60_000 + n * 1000);
    const whole = {
      id: uuid(8950 + n),
      conversationId: ids.launch,
      senderId: sender.id,
      sender: { ...sender, type: sender.type },
      content,
      insertedAt: at,
    };
    room.messages.push({ ...whole, updatedAt: at, messageSeq: room.messages.length + 1, ...extra });
  };
  const stage = (n, kind, body = {}) =>
    write(n, nova, JSON.stringify({ lifecycle_type: kind, title: "Count", assignee_name: "Nova", ...body }), {
      messageType: "StatusUpdate",
      contentType: "status_update",
      metadata: { task_id: failed.id, task_title: "Count", task_status: "failed" },
    });
  stage(1, "task_delegated");
  write(2, me, "And meanwhile we go on.");
  stage(3, "task_failed", { error: { code: "rate_limited", message: "429" }, end_kind: "failed", duration_seconds: 61 });
  const { page, errors, close } = await visit(`/rooms/${ids.launch}`, all(), { world });
  const shown = page.getByRole("region", { name: "Task: Count" });
  await shown.getByText("The model is at its limit").waitFor();
  await shown.getByText("took 1 min").waitFor();
  assert.equal(await page.locator("[data-task-card]").count(), 1);
  await page.getByRole("log").getByRole("link", { name: "Count: The model is at its limit" }).click();
  await page.getByRole("article").getByRole("heading", { name: "Count" }).waitFor();
  assert.deepEqual(errors, []);
  await close();
});

const looks = [
  ["light", 1280, "en-GB"],
  ["dark", 1280, "en-GB"],
  ["light", 360, "zh-CN"],
];
for (const [colorScheme, width, locale] of looks) {
  test(`T1 tasks have no fault that axe finds, and fit: ${colorScheme}, ${width} px, ${locale}`, async () => {
    for (const path of ["/tasks?filter=all", "/tasks?filter=all&look=board", `/tasks?task=${working.id}`, `/tasks?task=${asking.id}`]) {
      const { page, close } = await visit(path, all(), { viewport: { width, height: 800 }, colorScheme, locale });
      await page
        .locator(path.includes("task=") ? "article h2" : "[data-task]")
        .first()
        .waitFor();
      await faultless(page, path);
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/tasks-${colorScheme}-${width}-${path.length}.png`, fullPage: true });
      await close();
    }
  });
}
