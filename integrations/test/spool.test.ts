// Reading spools: what is written half, cut, filled anew, rotated, twice, by several, or broken.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, readdirSync, renameSync, statSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { type Limit, parseLine, StateFile, scan, take } from "../agnt-letters/spool.ts";
import { alice, line, mallory, read, root, world } from "./world.ts";

const all: Limit = { letters: 1000, chars: Number.POSITIVE_INFINITY, perLetter: 1000 };

function desk(t: TestContext): {
  spool: string;
  state: string;
  write: (...lines: string[]) => void;
  next: (limit?: Limit) => Promise<string[]>;
  peek: () => Promise<string[]>;
} {
  const { user } = world(t);
  const spool = join(user, "sessions", "s1.ndjson");
  const state = join(user, "sessions", ".pi-state.s1.json");
  const texts = (letters: { text: string }[]): string[] => letters.map((l) => l.text);
  return {
    spool,
    state,
    write: (...lines) => appendFileSync(spool, lines.join("")),
    // A new StateFile each time: everything has to be on disk.
    next: async (limit = all) => texts((await new StateFile(state).update((s) => take(s, [spool], limit))).letters),
    peek: async () => texts((await scan(spool, (await new StateFile(state).read()).marks[spool], all)).letters),
  };
}

test("L5 spool: letters are handed over once, in order, and looking does not take them", async (t) => {
  const d = desk(t);
  assert.deepEqual(await d.next(), []);
  d.write(line("one"), line("two"));
  assert.deepEqual(await d.peek(), ["one", "two"]);
  assert.deepEqual(await d.next(), ["one", "two"]);
  assert.deepEqual(await d.next(), []);
  d.write(line("three"));
  assert.deepEqual(await d.next(), ["three"]);
  assert.equal(statSync(d.state).mode & 0o777, 0o600);
});

test("L5 spool: half a line waits for its end, also inside a character", async (t) => {
  const d = desk(t);
  const bytes = Buffer.from(line("Grüße 信"));
  for (let i = 1; i < bytes.length; i += 7) {
    writeFileSync(d.spool, bytes.subarray(0, i));
    assert.deepEqual(await d.next(), []);
  }
  writeFileSync(d.spool, bytes);
  assert.deepEqual(await d.next(), ["Grüße 信"]);
});

test("L5 spool: a truncated spool begins anew, also when it has grown to the same size", async (t) => {
  const d = desk(t);
  d.write(line("first"));
  assert.deepEqual(await d.next(), ["first"]);
  const { size } = statSync(d.spool);
  truncateSync(d.spool);
  d.write(line("other"));
  assert.equal(statSync(d.spool).size, size);
  assert.deepEqual(await d.next(), ["other"]);
  truncateSync(d.spool);
  assert.deepEqual(await d.next(), []);
  d.write(line("x"));
  assert.deepEqual(await d.next(), ["x"]);
});

test("L5 spool: what is written again after a truncation is known by its id", async (t) => {
  const d = desk(t);
  const lines = [line("a"), line("b"), line("c")];
  d.write(...lines);
  assert.deepEqual(await d.next(), ["a", "b", "c"]);
  writeFileSync(d.spool, [lines[2], line("new"), lines[0]].join(""));
  assert.deepEqual(await d.next(), ["new"]);
});

test("L5 spool: a copy is dropped, another sender's letter with the same id is not", async (t) => {
  const d = desk(t);
  d.write(line("one", { id: "i1" }), line("one", { id: "i1", ts: "2026-12-01T11:00:00Z" }), line("taken away", { id: "i1", from: mallory }));
  assert.deepEqual(await d.next(), ["one", "taken away"]);
});

test("L5 spool: rotation loses nothing that was not read", async (t) => {
  const d = desk(t);
  d.write(line("1"), line("2"));
  assert.deepEqual(await d.next(), ["1", "2"]);
  d.write(line("3"));
  renameSync(d.spool, `${d.spool}.1`);
  assert.deepEqual(await d.peek(), ["3"]);
  d.write(line("4"));
  assert.deepEqual(await d.next({ ...all, letters: 1 }), ["3"]);
  renameSync(`${d.spool}.1`, `${d.spool}.2`);
  renameSync(d.spool, `${d.spool}.1`);
  d.write(line("5"));
  assert.deepEqual(await d.next(), ["4", "5"]);
  assert.deepEqual(await d.next(), []);
});

test("L5 spool: a spool that was rotated before it was ever read is read from its oldest file", async (t) => {
  const d = desk(t);
  assert.deepEqual(await d.next(), []);
  d.write(line("1"));
  renameSync(d.spool, `${d.spool}.1`);
  d.write(line("2"));
  assert.deepEqual(await d.next(), ["1", "2"]);
  // The old file was read; a spool that is cut afterwards does not bring it back.
  truncateSync(d.spool);
  d.write(line("3"));
  assert.deepEqual(await d.next(), ["3"]);
});

test("L5 spool: limits leave the rest unread, and one long letter comes alone", async (t) => {
  const d = desk(t);
  d.write(line("a".repeat(900)), line("b".repeat(900)), line("c"), line("d"));
  const limit = { letters: 3, chars: 1000, perLetter: 1000 };
  assert.deepEqual(
    (await d.next(limit)).map((s) => s.length),
    [900],
  );
  assert.deepEqual(
    (await d.next(limit)).map((s) => s.length),
    [900, 1, 1],
  );
  assert.deepEqual(await d.next(limit), []);
});

test("L5 spool: other kinds, empty texts and broken lines are passed over", async (t) => {
  const d = desk(t);
  const broken = [
    "",
    "{",
    "[]",
    "null",
    "7",
    '"text"',
    '{"text":7}',
    '{"id":"x","from":"y"}',
    line(" \n"),
    line("card", { kind: "contact" }),
    "\u0000\u0001",
  ];
  d.write(broken.map((l) => `${l.trimEnd()}\n`).join(""), line("after"));
  assert.deepEqual(await d.next(), ["after"]);
  for (const l of broken) assert.equal(parseLine(l), undefined);
});

test("L5 spool: a line longer than any letter is passed over", async (t) => {
  const d = desk(t);
  d.write(`${JSON.stringify({ id: "x", from: alice, text: "x".repeat(25 << 20) })}\n`, line("after"));
  assert.deepEqual(await d.next(), ["after"]);
});

test("L5 spool: what is no file is no spool", async (t) => {
  const d = desk(t);
  mkdirSync(d.spool);
  await assert.doesNotReject(d.next());
});

test("L5 spool: a damaged state begins anew, a foreign mark in it is checked", async (t) => {
  const d = desk(t);
  d.write(line("1"));
  for (const state of ["", "{", "[]", "null", '{"marks":7}', `{"marks":{${JSON.stringify(d.spool)}:{"offset":-1,"ids":[],"sha":"","sha_len":0}}}`]) {
    writeFileSync(d.state, state);
    assert.deepEqual(await d.next(), ["1"]);
  }
  writeFileSync(d.state, JSON.stringify({ marks: { [d.spool]: { offset: 10, ids: [], sha: "00", sha_len: 5, ino: "1" } } }));
  assert.deepEqual(await d.next(), ["1"]);
});

test("L5 spool: remembers the last 500 ids and no more", async (t) => {
  const d = desk(t);
  for (let i = 0; i < 600; i++) d.write(line(`${i}`));
  assert.equal((await d.next()).length, 600);
  assert.equal((await new StateFile(d.state).read()).marks[d.spool]?.ids.length, 500);
});

test("L5 spool: a state that cannot be written hands over nothing and loses nothing", async (t) => {
  const d = desk(t);
  d.write(line("1"));
  mkdirSync(d.state); // the rename onto it fails, as every error of a write does
  await assert.rejects(d.next());
  assert.deepEqual(await d.peek(), ["1"]);
  assert.deepEqual(
    readdirSync(join(d.spool, "..")).filter((n) => /\.(tmp|lock)$/.test(n)),
    [],
  );
});

test("L5 spool: the lock of a process that died is taken over, that of a live one is respected", async (t) => {
  const d = desk(t);
  d.write(line("1"));
  const child = spawn("true");
  await once(child, "exit");
  writeFileSync(`${d.state}.lock`, `${hostname()} ${child.pid} x`);
  assert.deepEqual(await d.next(), ["1"]);
  d.write(line("2"));
  writeFileSync(`${d.state}.lock`, `${hostname()} ${process.pid} x`);
  await assert.rejects(d.next(), /lock/);
  // Nobody holds it for minutes: a process id that was given away again must not keep it.
  utimesSync(`${d.state}.lock`, 1, 1);
  assert.deepEqual(await d.next(), ["2"]);
});

test("L5 spool: several readers and agent-talk's way of writing: each letter once, rotation included", async (t) => {
  const d = desk(t);
  const finished = join(d.spool, "..", "finished");
  const readers = Array.from({ length: 4 }, () =>
    spawn(process.execPath, [join(root, "test", "reader.ts"), d.spool, d.state, finished], { stdio: ["ignore", "pipe", "inherit"] }),
  );
  const got: string[] = [];
  for (const reader of readers) {
    let rest = "";
    reader.stdout.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString("utf8")).split("\n");
      rest = lines.pop() ?? "";
      got.push(...lines);
    });
  }
  const ended = readers.map((r) => once(r, "close"));
  const writers = [
    ["x", "20000"],
    ["y", "0"],
  ].map(([name = "", rotate = ""]) =>
    spawn("/usr/bin/python3", [join(root, "test", "writer.py"), d.spool, "300", rotate, name], { stdio: "inherit" }),
  );
  for (const [code] of await Promise.all(writers.map((w) => once(w, "close")))) assert.equal(code, 0);
  writeFileSync(finished, "");
  await Promise.all(ended);
  const want = ["x", "y"].flatMap((name) => Array.from({ length: 300 }, (_, i) => `${name}${`${i}`.padStart(28, "0")}`));
  assert.deepEqual(got.sort(), want);
  assert.notEqual(read(`${d.spool}.1`), "");
});

test("L5 spool: whatever is appended, cut in halves, rotated and taken in portions: each letter once and in order", async (t) => {
  const seed = Number(process.env["AGNT_TEST_SEED"] ?? Date.now() % 1_000_000);
  t.diagnostic(`AGNT_TEST_SEED=${seed}`);
  let state = seed;
  const random = (n: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  for (let round = 0; round < 25; round++) {
    const d = desk(t);
    const want: string[] = [];
    const got: string[] = [];
    let rest = "";
    for (let step = 0; step < 60; step++) {
      switch (random(6)) {
        case 0: {
          const text = `${want.length} ${"é信👋x".repeat(random(40))}`;
          want.push(text);
          d.write(rest, line(text));
          rest = "";
          break;
        }
        case 1: {
          if (rest !== "") break;
          const text = `${want.length}`;
          want.push(text);
          const l = line(text);
          const cut = 1 + random(l.length - 1);
          d.write(l.slice(0, cut));
          rest = l.slice(cut);
          break;
        }
        case 2:
          d.write(rest, "{}\n", line("", {}));
          rest = "";
          break;
        case 3: {
          // Four old files are kept for a reader that is behind; a writer does not rotate in the middle of a line.
          if (rest !== "" || !existsSync(d.spool) || existsSync(`${d.spool}.4`)) break;
          for (let n = 4; n > 1; n--) if (existsSync(`${d.spool}.${n - 1}`)) renameSync(`${d.spool}.${n - 1}`, `${d.spool}.${n}`);
          renameSync(d.spool, `${d.spool}.1`);
          break;
        }
        default:
          got.push(...(await d.next({ letters: 1 + random(4), chars: 1 + random(200), perLetter: 1 + random(100) })));
      }
    }
    d.write(rest);
    for (let more = await d.next(); more.length > 0; more = await d.next()) got.push(...more);
    assert.deepEqual(got, want, `round ${round}`);
  }
});
