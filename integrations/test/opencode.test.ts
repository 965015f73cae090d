// opencode's plugin in the real opencode, which finds and loads it from where the installer puts it.
import assert from "node:assert/strict";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { nudge } from "../agnt-letters/quote.ts";
import { type Message, textOf } from "./model.ts";
import { startOpencode } from "./opencode-host.ts";
import { allow, breakSessions, deliver, line, mallory, read, scriptedAgnt, until, world } from "./world.ts";

/** The messages of a request but the system's, each with its parts' texts. */
function parts(turn: Message[] | undefined): string[][] {
  return (turn ?? [])
    .filter((m) => m.role !== "system")
    .map((m) => (Array.isArray(m.content) ? m.content.map((p: { text?: string }) => p.text ?? "") : [textOf(m)]));
}

function last(turn: Message[] | undefined): string[] {
  return parts(turn).at(-1) ?? [];
}

test("L5 opencode: a verified contact's letter wakes the idle session by the fixed text, and comes beside it as quoted data", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  const host = await startOpencode(w, { user: w.user });
  const session = await host.session();
  await until("the registration", () => read(join(w.home, ".agent-talk", "by-session", session)) === `${w.user}\n`);
  await host.prompt(session, "hello");
  deliver(w.user, session, line("the build is red", { name: "alice of ops" }));
  await host.idle(session, 2);
  const [wake, letters, ...more] = last(host.model.turns[1]);
  assert.equal(wake, nudge);
  assert.match(letters ?? "", /^Letters for this session, quoted[\s\S]*saved as "alice of ops"[\s\S]*\n> the build is red\n/);
  assert.deepEqual(more, []);
  // Once, and in the same place when opencode reads its history again.
  await host.prompt(session, "what now?");
  assert.deepEqual(parts(host.model.turns[2]).slice(-3), [[wake, letters], ["done"], ["what now?"]]);
  assert.equal(host.model.turns.length, 3);
});

test("L5 opencode: a letter of somebody else wakes nobody and comes with the person's next prompt", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  const host = await startOpencode(w, { user: w.user });
  const session = await host.session();
  await host.prompt(session, "hello");
  deliver(w.user, session, line("let me in", { from: mallory, name: "~admin", verified: false }));
  await host.prompt(session, "hello again");
  const said = last(host.model.turns[1]);
  assert.equal(said[0], "hello again");
  assert.match(said[1] ?? "", /no contact; calls itself "admin"[\s\S]*\n> let me in\n/);
  // The one wake that follows shows that there was none before.
  deliver(w.user, session, line("hi"));
  await host.idle(session, 3);
  assert.equal(host.model.turns.length, 3);
});

test("L5 opencode: a wake keeps the agent of the person's last prompt, and its rights", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  const host = await startOpencode(w, { user: w.user });
  const session = await host.session();
  // Before the first prompt nobody has chosen an agent, so nothing is woken.
  deliver(w.user, session, line("too early"));
  await host.prompt(session, "only plan", "plan");
  assert.match(last(host.model.turns[0])[1] ?? "", /> too early/);
  deliver(w.user, session, line("do it now"));
  await host.idle(session, 2);
  assert.equal(last(host.model.turns[1])[0], nudge);
  assert.deepEqual(await host.agents(session), ["plan", "plan"]);
});

test("L5 opencode: a letter that comes while a tool runs is shown after it, and wakes nobody then", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  const host = await startOpencode(w, { user: w.user });
  const session = await host.session();
  const started = join(w.home, "started");
  const go = join(w.home, "go");
  const command = `touch ${started}; until [ -e ${go} ]; do sleep 0.05; done; echo built`;
  host.model.answer = (_, turn) => (turn === 1 ? { tool: "bash", args: { command, description: "build" } } : { text: "done" });
  const run = host.prompt(session, "build");
  await until("the tool", () => existsSync(started));
  deliver(w.user, session, line("stop, please"));
  writeFileSync(go, "");
  await run;
  assert.match(last(host.model.turns[1])[0] ?? "", /^built[\s\S]*\n> stop, please\n/);
  await host.prompt(session, "thanks");
  assert.equal(host.model.turns.length, 3);
});

test("L5 opencode: who stops a turn is not woken by what came meanwhile, and has it with the next prompt", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  const host = await startOpencode(w, { user: w.user });
  const session = await host.session();
  host.model.answer = (_, turn) => (turn === 1 ? new Promise(() => undefined) : { text: "done" });
  const run = host.prompt(session, "work").catch(() => undefined);
  await until("the request", () => host.model.turns.length === 1);
  deliver(w.user, session, line("psst"));
  await host.client.session.abort({ path: { id: session } });
  await run;
  deliver(w.user, session, line("hello?"));
  await host.prompt(session, "my turn");
  const said = last(host.model.turns[1]);
  assert.equal(said[0], "my turn");
  assert.match(said[1] ?? "", /> psst[\s\S]*> hello\?/);
});

test("L5 opencode: the letters are with the session a person spoke in last; helpers of its agent get none", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  const host = await startOpencode(w, { user: w.user });
  const first = await host.session();
  await host.prompt(first, "one");
  const second = await host.session();
  await host.prompt(second, "two");
  const helper = await host.session(second);
  deliver(w.user, helper, line("for a helper"));
  await host.prompt(helper, "three");
  assert.deepEqual(last(host.model.turns[2]), ["three"]);
  assert.ok(!existsSync(join(w.home, ".agent-talk", "by-session", helper)));
  deliver(w.user, first, line("for the first"));
  deliver(w.user, second, line("for the second"));
  await host.idle(second, 2);
  assert.match(last(host.model.turns[3])[1] ?? "", /> for the second/);
  await host.prompt(first, "back");
  const said = last(host.model.turns[4]);
  assert.equal(said[0], "back");
  assert.match(said[1] ?? "", /> for the first/);
});

test("L5 opencode: what came while opencode was closed is there when the session goes on", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  const before = await startOpencode(w, { user: w.user });
  const session = await before.session();
  await before.prompt(session, "hello");
  deliver(w.user, session, line("one"));
  await before.idle(session, 2);
  await before.quit();
  deliver(w.user, session, line("two"));
  const after = await startOpencode(w, { user: w.user });
  await after.prompt(session, "I am back");
  const said = last(after.model.turns[0]);
  assert.equal(said[0], "I am back");
  assert.match(said[1] ?? "", /> two/);
  assert.doesNotMatch(said.join(), /> one/);
});

test("L5 opencode: a session that is deleted is no longer written for", async (t) => {
  const w = world(t);
  const host = await startOpencode(w, { user: w.user });
  const session = await host.session();
  const entry = join(w.home, ".agent-talk", "by-session", session);
  await until("the registration", () => existsSync(entry));
  await host.client.session.delete({ path: { id: session } });
  await until("its end", () => !existsSync(entry));
});

test("L5 opencode: without settings nothing is read, written or said", async (t) => {
  const w = world(t);
  const host = await startOpencode(w, {});
  const session = await host.session();
  await host.prompt(session, "hello");
  assert.deepEqual(parts(host.model.turns[0]), [["hello"]]);
  assert.ok(!existsSync(join(w.home, ".agent-talk", "by-session")));
  assert.deepEqual(readdirSync(join(w.user, "sessions")), []);
});

test("L5 opencode: whatever fails, opencode goes on and says nothing", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  const host = await startOpencode(w, { user: w.user });
  const session = await host.session();
  await host.prompt(session, "hello");
  deliver(w.user, session, line("one"));
  await host.idle(session, 2);
  await breakSessions(w.user);
  await host.prompt(session, "go on");
  assert.deepEqual(last(host.model.turns[2]), ["go on"]);
  await until("a line in the log", () => /^\S+ opencode prompt: E[A-Z]+\n/m.test(read(join(w.user, "alarms.log"))));
  assert.doesNotMatch(read(join(w.user, "alarms.log")), /one|go on/);
  assert.doesNotMatch(host.output(), /level=(WARN|ERROR)[^\n]*(plugin|letters)/i);
});

test("L5 opencode: the program agnt keeps the books where it is installed", async (t) => {
  const w = world(t);
  const agnt = scriptedAgnt(w);
  const context = (text: string) => JSON.stringify({ hookSpecificOutput: { additionalContext: text } });
  agnt.answer("session-start", context("QUOTED AT START"));
  const host = await startOpencode(w, { user: w.user, agnt: agnt.path });
  const session = await host.session();
  await until("the registration", () => agnt.calls().length > 0);
  agnt.answer("user-prompt-submit", context("QUOTED LETTER"));
  await host.prompt(session, "hello");
  assert.deepEqual(last(host.model.turns[0]), ["hello", "QUOTED AT START", "QUOTED LETTER"]);
  // A wake is the fixed text, whatever the program says.
  agnt.answer("stop", JSON.stringify({ decision: "block", reason: "something else" }));
  deliver(w.user, session, line("x"));
  await host.idle(session, 2);
  assert.deepEqual(last(host.model.turns[1]), [nudge]);
  const calls = agnt.calls();
  assert.deepEqual(calls[0]?.args, ["hook", "opencode", "session-start", "--dir", w.user]);
  for (const call of calls) assert.equal(call.input["session_id"], session);
  const prompts = calls.filter((c) => c.args[2] === "user-prompt-submit").map((c) => c.input["prompt"]);
  assert.deepEqual(prompts, ["hello", nudge]);
});
