/** A socket and a server behind it, for tests: joins, pushes, broadcasts, and connections that break at any moment. */
import type { Message } from "#/api/types";
import type { ChannelPort, MakeSocket, PushPort, SocketOptions, SocketPort } from "../socket";
import { World } from "./world";

type Status = "ok" | "error" | "timeout";

class FakePush implements PushPort {
  #done: { status: Status; response: unknown } | null = null;
  #callbacks: { status: Status; callback: (response?: unknown) => void }[] = [];

  receive(status: Status, callback: (response?: unknown) => void): PushPort {
    if (this.#done?.status === status) callback(this.#done.response);
    this.#callbacks.push({ status, callback });
    return this;
  }

  /** Once; a join push, like Phoenix's, answers again at every rejoin. */
  settle(status: Status, response?: unknown, again = false): void {
    if (this.#done && !again) return;
    this.#done = { status, response };
    for (const c of this.#callbacks) if (c.status === status) c.callback(response);
  }
}

class FakeChannel implements ChannelPort {
  state = "closed";
  left = false;
  onMessage: ChannelPort["onMessage"] = (_event, payload) => payload;
  readonly joinPush = new FakePush();
  readonly topic: string;
  readonly #server: FakeServer;

  constructor(topic: string, server: FakeServer) {
    this.topic = topic;
    this.#server = server;
  }

  join(): PushPort {
    this.state = "joining";
    this.#server.joining(this);
    return this.joinPush;
  }

  leave(): PushPort {
    this.left = true;
    this.state = "closed";
    this.#server.leave(this);
    return new FakePush();
  }

  push(event: string, payload: object): PushPort {
    const push = new FakePush();
    this.#server.received(this, event, payload as Record<string, unknown>, push);
    return push;
  }
}

export interface ReceivedPush {
  topic: string;
  event: string;
  payload: Record<string, unknown>;
}

/** Holds the truth: rooms with versions, and idempotency by nonce, as the real server. */
export class FakeServer {
  readonly world = new World();
  readonly channels = new Set<FakeChannel>();
  readonly pushes: ReceivedPush[] = [];
  connected = false;
  /** What a new push meets: stored and answered, stored but the answer is lost, lost before it is stored, or refused. */
  fate: () => "ok" | "answer_lost" | "lost" | { code: string } = () => "ok";
  denyJoin: string | null = null;
  snapshots = true;
  options: SocketOptions | null = null;
  readonly #byNonce = new Map<string, Message>();
  #open: (() => void)[] = [];
  #close: ((e: { code: number }) => void)[] = [];

  readonly makeSocket: MakeSocket = (options) => {
    this.options = options;
    const socket: SocketPort = {
      connect: () => this.connect(),
      disconnect: (callback) => {
        this.connected = false;
        callback?.();
      },
      isConnected: () => this.connected,
      channel: (topic) => {
        const channel = new FakeChannel(topic, this);
        this.channels.add(channel);
        return channel;
      },
      onOpen: (callback) => void this.#open.push(callback),
      onClose: (callback) => void this.#close.push(callback),
    };
    return socket;
  };

  /** When false, `connect` of the client does nothing until `connect()` is called by the test. */
  reachable = true;

  connect(force = false): void {
    if (this.connected || (!this.reachable && !force)) return;
    this.connected = true;
    for (const callback of this.#open) callback();
    for (const channel of this.channels) if (channel.state !== "closed") this.joining(channel);
  }

  drop(code = 1006): void {
    if (!this.connected) return;
    this.connected = false;
    for (const channel of this.channels) if (channel.state === "joined") channel.state = "errored";
    for (const callback of this.#close) callback({ code });
  }

  joining(channel: FakeChannel): void {
    if (!this.connected) return;
    if (this.denyJoin && channel.topic.startsWith("conversation:")) {
      channel.state = "errored";
      channel.joinPush.settle("error", { code: this.denyJoin }, true);
      return;
    }
    channel.state = "joined";
    channel.joinPush.settle("ok", {}, true);
    if (channel.topic.startsWith("conversation:") && this.snapshots) this.tell(channel, "recent_messages", this.world.window(this.world.version, 6));
    if (channel.topic.startsWith("user:"))
      this.tell(channel, "presence_snapshot", { onlineParticipantIds: [], agentPresences: {}, agentActivities: {}, agentDevices: {} });
  }

  leave(channel: FakeChannel): void {
    this.channels.delete(channel);
  }

  tell(channel: FakeChannel, event: string, payload: object): void {
    channel.onMessage(event, payload);
  }

  /** To everybody who joined a topic. */
  broadcast(topic: string, event: string, payload: object): void {
    for (const c of [...this.channels]) if (c.topic === topic && c.state === "joined") this.tell(c, event, payload);
  }

  /** Broadcasts the changes of the room after `from`. */
  publish(from: number): void {
    for (const c of this.world.changes.slice(from)) this.broadcast("conversation:room", c.event, c.payload);
  }

  received(channel: FakeChannel, event: string, payload: Record<string, unknown>, push: FakePush): void {
    if (!this.connected || channel.state !== "joined") throw new Error(`push of ${event} on a channel that is not joined`);
    this.pushes.push({ topic: channel.topic, event, payload });
    if (event !== "new_message") {
      push.settle("ok", {});
      return;
    }
    setTimeout(() => push.settle("timeout"), 10_000);
    const fate = this.fate();
    if (fate === "lost") return;
    if (typeof fate === "object") {
      push.settle("error", fate);
      return;
    }
    const from = this.world.version;
    this.store(payload);
    if (fate === "ok") {
      push.settle("ok", {});
      this.publish(from);
    }
  }

  store(payload: Record<string, unknown>): Message {
    const metadata = payload["metadata"] as { client_nonce?: string };
    const nonce = metadata.client_nonce ?? "";
    const held = this.#byNonce.get(nonce);
    if (held) return held;
    const m = this.world.post({
      content: String(payload["content"]),
      senderId: "self",
      metadata: { client_nonce: nonce } as Message["metadata"] & object,
    });
    this.#byNonce.set(nonce, m);
    return m;
  }
}
