// When letters may begin a turn, with a scripted host's door.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { Alarm } from "../agnt-letters/alarm.ts";
import { readLimits } from "../agnt-letters/budget.ts";
import { FileLetters } from "../agnt-letters/files.ts";
import { nudge } from "../agnt-letters/quote.ts";
import { attach, readSettings, sessionName } from "../agnt-letters/session.ts";
import { allow, deliver, line, mallory, read, until, type World, world } from "./world.ts";

interface Scripted extends World {
  alarm: Alarm;
  woken: string[];
  failures: string[];
  idle: boolean;
  /** What the host does when it is woken. */
  onWake: (text: string) => void | Promise<void>;
  /** Moves the clock on. */
  later(ms: number): void;
  /** The same session in a new process. */
  again(): Scripted;
}

function scripted(w: World, clock = { now: 1e12 }, session = "s1"): Scripted {
  const spools = [join(w.user, "sessions", `${session}.ndjson`)];
  const state = join(w.user, "sessions", `.pi-state.${session}.json`);
  const now = (): number => clock.now;
  const s: Scripted = {
    ...w,
    woken: [],
    failures: [],
    idle: true,
    onWake: () => undefined,
    later: (ms) => {
      clock.now += ms;
    },
    again: () => scripted(w, clock, session),
    alarm: new Alarm({
      letters: new FileLetters({ user: w.user, spools, state, session: "", now }),
      door: {
        idle: () => s.idle,
        wake: (text) => {
          s.woken.push(text);
          return s.onWake(text);
        },
      },
      failed: (what) => s.failures.push(what),
      now,
    }),
  };
  return s;
}

function open(t: TestContext, limits?: Record<string, unknown>): Scripted {
  const w = world(t);
  if (limits) allow(w.user, limits);
  const s = scripted(w);
  s.after(() => s.alarm.close());
  return s;
}

const hour = 3_600_000;

test("L5 alarm: wakes once for a letter, by the fixed text alone", async (t) => {
  const s = open(t, { wake: true });
  await s.alarm.check();
  assert.deepEqual(s.woken, []);
  deliver(s.user, "s1", line("SECRET", { name: "NAME", group: "GROUP" }));
  await s.alarm.check();
  await s.alarm.check();
  assert.deepEqual(s.woken, [nudge]);
  assert.doesNotMatch(nudge, /SECRET|NAME|GROUP/);
  // It was not read, so it still comes with the next turn; and another letter wakes again.
  deliver(s.user, "s1", line("second"));
  await s.alarm.check();
  assert.equal(s.woken.length, 2);
  const text = await s.alarm.prompt(nudge);
  assert.match(text ?? "", /> SECRET[\s\S]*> second/);
  assert.equal(await s.alarm.prompt("hello"), undefined);
});

test("L5 alarm: does not wake unasked, for others than verified contacts, or for automatic letters without end", async (t) => {
  const s = open(t);
  deliver(s.user, "s1", line("one"));
  await s.alarm.check();
  allow(s.user, { wake: false });
  await s.alarm.check();
  assert.deepEqual(s.woken, []);
  assert.match((await s.alarm.prompt("hi")) ?? "", /> one/);
  allow(s.user, { wake: true });
  deliver(
    s.user,
    "s1",
    line("two", { verified: false }),
    line("three", { verified: "true" }),
    line("four", { verified: undefined }),
    line("five", { auto: 3 }),
  );
  await s.alarm.check();
  assert.deepEqual(s.woken, []);
  deliver(s.user, "s1", line("six", { auto: 2 }));
  await s.alarm.check();
  assert.equal(s.woken.length, 1);
  assert.match((await s.alarm.prompt(nudge)) ?? "", /> two[\s\S]*> five/);
});

test("L5 alarm: waits for a busy session and for one that is not there", async (t) => {
  const s = open(t, { wake: true });
  s.idle = false;
  deliver(s.user, "s1", line("one"));
  await s.alarm.check();
  assert.deepEqual(s.woken, []);
  s.idle = true;
  await s.alarm.check();
  assert.equal(s.woken.length, 1);
});

test("L5 alarm: two agents that answer each other stop, until a person speaks", async (t) => {
  const s = open(t, { wake: true, max_in_a_row: 3 });
  for (let i = 0; i < 6; i++) {
    deliver(s.user, "s1", line(`answer ${i}`));
    await s.alarm.check();
    await s.alarm.prompt(nudge);
  }
  assert.equal(s.woken.length, 3);
  // A new process of the same session knows it too.
  const again = s.again();
  deliver(s.user, "s1", line("more"));
  await again.alarm.check();
  assert.equal(again.woken.length, 0);
  await again.alarm.prompt("a person");
  deliver(s.user, "s1", line("and more"));
  await again.alarm.check();
  assert.equal(again.woken.length, 1);
});

test("L5 alarm: bounds of a session and of a sender, for an hour and in all", async (t) => {
  const s = open(t, { wake: true, max_in_a_row: 1000, wakes_per_hour: 5, peer_per_hour: 3, wakes_in_all: 9, peer_in_all: 6 });
  const letter = async (from?: string): Promise<number> => {
    deliver(s.user, "s1", line("x", from ? { from } : {}));
    await s.alarm.check();
    await s.alarm.prompt(nudge);
    return s.woken.length;
  };
  for (const want of [1, 2, 3, 3, 3]) assert.equal(await letter(), want);
  for (const want of [4, 5, 5, 5]) assert.equal(await letter(mallory), want);
  s.later(hour + 1);
  for (const want of [6, 7, 8, 8]) assert.equal(await letter(), want);
  s.later(hour + 1);
  assert.equal(await letter(), 8); // six of this sender in all
  for (const want of [9, 9]) assert.equal(await letter(mallory), want); // nine in all
});

test("L5 alarm: what kept a letter from waking lets go by itself", async (t) => {
  const s = open(t, { wake: true, max_in_a_row: 1000, wakes_per_hour: 1 });
  deliver(s.user, "s1", line("one"));
  await s.alarm.check();
  await s.alarm.prompt(nudge);
  deliver(s.user, "s1", line("two"));
  s.alarm.watch();
  await s.alarm.check();
  assert.equal(s.woken.length, 1);
  s.later(hour + 1);
  await until("the second wake", () => s.woken.length === 2);
});

test("L5 alarm: a host that refuses a wake or hangs costs nothing but a while", async (t) => {
  const s = open(t, { wake: true, max_in_a_row: 1000 });
  s.onWake = () => {
    throw new Error("no");
  };
  deliver(s.user, "s1", line("one"));
  await s.alarm.check();
  assert.deepEqual(s.failures, ["wake"]);
  s.onWake = () => new Promise(() => undefined);
  deliver(s.user, "s1", line("two"));
  await s.alarm.check();
  assert.equal(s.woken.length, 1); // not at once
  s.later(61_000);
  await s.alarm.check();
  assert.deepEqual(s.failures, ["wake", "wake"]);
  assert.match((await s.alarm.prompt("hi")) ?? "", /> one[\s\S]*> two/);
});

test("L5 alarm: sees letters by itself, those that waited when the session attached as well", async (t) => {
  const s = open(t, { wake: true });
  deliver(s.user, "s1", line("before"));
  s.alarm.watch();
  await until("a wake", () => s.woken.length === 1);
  assert.match((await s.alarm.prompt(nudge)) ?? "", /> before/);
  deliver(s.user, "s1", line("after"));
  await until("another", () => s.woken.length === 2);
  s.alarm.close();
  assert.equal(await s.alarm.prompt("hi"), undefined);
});

test("L5 alarm: during a turn letters are shown unless the user says no", async (t) => {
  const s = open(t, { during_turn: false });
  deliver(s.user, "s1", line("one"));
  assert.equal(await s.alarm.during(), undefined);
  allow(s.user, {});
  assert.match((await s.again().alarm.during()) ?? "", /> one/);
});

test("L5 alarm: several sessions of a user each get every letter once", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  const sessions = ["s1", "s2", "s3"].map((id) => ({ id, ...scripted(w, { now: 1e12 }, id) }));
  const letter = line("for all");
  for (const { id } of sessions) deliver(w.user, id, letter);
  for (const s of sessions) {
    await s.alarm.check();
    assert.match((await s.alarm.prompt(nudge)) ?? "", /> for all/);
    assert.equal(await s.again().alarm.prompt("hi"), undefined);
  }
  assert.deepEqual(
    sessions.map((s) => s.woken.length),
    [0, 0, 0].map(() => 1),
  );
});

test("L5 alarm: more letters than a turn holds come with the next one", async (t) => {
  const s = open(t, { max_at_once: 2, max_characters: 100 });
  deliver(s.user, "s1", ...["1", "2", "3"].map((n) => line(n)), line("4".repeat(200)));
  assert.match((await s.alarm.prompt("a")) ?? "", /> 1\n[\s\S]*> 2\n[\s\S]*More letters wait/);
  assert.match((await s.alarm.prompt("b")) ?? "", /> 3\n[\s\S]*> 4{100}\n\[100 more characters are not shown\]/);
  assert.equal(await s.alarm.prompt("c"), undefined);
});

test("L5 limits: a mistake in the file gives the defaults, not no limits", async (t) => {
  const { user } = world(t);
  const usual = await readLimits(user);
  assert.equal(usual.wake, false);
  for (const text of ["", "{", "[]", "7", '{"max_in_a_row":"7","wake":true}', '{"wake":"yes"}', '{"max_in_a_row":1e99,"wake":true}']) {
    writeFileSync(join(user, "alarms.json"), text);
    assert.deepEqual(await readLimits(user), usual, text);
  }
  allow(user, { wake: true, max_in_a_row: -4, max_at_once: 0, max_characters: 1e9, of_a_later_version: 7 });
  assert.deepEqual(await readLimits(user), { ...usual, wake: true, max_in_a_row: 0, max_at_once: 1, max_characters: 30_000 });
});

test("L5 limits: without the file the check mode decides, as agent-talk has it", async (t) => {
  const { user } = world(t);
  writeFileSync(join(user, "check-mode"), "auto\n");
  assert.equal((await readLimits(user)).wake, true);
  writeFileSync(join(user, "check-mode"), "manual\n");
  assert.equal((await readLimits(user)).wake, false);
});

test("L5 session: nothing is configured, nothing is done; the environment and the settings name the letters", async (t) => {
  const { user, home } = world(t);
  const settings = join(home, "settings.json");
  assert.equal(await readSettings("pi", {}, settings), undefined);
  for (const text of ["{", "null", "[]", '{"user":7}', '{"user":"relative"}', '{"agnt":"/bin/true"}']) {
    writeFileSync(settings, text);
    assert.equal(await readSettings("pi", {}, settings), undefined, text);
  }
  writeFileSync(settings, JSON.stringify({ user, agnt: process.execPath }));
  assert.deepEqual(await readSettings("pi", {}, settings), { user, agnt: process.execPath, spools: [] });
  writeFileSync(settings, JSON.stringify({ user, agnt: join(home, "gone") }));
  assert.deepEqual(await readSettings("opencode", {}, settings), { user, agnt: "", spools: [] });
  assert.deepEqual(await readSettings("pi", { AGNT_LETTERS_USER: home }, settings), { user: home, agnt: "", spools: [] });
  const named = [join(user, "sessions", "a.ndjson"), join(user, "inbox.ndjson")];
  assert.deepEqual(await readSettings("pi", { AGENT_TALK_PI_SPOOLS: `${named.join(":")}:relative` }, settings), { user, agnt: "", spools: named });
  assert.equal((await readSettings("pi", { AGENT_TALK_OPENCODE_SPOOLS: named.join(":") }, settings))?.spools.length, 0);
});

test("L5 session: ids become file names, or no session", () => {
  assert.equal(sessionName("ses_1-A.b"), "ses_1-A.b");
  assert.equal(sessionName("../../etc/x y"), undefined);
  assert.equal(sessionName("a/../b\n"), "a_.._b");
  for (const id of ["", "  ", ".", "..", ".hidden", "x.requests", "x".repeat(201)]) assert.equal(sessionName(id), undefined, id);
});

test("L5 session: a failure is a line in the log without a word of a letter, and no more", async (t) => {
  const w = world(t);
  const old = process.env["HOME"];
  process.env["HOME"] = w.home;
  t.after(() => {
    process.env["HOME"] = old;
  });
  const door = { idle: () => true, wake: () => undefined };
  const attached = await attach("pi", "s1", w.home, door, { AGNT_LETTERS_USER: w.user });
  assert.ok(attached);
  assert.equal(read(join(w.home, ".agent-talk", "by-session", "s1")), `${w.user}\n`);
  deliver(w.user, "s1", line("SECRET"));
  mkdirSync(join(w.user, "sessions", ".pi-state.s1.json"));
  assert.equal(await attached.alarm.prompt("hi"), undefined);
  const log = await until("the log", () => read(join(w.user, "alarms.log")) || undefined);
  assert.match(log, /^\S+ pi prompt: E[A-Z]+\n$/);
  await attached.detach(true);
  assert.equal(read(join(w.home, ".agent-talk", "by-session", "s1")), "");
});

test("L5 session: a user's folder that was removed is not made again", async (t) => {
  const w = world(t);
  const gone = join(w.home, "gone");
  assert.equal(await attach("pi", "s1", w.home, { idle: () => true, wake: () => undefined }, { AGNT_LETTERS_USER: gone }), undefined);
  assert.ok(!existsSync(gone));
});

test("L5 session: states of sessions whose spools were collected go, and no others", async (t) => {
  const w = world(t);
  const old = process.env["HOME"];
  process.env["HOME"] = w.home;
  t.after(() => {
    process.env["HOME"] = old;
  });
  const sessions = join(w.user, "sessions");
  const names = [".pi-state.gone.json", ".pi-state.there.json", ".opencode-state.gone.json", ".pi-state.new.json", ".codex-hook-state.json"];
  for (const name of names) {
    writeFileSync(join(sessions, name), "{}");
    if (!name.includes("new")) utimesSync(join(sessions, name), 1, 1);
  }
  deliver(w.user, "there", line("x"));
  const attached = await attach("pi", "s1", w.home, { idle: () => true, wake: () => undefined }, { AGNT_LETTERS_USER: w.user });
  assert.ok(attached);
  await attached.detach(false);
  assert.deepEqual(readdirSync(sessions).sort(), [...names.slice(1), "there.ndjson"].sort());
});
