// The official client against our server. internal/realtime/phxtest/phoenix_test.go serves and steers it.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Presence, Socket } from "phoenix";
import WebSocket from "ws";

const URL_ = process.env.PHX_URL;
const CONTROL = process.env.PHX_CONTROL;
const LIMIT = 10_000;

const open = new Set();
after(() => open.forEach((s) => s.disconnect()));

function connect(token, opts = {}) {
  const socket = new Socket(URL_, {
    params: { token },
    transport: WebSocket,
    reconnectAfterMs: () => 20,
    rejoinAfterMs: () => 20,
    ...opts,
  });
  socket.closes = [];
  socket.onClose((event) => socket.closes.push(event.code));
  socket.connect();
  open.add(socket);
  return socket;
}

async function order(path, body = {}) {
  const res = await fetch(`${CONTROL}/${path}`, { method: "POST", body: JSON.stringify(body) });
  assert.equal(res.status, 200, await res.text());
}

function within(what, start) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`timed out: ${what}`)), LIMIT);
    start((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });
}

// answer resolves to [status, response] of a Push.
const answer = (push) =>
  within(`reply to ${push.event}`, (done) => {
    for (const status of ["ok", "error", "timeout"]) push.receive(status, (r) => done([status, r]));
  });

const next = (channel, event) => within(event, (done) => {
  const ref = channel.on(event, (payload) => {
    channel.off(event, ref);
    done(payload);
  });
});

async function join(socket, topic, params = {}) {
  const channel = socket.channel(topic, params);
  assert.equal((await answer(channel.join()))[0], "ok");
  return channel;
}

test("join: ok with the response, error with the reason, unmatched topic", async () => {
  const socket = connect("ann");
  const good = await answer(socket.channel("room:1", { client: "desktop" }).join());
  assert.deepEqual(good, ["ok", { params: { client: "desktop" } }]);
  const refused = socket.channel("forbidden:1");
  assert.deepEqual(await answer(refused.join()), ["error", { reason: "unauthorized" }]);
  refused.leave();
  const nowhere = socket.channel("nowhere:1");
  assert.deepEqual(await answer(nowhere.join()), ["error", { reason: "unmatched topic" }]);
  nowhere.leave();
});

test("after a join: first the reply, then the snapshot", async () => {
  const socket = connect("ann");
  const channel = socket.channel("room:snapshot");
  const seen = [];
  channel.on("recent_messages", () => seen.push("snapshot"));
  channel.join().receive("ok", () => seen.push("reply"));
  await answer(channel.push("echo", {}));
  assert.deepEqual(seen, ["reply", "snapshot"]);
});

test("push and reply: ok, error, unknown event, none", async () => {
  const channel = await join(connect("ann"), "room:push");
  const body = { text: "héllo ✓ 你好 \u2028 <b>", n: [1, { a: null }] };
  assert.deepEqual(await answer(channel.push("echo", body)), ["ok", body]);
  assert.deepEqual(await answer(channel.push("refuse", {})), ["error", { reason: "refused" }]);
  assert.deepEqual(await answer(channel.push("what", {})), ["error", { reason: "unmatched event" }]);
  assert.equal((await answer(channel.push("typing", {}, 100)))[0], "timeout");
});

test("broadcast: everybody in the room, the sender too, in order", async () => {
  const [ann, bob] = [await join(connect("ann"), "room:all"), await join(connect("bob"), "room:all")];
  const seen = { ann: [], bob: [] };
  ann.on("new_message", (m) => seen.ann.push(m.n));
  bob.on("new_message", (m) => seen.bob.push(m.n));
  const pushes = [];
  for (let n = 0; n < 100; n++) pushes.push(answer(ann.push("shout", { n })));
  assert.deepEqual(new Set((await Promise.all(pushes)).map(([status]) => status)), new Set(["ok"]));
  await answer(bob.push("echo", {}));
  const wanted = Array.from({ length: 100 }, (_, n) => n);
  assert.deepEqual(seen.ann, wanted);
  assert.deepEqual(seen.bob, wanted);
});

test("typing reaches the others only", async () => {
  const [ann, bob] = [await join(connect("ann"), "room:typing"), await join(connect("bob"), "room:typing")];
  let own = 0;
  ann.on("typing", () => own++);
  const heard = next(bob, "typing");
  ann.push("typing", {});
  await heard;
  await answer(ann.push("echo", {}));
  assert.equal(own, 0);
});

test("a large payload in both directions", async () => {
  const channel = await join(connect("ann"), "room:large");
  const text = "ü".repeat(200_000); // 400 KB in UTF-8
  const heard = next(channel, "large");
  await order("broadcast", { topic: "room:large", event: "large", payload: { text } });
  assert.equal((await heard).text.length, text.length);
  const big = "x".repeat(60_000);
  assert.equal((await answer(channel.push("echo", { big })))[1].big.length, big.length);
});

test("leave: ok, closed, and no event after it", async () => {
  const socket = connect("ann");
  const channel = await join(socket, "room:leave");
  let late = 0;
  const closed = within("onClose", (done) => channel.onClose(() => done()));
  channel.on("late", () => late++);
  assert.equal((await answer(channel.leave()))[0], "ok");
  await closed;
  await order("broadcast", { topic: "room:leave", event: "late", payload: {} });
  const again = await join(socket, "room:leave");
  const heard = next(again, "now");
  await order("broadcast", { topic: "room:leave", event: "now", payload: {} });
  await heard;
  assert.equal(late, 0);
});

test("leave and join again at once", async () => {
  const socket = connect("ann");
  let channel = await join(socket, "room:quick");
  for (let i = 0; i < 20; i++) {
    channel.leave();
    channel = await join(socket, "room:quick", { i });
  }
  assert.deepEqual(await answer(channel.push("echo", { a: 1 })), ["ok", { a: 1 }]);
});

test("a second join of the same topic replaces the first", async () => {
  const socket = connect("ann");
  await join(socket, "room:twice");
  const second = await join(socket, "room:twice");
  let count = 0;
  second.on("once", () => count++);
  await order("broadcast", { topic: "room:twice", event: "once", payload: {} });
  await answer(second.push("echo", {}));
  assert.equal(count, 1);
});

test("phx_close ends a channel for good, phx_error and a crash make it rejoin", async () => {
  const socket = connect("ann");
  const ended = await join(socket, "room:end");
  const closed = within("onClose", (done) => ended.onClose(() => done()));
  ended.push("end", {});
  await closed;
  assert.equal(ended.state, "closed");
  for (const how of ["fail", "panic"]) {
    const channel = socket.channel(`room:${how}`);
    const ready = next(channel, "recent_messages");
    channel.join();
    await ready;
    const failed = within("onError", (done) => channel.onError(() => done()));
    const back = next(channel, "recent_messages");
    channel.push(how, {});
    await failed;
    await back;
    assert.deepEqual(await answer(channel.push("echo", { how })), ["ok", { how }]);
  }
  assert.deepEqual(socket.closes, []);
});

test("heartbeats are answered: the socket stays", async () => {
  const socket = connect("ann", { heartbeatIntervalMs: 400 });
  let beats = 0;
  await within("three heartbeats", (done) => {
    socket.onMessage(({ topic, event, payload }) => {
      if (topic === "phoenix" && event === "phx_reply") {
        assert.deepEqual(payload, { status: "ok", response: {} });
        if (++beats === 3) done();
      }
    });
  });
  assert.deepEqual(socket.closes, []);
});

test("a bad token is refused and the client keeps trying", async () => {
  const socket = connect("bad");
  let errors = 0;
  await within("three refusals", (done) => socket.onError(() => ++errors === 3 && done()));
  assert.equal(socket.isConnected(), false);
  socket.disconnect();
});

test("every close code of the server brings the client back", async () => {
  const socket = connect("code");
  const channel = socket.channel("room:code", { same: true });
  const ready = next(channel, "recent_messages");
  channel.join();
  await ready;
  for (const [code, seen] of [[1000, 1001], [1008, 1008], [1011, 1011], [1012, 1012], [1013, 1013], [4001, 4001]]) {
    const back = next(channel, "recent_messages");
    await order("close", { token: "code", code });
    await back;
    assert.equal(socket.closes.at(-1), seen);
  }
  assert.deepEqual(await answer(channel.push("echo", { on: true })), ["ok", { on: true }]);
});

test("presence", async () => {
  const watcher = connect("watcher");
  const channel = watcher.channel("presence:all");
  const presence = new Presence(channel);
  const until = (check) => within("presence", (done) => {
    const look = () => check() && done();
    presence.onSync(look);
    look();
  });
  const online = () => presence.list((id) => id).sort().join();
  await answer(channel.join());
  await until(() => online() === "watcher");
  const guest = connect("guest");
  await join(guest, "presence:all");
  await until(() => online() === "guest,watcher");
  assert.equal(presence.state.guest.metas[0].who, "guest");
  const second = connect("guest");
  await join(second, "presence:all");
  guest.disconnect(); // the second device remains
  await answer(channel.push("echo", {}));
  assert.equal(online(), "guest,watcher");
  second.disconnect();
  await until(() => online() === "watcher");
});

// Last: it takes the server away from everybody.
test("the server restarts: 1012, rejoin with the same params, buffered pushes once", async () => {
  const clients = [];
  for (let i = 0; i < 20; i++) {
    const socket = connect(`restart-${i}`);
    const channel = await join(socket, "room:restart", { i });
    await answer(channel.push("echo", {})); // its snapshot has come
    clients.push({ socket, channel });
  }
  const dropped = clients.map(({ socket }) => within("close", (done) => socket.onClose(() => done())));
  await order("stop");
  await Promise.all(dropped);
  const heard = clients.map(() => []);
  clients.forEach(({ channel }, i) => channel.on("new_message", (m) => heard[i].push(m.n)));
  const buffered = clients.map(({ channel }, n) => answer(channel.push("shout", { n })));
  const back = clients.map(({ channel }) => next(channel, "recent_messages"));
  await order("start");
  await Promise.all(back);
  assert.deepEqual((await Promise.all(buffered)).map(([status]) => status), clients.map(() => "ok"));
  for (const { socket } of clients) assert.equal(socket.closes[0], 1012);
  await Promise.all(clients.map(({ channel }) => answer(channel.push("echo", {}))));
  // Everybody hears at least its own push, and nobody hears one twice.
  heard.forEach((list, i) => {
    assert.ok(list.includes(i), `${i} heard ${list}`);
    assert.equal(new Set(list).size, list.length);
  });
});
