// pi's extension in the real pi, which finds and loads it from where the installer puts it.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { nudge } from "../agnt-letters/quote.ts";
import { type Message, textOf } from "./model.ts";
import { type Pi, piCommand, startPi } from "./pi-host.ts";
import { allow, breakSessions, deliver, line, mallory, read, scriptedAgnt, until, world } from "./world.ts";

/** The texts of a request's messages but the system's, those of one role or all. */
function texts(turn: Message[] | undefined, role?: string): string[] {
  return (turn ?? []).filter((m) => (role === undefined ? m.role !== "system" && m.role !== "developer" : m.role === role)).map(textOf);
}

function noErrors(pi: Pi): void {
  assert.deepEqual(
    pi.events.filter((e) => e.type === "extension_error"),
    [],
  );
  assert.doesNotMatch(pi.stderr(), /extension/i);
}

test("L5 pi: a verified contact's letter wakes the idle session by the fixed text, and comes beside it as quoted data", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  const pi = await startPi(w, { user: w.user });
  assert.equal(read(join(w.home, ".agent-talk", "by-session", pi.session)), `${w.user}\n`);
  deliver(w.user, pi.session, line("the build is red", { name: "alice of ops" }));
  await until("a run", () => pi.settled() === 1);
  const said = texts(pi.model.turns[0]);
  assert.equal(said[0], nudge);
  assert.match(said[1] ?? "", /^Letters for this session, quoted[\s\S]*saved as "alice of ops"[\s\S]*\n> the build is red\n/);
  assert.equal(said.length, 2);
  // Once: the next turn has it in the conversation, not again.
  await pi.prompt("what now?");
  assert.deepEqual(texts(pi.model.turns[1]), [...said, "done", "what now?"]);
  assert.equal(pi.model.turns.length, 2);
  noErrors(pi);
});

test("L5 pi: a letter of somebody else wakes nobody and comes with the person's next prompt", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  const pi = await startPi(w, { user: w.user });
  deliver(w.user, pi.session, line("let me in", { from: mallory, name: "~admin", verified: false }));
  await pi.prompt("hello");
  const said = texts(pi.model.turns[0]);
  assert.equal(said[0], "hello");
  assert.match(said[1] ?? "", /no contact; calls itself "admin"[\s\S]*\n> let me in\n/);
  // The one wake that follows shows that there was none before.
  deliver(w.user, pi.session, line("hi"));
  await until("a run", () => pi.settled() === 2);
  assert.equal(pi.model.turns.length, 2);
  noErrors(pi);
});

test("L5 pi: a letter that comes while a tool runs is shown after it, and wakes nobody then", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  const pi = await startPi(w, { user: w.user });
  const go = join(w.home, "go");
  pi.model.answer = (_, turn) =>
    turn === 1 ? { tool: "bash", args: { command: `until [ -e ${go} ]; do sleep 0.05; done; echo built` } } : { text: "done" };
  const run = pi.prompt("build");
  await until("the tool", () => pi.events.some((e) => e.type === "tool_execution_start"));
  deliver(w.user, pi.session, line("stop, please"));
  writeFileSync(go, "");
  await run;
  const said = pi.model.turns[1];
  assert.match(texts(said, "tool")[0] ?? "", /built/);
  assert.match(texts(said).at(-1) ?? "", /\n> stop, please\n/);
  await pi.prompt("thanks");
  assert.equal(pi.model.turns.length, 3);
  noErrors(pi);
});

test("L5 pi: who stops a run is not woken by what came meanwhile, and has it with the next prompt", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  const pi = await startPi(w, { user: w.user });
  pi.model.answer = (_, turn) => (turn === 1 ? new Promise(() => undefined) : { text: "done" });
  const run = pi.prompt("work");
  await until("the request", () => pi.model.turns.length === 1);
  deliver(w.user, pi.session, line("psst"));
  await pi.command("abort");
  await run;
  deliver(w.user, pi.session, line("hello?"));
  await pi.prompt("my turn");
  assert.match(texts(pi.model.turns[1]).at(-1) ?? "", /> psst[\s\S]*> hello\?/);
  assert.equal(texts(pi.model.turns[1]).at(-2), "my turn");
  noErrors(pi);
});

test("L5 pi: what came while the session was closed is there when it is opened again", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  const first = await startPi(w, { user: w.user }, ["--session-id", "kept"]);
  assert.equal(first.session, "kept");
  deliver(w.user, "kept", line("one"));
  await until("a run", () => first.settled() === 1);
  assert.equal(await first.quit(), 0);
  deliver(w.user, "kept", line("two"));
  const second = await startPi(w, { user: w.user }, ["--session-id", "kept"]);
  await until("a run", () => second.settled() === 1);
  const said = texts(second.model.turns[0]);
  assert.equal(said.filter((s) => s.includes("> one")).length, 1); // of the session's history
  assert.equal(said.at(-2), nudge);
  assert.match(said.at(-1) ?? "", /> two/);
  assert.doesNotMatch(said.at(-1) ?? "", /> one/);
});

test("L5 pi: two sessions of a user each get the letter", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  const both = [await startPi(w, { user: w.user }), await startPi(w, { user: w.user })];
  const letter = line("for both");
  for (const pi of both) deliver(w.user, pi.session, letter);
  for (const pi of both) await until("a run", () => pi.settled() === 1);
  // They share the settings that name the model, so either stand-in may have been asked.
  const turns = both.flatMap((pi) => pi.model.turns);
  assert.equal(turns.length, 2);
  for (const turn of turns) assert.match(texts(turn)[1] ?? "", /> for both/);
});

test("L5 pi: a new session in the same process gets the letters from then on", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  const pi = await startPi(w, { user: w.user });
  await pi.prompt("hello");
  await pi.command("new_session");
  const { sessionId } = await pi.command("get_state");
  assert.notEqual(sessionId, pi.session);
  deliver(w.user, pi.session, line("for the old one"));
  deliver(w.user, String(sessionId), line("for the new one"));
  await until("a run", () => pi.settled() === 2);
  assert.match(texts(pi.model.turns[1])[1] ?? "", /> for the new one/);
  assert.doesNotMatch(texts(pi.model.turns[1]).join(), /for the old one/);
  noErrors(pi);
});

test("L5 pi: spools that were named by hand are read without a registration", async (t) => {
  const w = world(t);
  const spool = join(w.user, "inbox.ndjson");
  writeFileSync(spool, line("from the inbox"));
  w.env["AGENT_TALK_PI_SPOOLS"] = spool;
  const pi = await startPi(w, {});
  await pi.prompt("hello");
  assert.match(texts(pi.model.turns[0])[1] ?? "", /> from the inbox/);
  assert.ok(!existsSync(join(w.home, ".agent-talk", "by-session")));
  await pi.prompt("again");
  assert.equal(texts(pi.model.turns[1]).filter((s) => s.includes("from the inbox")).length, 1);
});

test("L5 pi: without settings nothing is read, written or said", async (t) => {
  const w = world(t);
  const pi = await startPi(w, {});
  await pi.prompt("hello");
  assert.deepEqual(texts(pi.model.turns[0]), ["hello"]);
  assert.ok(!existsSync(join(w.home, ".agent-talk", "by-session")));
  assert.deepEqual(readdirSync(join(w.user, "sessions")), []);
  noErrors(pi);
});

test("L5 pi: whatever fails, pi goes on and says nothing", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  const pi = await startPi(w, { user: w.user });
  const letter = line("one");
  deliver(w.user, pi.session, letter);
  await until("a run", () => pi.settled() === 1);
  await breakSessions(w.user);
  await pi.prompt("hello");
  assert.deepEqual(texts(pi.model.turns[1]).at(-1), "hello");
  await until("a line in the log", () => /^\S+ pi prompt: E[A-Z]+\n/m.test(read(join(w.user, "alarms.log"))));
  assert.doesNotMatch(read(join(w.user, "alarms.log")), /one|hello/);
  noErrors(pi);
  assert.equal(await pi.quit(), 0);
});

test("L5 pi: pi -p gets its letters as context, and ends with its prompt", async (t) => {
  const w = world(t);
  allow(w.user, { wake: true });
  deliver(w.user, "printed", line("by the way"));
  const { model, child, stdout } = await piCommand(w, { user: w.user }, ["-p", "--session-id", "printed", "hello"]);
  const [code] = (await once(child, "exit")) as [number];
  assert.equal(code, 0);
  assert.equal(stdout().trim(), "done");
  assert.deepEqual(
    model.turns.map((turn) => texts(turn).length),
    [2],
  );
  assert.match(texts(model.turns[0])[1] ?? "", /> by the way/);
});

test("L5 pi: the program agnt keeps the books where it is installed", async (t) => {
  const w = world(t);
  const agnt = scriptedAgnt(w);
  agnt.answer("session-start", JSON.stringify({ hookSpecificOutput: { hookEventName: "SessionStart", additionalContext: "QUOTED AT START" } }));
  const pi = await startPi(w, { user: w.user, agnt: agnt.path });
  agnt.answer(
    "user-prompt-submit",
    JSON.stringify({ hookSpecificOutput: { hookEventName: "UserPromptSubmit", additionalContext: "QUOTED LETTER" } }),
  );
  await pi.prompt("hello");
  assert.deepEqual(texts(pi.model.turns[0]), ["QUOTED AT START", "hello", "QUOTED LETTER"]);
  // A wake is the fixed text, whatever the program says.
  agnt.answer("stop", JSON.stringify({ decision: "block", reason: "something else" }));
  deliver(w.user, pi.session, line("x"));
  await until("a run", () => pi.settled() === 2);
  assert.equal(texts(pi.model.turns[1]).at(-1), nudge);
  await pi.quit();
  const calls = agnt.calls();
  assert.deepEqual(calls[0]?.args, ["hook", "pi", "session-start", "--dir", w.user]);
  for (const call of calls) {
    assert.equal(call.input["session_id"], pi.session);
    assert.equal(call.input["cwd"], join(w.home, "work"));
  }
  const prompts = calls.filter((c) => c.args[2] === "user-prompt-submit").map((c) => c.input["prompt"]);
  assert.deepEqual(prompts, ["hello", nudge]);
  assert.equal(calls.at(-1)?.args[2], "session-end");
  noErrors(pi);
});

test("L5 pi: a program agnt that fails or says nonsense costs nothing", async (t) => {
  const w = world(t);
  const agnt = scriptedAgnt(w);
  const pi = await startPi(w, { user: w.user, agnt: agnt.path });
  for (const answer of ["{", "[]", "null", "7", '{"hookSpecificOutput":{"additionalContext":7}}', "x".repeat(2 << 20)]) {
    agnt.answer("user-prompt-submit", answer);
    await pi.prompt("hello");
    assert.equal(texts(pi.model.turns.at(-1)).at(-1), "hello");
  }
  writeFileSync(agnt.path, "#!/bin/false\n");
  await pi.prompt("hello");
  rmSync(agnt.path);
  mkdirSync(agnt.path);
  await pi.prompt("hello");
  assert.equal(pi.model.turns.length, 8);
  noErrors(pi);
});
