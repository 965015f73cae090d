// The official client against the whole server. internal/app/phoenix_test.go starts and steers it.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Socket } from "phoenix";
import WebSocket from "ws";

const world = JSON.parse(process.env.PHX_WORLD); // {url, control, person, token, agent, agentToken, executor, room}
const LIMIT = 60_000;
const open = new Set();
after(() => open.forEach((s) => s.disconnect()));

function connect(token) {
  const socket = new Socket(world.url, { params: { token }, transport: WebSocket, reconnectAfterMs: () => 50, rejoinAfterMs: () => 50 });
  socket.closes = [];
  socket.onClose((event) => socket.closes.push(event.code));
  socket.connect();
  open.add(socket);
  return socket;
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

const answer = (push) => within(`reply to ${push.event}`, (done) => {
  for (const status of ["ok", "error", "timeout"]) push.receive(status, (r) => done([status, r]));
});

const next = (channel, event, match = () => true) => within(event, (done) => {
  const ref = channel.on(event, (payload) => {
    if (!match(payload)) return;
    channel.off(event, ref);
    done(payload);
  });
});

test("a person and an agent talk through the official client, also across a restart", async () => {
  const person = connect(world.token);
  const mine = person.channel(`user:${world.person}`, { client: "desktop", device_name: "node" });
  const snapshot = next(mine, "presence_snapshot");
  assert.equal((await answer(mine.join()))[0], "ok");
  assert.ok(await snapshot);

  const room = person.channel(`conversation:${world.room}`, {});
  const recent = next(room, "recent_messages");
  assert.equal((await answer(room.join()))[0], "ok");
  assert.deepEqual((await recent).messages, []);

  const agent = connect(world.agentToken);
  const work = agent.channel(`user:${world.agent}`, { executor_id: world.executor, bridge_version: "2.11.24" });
  assert.equal((await answer(work.join()))[0], "ok");
  assert.equal((await answer(work.push("catchup", {})))[0], "ok");

  const say = async (content, nonce) => {
    const echo = next(room, "new_message", (m) => m.metadata?.client_nonce === nonce);
    const item = next(work, "gateway_message", (m) => m.content === content);
    const [status] = await answer(room.push("new_message", { content, content_type: "text", metadata: { client_nonce: nonce } }));
    assert.equal(status, "ok");
    const message = await echo;
    const got = await item;
    assert.equal(got.messageId, message.id);
    // The official client has no REST side: the harness answers and acknowledges.
    const reply = next(room, "new_message", (m) => m.senderId === world.agent);
    const res = await fetch(`${world.control}/answer`, { method: "POST", body: JSON.stringify({ item: got.id, text: `re ${content}` }) });
    assert.equal(res.status, 200, await res.text());
    assert.equal((await reply).content, `re ${content}`);
  };
  await say("before the restart", "n-1");

  await within("heartbeat", (done) => assert.ok(person.ping(done)));
  assert.equal((await answer(room.push("no_such_event", {})))[0], "error");

  const rejoined = Promise.all([mine, room, work].map((c) => within("rejoin", (done) => c.joinPush.receive("ok", done))));
  const res = await fetch(`${world.control}/restart`, { method: "POST" });
  assert.equal(res.status, 200, await res.text());
  await rejoined;
  assert.deepEqual([person.closes[0], agent.closes[0]], [1012, 1012]);
  await say("after the restart", "n-2");
});

test("a refused join and a refused token", async () => {
  const person = connect(world.token);
  const foreign = person.channel(`user:${world.agent}x`, {});
  assert.equal((await answer(foreign.join()))[0], "error");
  foreign.leave();
  const nobody = new Socket(world.url, { params: { token: "bad" }, transport: WebSocket, reconnectAfterMs: () => 60_000 });
  open.add(nobody);
  await within("refusal", (done) => {
    nobody.onError(done);
    nobody.connect();
  });
  assert.equal(nobody.isConnected(), false);
});
