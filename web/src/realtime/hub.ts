/**
 * The live side of a signed-in session: one socket, the user topic, the rooms that are looked at, and the stores that screens watch. Made once by
 * `RealtimeProvider`, stopped at sign-out. It decides when to ask and what an event touches; how state changes is in the pure files beside it.
 */
import { randomId } from "#/api/client";
import { ApiError } from "#/api/errors";
import type { ChangesPage, Conversation, Id, Message, Timestamp } from "#/api/types";
import { type ConnectionEvent, foldConnection, startConnection } from "./connection";
import type { FileBox } from "./fileBox";
import { arrived, changeRoom, dropRoom, foldRoomEvent, type ListState, loadRooms, noRooms, putRoom, readRoom, setUnread } from "./list";
import { addItem, changeItem, type Outbox, type OutboxFile, type OutboxItem, OutboxStorage, removeItem } from "./outbox";
import { foldPresence, nobody } from "./presence";
import { asApiError, RoomLink } from "./roomLink";
import { Sender, type SendResult } from "./sender";
import { type ChannelPort, isInternal, type MakeSocket, readReply, type SocketPort } from "./socket";
import { createStore } from "./store";
import { foldTyping, HUMAN_TYPING_MS, nextTypingSweep, nobodyTypes, readTyping, stopTyping, sweepTyping } from "./typing";
import { isPassing, type UploadApi, Uploads } from "./uploads";

export interface HubApi {
  listConversations(): Promise<Conversation[]>;
  getConversation(id: Id): Promise<Conversation>;
  unreadCounts(): Promise<Record<Id, number>>;
  markRead(id: Id): Promise<unknown>;
  listMessages(id: Id, before?: Timestamp): Promise<{ messages: Message[]; seq?: number | undefined }>;
  listChanges(id: Id, after: number): Promise<ChangesPage>;
  /** Any cheap authorised call: a dead session ends by its 401. */
  probe(): Promise<unknown>;
}

export interface HubDeps {
  selfId: Id;
  token: () => string;
  makeSocket: MakeSocket;
  api: HubApi;
  storage: Storage | null;
  /** How files are sent, and where they wait. Without it messages have none. */
  files?: { api: UploadApi; box: FileBox };
  pageSize: number;
  now?: () => number;
  /** Whether the person can see the page now. */
  visible?: () => boolean;
}

export interface ListView {
  status: "loading" | "ready" | "error";
  error: ApiError | null;
  rooms: ListState;
}

export type UserEventListener = (event: string, payload: Record<string, unknown>) => void;

const PUSH_TIMEOUT_MS = 10_000;
const READ_DEBOUNCE_MS = 500;
const TYPING_EVERY_MS = 1_000;
const REREAD_MS = 1_000;
/** Rooms whose rows are kept for a quick return. */
const KEPT_ROOMS = 40;

export class Hub {
  readonly selfId: Id;
  readonly connection;
  readonly list = createStore<ListView>({ status: "loading", error: null, rooms: noRooms });
  readonly presence = createStore(nobody);
  readonly typing = createStore(nobodyTypes);
  readonly outbox;
  readonly uploads: Uploads | null;
  readonly #deps: HubDeps;
  readonly #socket: SocketPort;
  readonly #storage: OutboxStorage;
  readonly #sender: Sender;
  readonly #rooms = new Map<Id, RoomLink>();
  readonly #listeners = new Set<UserEventListener>();
  readonly #roomListeners = new Map<Id, Set<UserEventListener>>();
  readonly #preparing = new Set<Id>();
  readonly #readTimers = new Map<Id, ReturnType<typeof setTimeout>>();
  readonly #rereadTimers = new Map<Id, ReturnType<typeof setTimeout>>();
  readonly #readUpTo = new Map<Id, string>();
  readonly #typed = new Map<Id, number>();
  /** Typing that met a room that was not joined: when. */
  readonly #typingWaits = new Map<Id, number>();
  #user: ChannelPort | null = null;
  #typingTimer: ReturnType<typeof setTimeout> | null = null;
  /** Rooms that are on the screen, and how often. */
  readonly #watched = new Map<Id, number>();
  #loading = false;
  #loadAgain = false;
  /** Rooms that went while the list was being read: its answer may still name them. */
  readonly #goneMeanwhile = new Set<Id>();
  #stopped = false;
  readonly #onNetwork = () => this.#network();
  readonly #onStorage = (e: StorageEvent) => this.#otherTab(e);

  constructor(deps: HubDeps) {
    this.#deps = deps;
    this.selfId = deps.selfId;
    this.connection = createStore(startConnection(this.#now()));
    this.#storage = new OutboxStorage(deps.storage, deps.selfId);
    this.outbox = createStore<Outbox>(this.#storage.load());
    this.uploads = deps.files ? new Uploads(deps.files.api, deps.files.box) : null;
    this.#socket = deps.makeSocket({
      token: deps.token,
      onRetry: (attempt, delayMs) => this.#retryPlanned(attempt, delayMs),
      restarting: () => this.connection.get().state === "restarting",
    });
    this.#sender = new Sender(this.outbox, this.#storage, {
      ready: (id) => this.#rooms.get(id)?.joined ?? false,
      prepare: (id) => this.#prepare(id),
      push: (item) => this.#push(item),
      stored: (item, message) => this.#itemStored(item, message),
    });
    this.#socket.onOpen(() => this.#opened());
    this.#socket.onClose((e) => this.#closed(e.code));
  }

  start(): void {
    if (typeof window !== "undefined") {
      window.addEventListener("online", this.#onNetwork);
      window.addEventListener("offline", this.#onNetwork);
      window.addEventListener("storage", this.#onStorage);
    }
    this.#joinUser();
    this.#socket.connect();
    void this.refresh();
    this.#sender.flush();
  }

  stop(): void {
    this.#stopped = true;
    if (typeof window !== "undefined") {
      window.removeEventListener("online", this.#onNetwork);
      window.removeEventListener("offline", this.#onNetwork);
      window.removeEventListener("storage", this.#onStorage);
    }
    this.#sender.stop();
    for (const room of this.#rooms.values()) room.close();
    for (const timer of [...this.#readTimers.values(), ...this.#rereadTimers.values()]) clearTimeout(timer);
    if (this.#typingTimer) clearTimeout(this.#typingTimer);
    this.#socket.disconnect();
  }

  /** Forgets unsent messages of this person on this device: signing out by hand. */
  forgetUnsent(): void {
    for (const x of this.outbox.get()) this.uploads?.drop(x.files ?? []);
    this.#storage.clear();
    this.outbox.set([]);
  }

  /** Every event of the user topic, after the stores took it. */
  onUserEvent(listener: UserEventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Every event of a room's topic while somebody follows the room, after the stores took it. */
  onRoomEvent(id: Id, listener: UserEventListener): () => void {
    const all = this.#roomListeners.get(id) ?? new Set();
    this.#roomListeners.set(id, all.add(listener));
    return () => {
      all.delete(listener);
      if (all.size === 0) this.#roomListeners.delete(id);
    };
  }

  /** A channel of any other topic, for features that bring their own. */
  channel(topic: string, params: object = {}): ChannelPort {
    return this.#socket.channel(topic, params);
  }

  /** Tries at once instead of waiting for the next planned try. */
  reconnectNow(): void {
    if (this.#socket.isConnected() || this.#stopped) return;
    this.#tell({ type: "trying" });
    this.#socket.disconnect(() => {
      if (!this.#stopped) this.#socket.connect();
    });
  }

  // --- rooms

  room(id: Id): RoomLink {
    const held = this.#rooms.get(id);
    if (held) return held;
    const room = new RoomLink(id, {
      channel: (topic) => this.#socket.channel(topic, {}),
      isConnected: () => this.#socket.isConnected(),
      listMessages: (roomId, before) => this.#deps.api.listMessages(roomId, before),
      listChanges: (roomId, after) => this.#deps.api.listChanges(roomId, after),
      pageSize: this.#deps.pageSize,
      now: () => this.#now(),
      onEvent: (roomId, event, payload) => this.#roomEvent(roomId, event, payload),
      onMessage: (message) => this.#landed(message),
      onJoined: (roomId) => {
        this.#sender.flushRoom(roomId);
        this.#flushTyping(roomId);
      },
      onRefused: (roomId, code) => this.#sender.failRoom(roomId, code),
    });
    this.#rooms.set(id, room);
    return room;
  }

  /** Follows a room until the returned function is called. `watch`: the person reads it, so its messages do not count as unread. */
  follow(id: Id, watch = true): () => void {
    const room = this.room(id);
    room.acquire();
    if (watch) this.#watched.set(id, (this.#watched.get(id) ?? 0) + 1);
    let done = false;
    return () => {
      if (done) return;
      done = true;
      const views = (this.#watched.get(id) ?? 0) - 1;
      if (watch && views > 0) this.#watched.set(id, views);
      else if (watch) this.#watched.delete(id);
      room.release(() => this.#idle(room));
    };
  }

  /** Makes sure a room is in the list: it may be new, or not of the sidebar. */
  async ensureRoom(id: Id): Promise<void> {
    if (this.list.get().rooms.has(id)) return;
    const room = await this.#deps.api.getConversation(id);
    this.#setRooms(putRoom(this.list.get().rooms, room));
  }

  putRoom(room: Conversation): void {
    this.#setRooms(putRoom(this.list.get().rooms, room));
  }

  changeRoom(id: Id, change: Partial<Conversation>): void {
    this.#setRooms(changeRoom(this.list.get().rooms, id, change));
  }

  dropRoom(id: Id): void {
    this.#goneMeanwhile.add(id);
    this.#setRooms(dropRoom(this.list.get().rooms, id));
  }

  /** Reads the list again. Several calls at once are one. */
  async refresh(): Promise<void> {
    if (this.#loading) {
      this.#loadAgain = true;
      return;
    }
    this.#loading = true;
    const before = this.list.get().rooms;
    this.#goneMeanwhile.clear();
    try {
      const rooms = (await this.#deps.api.listConversations()).filter((r) => !this.#goneMeanwhile.has(r.id));
      let next = loadRooms(this.list.get().rooms, rooms, before);
      // Servers that do not put the number on the room tell it separately.
      if (rooms.length > 0 && rooms.every((r) => r.unreadCount === undefined)) {
        const counts = await this.#deps.api.unreadCounts().catch(() => null);
        if (counts) next = setUnread(next, counts);
      }
      this.list.set({ status: "ready", error: null, rooms: next });
    } catch (err) {
      const error = asApiError(err);
      this.list.update((v) => ({ ...v, status: v.rooms.size ? v.status : "error", error }));
    } finally {
      this.#loading = false;
    }
    if (this.#loadAgain && !this.#stopped) {
      this.#loadAgain = false;
      await this.refresh();
    }
  }

  // --- writing

  /** Takes a message to send. It is on disk when this returns, its files a moment later. */
  send(input: { conversationId: Id; content: string; parentMessageId?: Id | undefined; files?: readonly File[] | undefined }): string {
    const nonce = randomId();
    const { files: chosen, ...rest } = input;
    const files = (chosen ?? []).map((file): OutboxFile => {
      const key = randomId();
      this.uploads?.hold(key, file);
      return { key, filename: file.name || "file", contentType: file.type || "application/octet-stream", sizeBytes: file.size };
    });
    this.outbox.update((b) => addItem(b, { ...rest, ...(files.length ? { files } : {}), nonce, at: new Date(this.#now()).toISOString() }));
    const item = this.outbox.get().find((x) => x.nonce === nonce);
    if (item) this.#storage.save(item);
    // The next words are a new beginning; the message itself ends the hint of the last ones.
    this.#typed.delete(input.conversationId);
    this.#typingWaits.delete(input.conversationId);
    this.#sender.flushRoom(input.conversationId);
    return nonce;
  }

  retry(nonce: string): void {
    this.#sender.retry(nonce);
  }

  discard(nonce: string): void {
    this.#dropFiles(nonce);
    this.#sender.discard(nonce);
  }

  /** At most one signal a second. In a room that is not joined yet the newest waits, so that a few quick words in a room just opened are seen too. */
  sendTyping(id: Id): void {
    const now = this.#now();
    if (now - (this.#typed.get(id) ?? 0) < TYPING_EVERY_MS) return;
    if (this.#rooms.get(id)?.push("typing", {})) {
      this.#typed.set(id, now);
      this.#typingWaits.delete(id);
    } else this.#typingWaits.set(id, now);
  }

  /** Tells what was typed before the room was joined, while others would still show it. */
  #flushTyping(id: Id): void {
    const at = this.#typingWaits.get(id);
    this.#typingWaits.delete(id);
    if (at !== undefined && this.#now() - at < HUMAN_TYPING_MS) this.sendTyping(id);
  }

  /** Cheap to call often: only what is new since the last time is told to the server. */
  markRead(id: Id): void {
    const e = this.list.get().rooms.get(id);
    const rows = this.#rooms.get(id)?.view.get().room.order;
    const upTo = `${rows?.[rows.length - 1] ?? ""}|${e?.room.lastMessage?.id ?? ""}`;
    if (e && e.unread === 0 && !e.mentioned && this.#readUpTo.get(id) === upTo) return;
    this.#readUpTo.set(id, upTo);
    this.#setRooms(readRoom(this.list.get().rooms, id));
    if (this.#readTimers.has(id)) return;
    this.#readTimers.set(
      id,
      setTimeout(() => {
        this.#readTimers.delete(id);
        // What arrives after this moment stays unread, also when the signal is late.
        const seen = this.#readUpTo.get(id)?.split("|")[0];
        if (!this.#rooms.get(id)?.push("mark_conversation_read", seen ? { up_to: seen } : {}))
          void this.#deps.api.markRead(id).catch(() => undefined);
      }, READ_DEBOUNCE_MS),
    );
  }

  /** A push whose answer matters to the person. Resolves null when it worked, else with what the server said. */
  request(id: Id, event: string, payload: object): Promise<{ code: string; message: string } | null> {
    return new Promise((resolve) => {
      const push = this.#rooms.get(id)?.push(event, payload, PUSH_TIMEOUT_MS);
      if (!push) {
        resolve({ code: "offline", message: "" });
        return;
      }
      push
        .receive("ok", () => resolve(null))
        .receive("error", (r) => resolve(readReply(r)))
        .receive("timeout", () => resolve({ code: "timeout", message: "" }));
    });
  }

  // --- the socket

  #now(): number {
    return this.#deps.now?.() ?? Date.now();
  }

  #tell(e: ConnectionEvent): void {
    this.connection.update((s) => foldConnection(s, e, this.#now()));
  }

  #opened(): void {
    const again = this.connection.get().wasOnline;
    this.#tell({ type: "opened" });
    if (again) void this.refresh();
    this.#sender.flush();
  }

  #closed(code: number): void {
    if (this.#stopped) return;
    this.#tell({ type: "closed", code });
    this.#sender.connectionLost();
    if (typeof navigator !== "undefined" && navigator.onLine === false) this.#tell({ type: "network_lost" });
  }

  #retryPlanned(attempt: number, delayMs: number): void {
    this.#tell({ type: "retry_planned", delayMs, attempt });
    setTimeout(() => !this.#stopped && this.#tell({ type: "trying" }), delayMs);
    // A refused upgrade does not say why: ask over HTTP whether the session still lives.
    if (attempt % 4 === 3) void this.#deps.api.probe().catch(() => undefined);
  }

  #network(): void {
    if (navigator.onLine) {
      this.#tell({ type: "network_back" });
      this.reconnectNow();
    } else this.#tell({ type: "network_lost" });
  }

  #joinUser(): void {
    const channel = this.#socket.channel(`user:${this.selfId}`, { client: "web" });
    this.#user = channel;
    channel.onMessage = (event, payload) => {
      if (channel === this.#user && !isInternal(event)) this.#userEvent(event, (payload ?? {}) as Record<string, unknown>);
      return payload;
    };
    channel.join();
  }

  #userEvent(event: string, payload: Record<string, unknown>): void {
    const id = typeof payload["conversationId"] === "string" ? payload["conversationId"] : "";
    this.presence.update((s) => foldPresence(s, event, payload, this.#now()));
    switch (event) {
      case "conversation_updated":
        this.#roomUpdated(id, payload);
        break;
      case "new_conversation": {
        const room = payload["conversation"] as Conversation | undefined;
        if (room?.id) this.putRoom(room);
        break;
      }
      case "conversation_deleted":
      case "removed_from_conversation":
        this.#roomGone(id);
        break;
      case "conversation_read":
        this.#setRooms(readRoom(this.list.get().rooms, id));
        // Own words from another device move the room without a `conversation_updated` of their own.
        if (!this.#rooms.get(id)?.joined) this.#rereadSoon(id);
        break;
      case "typing_indicator":
        this.#typingEvent(payload, null);
        break;
      case "active_organization_changed":
        void this.refresh();
        break;
      case "resync":
        this.#resyncUser();
        break;
      default:
        if (id) this.#setRooms(foldRoomEvent(this.list.get().rooms, id, event, payload));
    }
    for (const listener of [...this.#listeners]) listener(event, payload);
  }

  #roomUpdated(id: Id, payload: Record<string, unknown>): void {
    const message = payload["lastMessage"] as Message | undefined;
    if (!id || !message?.id) return;
    if (!this.list.get().rooms.has(id)) {
      void this.ensureRoom(id).catch(() => undefined);
      return;
    }
    const category = (payload["notificationCategory"] ?? message.notificationCategory ?? null) as string | null;
    const watched = this.#watched.has(id) && (this.#deps.visible?.() ?? true);
    this.#setRooms(arrived(this.list.get().rooms, id, { message, category, selfId: this.selfId, watched }));
  }

  #rereadSoon(id: Id): void {
    if (!this.list.get().rooms.has(id) || this.#rereadTimers.has(id)) return;
    this.#rereadTimers.set(
      id,
      setTimeout(() => {
        this.#rereadTimers.delete(id);
        void this.#deps.api
          .getConversation(id)
          .then((room) => !this.#stopped && this.putRoom(room))
          .catch(() => undefined);
      }, REREAD_MS),
    );
  }

  #roomGone(id: Id): void {
    this.dropRoom(id);
    const room = this.#rooms.get(id);
    if (room) room.fail(asGone());
  }

  /** Events were dropped for this connection: read again what they would have told. */
  #resyncUser(): void {
    this.#user?.leave();
    this.#joinUser();
    void this.refresh();
  }

  #roomEvent(id: Id, event: string, payload: Record<string, unknown>): void {
    if (event === "typing_indicator" || event === "typing") this.#typingEvent(payload, id);
    else if (event === "removed_from_conversation" || event === "conversation_deleted") this.#roomGone(id);
    else this.#setRooms(foldRoomEvent(this.list.get().rooms, id, event, payload));
    for (const listener of this.#roomListeners.get(id) ?? []) listener(event, payload);
  }

  #typingEvent(payload: Record<string, unknown>, room: Id | null): void {
    const e = readTyping(payload, room);
    if (!e || e.participantId === this.selfId) return;
    this.typing.update((s) => foldTyping(s, e, this.#now()));
    this.#planTypingSweep();
  }

  #planTypingSweep(): void {
    if (this.#typingTimer) clearTimeout(this.#typingTimer);
    this.#typingTimer = null;
    const due = nextTypingSweep(this.typing.get(), this.#now());
    if (due === null || this.#stopped) return;
    this.#typingTimer = setTimeout(() => {
      this.typing.update((s) => sweepTyping(s, this.#now()));
      this.#planTypingSweep();
    }, due + 5);
  }

  /** A message is in a room's timeline: its sender no longer types, and a placeholder with its nonce is done. */
  #landed(message: Message): void {
    if (message.senderId) this.typing.update((s) => stopTyping(s, message.conversationId, message.senderId ?? ""));
    if (message.senderId !== this.selfId) return;
    const { rooms } = this.list.get();
    const last = rooms.get(message.conversationId)?.room.lastMessage;
    // Own words are not told on the user topic of the one who wrote them.
    if (!last || last.insertedAt < message.insertedAt) {
      this.#setRooms(arrived(rooms, message.conversationId, { message, category: null, selfId: this.selfId, watched: true }));
    }
    const nonce = message.metadata?.client_nonce;
    if (!nonce) return;
    this.#storage.remove(nonce);
    this.#dropFiles(nonce);
    this.outbox.update((b) => removeItem(b, nonce));
  }

  // --- the outbox's side of the socket

  #prepare(id: Id): void {
    if (this.#preparing.has(id) || this.#stopped) return;
    const link = this.#rooms.get(id);
    if (link?.held) return; // its join calls flush
    this.#preparing.add(id);
    const release = this.follow(id, false);
    // Held until its queue is empty; then the room lingers and leaves.
    const stop = this.outbox.subscribe(() => {
      if (this.outbox.get().some((x) => x.conversationId === id && (x.state === "queued" || x.state === "sending"))) return;
      stop();
      this.#preparing.delete(id);
      release();
    });
  }

  #push(item: OutboxItem): Promise<SendResult> {
    return item.files?.length ? this.#pushWithFiles(item, item.files) : this.#pushMessage(item, []);
  }

  /** First the bytes, each file once, then the message that shows them. */
  async #pushWithFiles(item: OutboxItem, files: readonly OutboxFile[]): Promise<SendResult> {
    if (!this.uploads) return { kind: "refused", code: "attachments_not_available", message: "" };
    let sent = files;
    for (const file of files) {
      if (file.storageKey) continue;
      try {
        const storageKey = await this.uploads.send(item.conversationId, file);
        sent = sent.map((f) => (f.key === file.key ? { ...f, storageKey } : f));
        this.#keepFiles(item.nonce, sent);
      } catch (err) {
        const { code, kind, message } = asApiError(err);
        if (isPassing(err)) return { kind: "again", code: code || kind, afterMs: 2000 };
        return { kind: "refused", code: code || kind, message: message === code || message === kind ? "" : message };
      }
    }
    const result = await this.#pushMessage(item, sent);
    // Uploads are kept for a day: older ones are sent again.
    if (result.kind === "refused" && (result.code === "unknown_attachment" || result.code === "not_uploaded")) {
      this.#keepFiles(
        item.nonce,
        sent.map((f) => ({ ...f, storageKey: undefined })),
      );
      return { kind: "again", code: result.code, afterMs: 500 };
    }
    return result;
  }

  #keepFiles(nonce: string, files: readonly OutboxFile[]): void {
    this.outbox.update((b) => changeItem(b, nonce, { files }));
    const item = this.outbox.get().find((x) => x.nonce === nonce);
    if (item) this.#storage.save(item);
  }

  #dropFiles(nonce: string): void {
    const files = this.outbox.get().find((x) => x.nonce === nonce)?.files;
    if (files) this.uploads?.drop(files);
  }

  #pushMessage(item: OutboxItem, files: readonly OutboxFile[]): Promise<SendResult> {
    return new Promise((resolve) => {
      const payload = {
        content: item.content,
        content_type: "text",
        metadata: { client_nonce: item.nonce },
        ...(item.parentMessageId ? { parent_message_id: item.parentMessageId } : {}),
        ...(files.length
          ? { attachments: files.map(({ storageKey, filename, contentType, sizeBytes }) => ({ storageKey, filename, contentType, sizeBytes })) }
          : {}),
      };
      const push = this.#rooms.get(item.conversationId)?.push("new_message", payload, PUSH_TIMEOUT_MS);
      if (!push) {
        resolve({ kind: "again", code: "offline", afterMs: 1000 });
        return;
      }
      push
        .receive("ok", (r) => resolve({ kind: "stored", message: messageIn(r) }))
        .receive("error", (r) => resolve(refusal(r)))
        .receive("timeout", () => resolve({ kind: "again", code: "timeout", afterMs: 500 }));
    });
  }

  #itemStored(item: OutboxItem, message: Message | undefined): void {
    this.uploads?.drop(item.files ?? []);
    const link = this.#rooms.get(item.conversationId);
    if (message && link) {
      link.put(message);
      this.#landed(message);
      this.outbox.update((b) => removeItem(b, item.nonce));
      return;
    }
    // The placeholder stays until its message arrives, unless that came first or nobody follows the room.
    const seen = link && [...link.view.get().room.rows.values()].some((m) => m.metadata?.client_nonce === item.nonce);
    if (seen || !link?.held) this.outbox.update((b) => removeItem(b, item.nonce));
  }

  #otherTab(e: StorageEvent): void {
    const nonce = this.#storage.nonceOf(e.key);
    if (nonce && e.newValue === null) this.outbox.update((b) => (b.find((x) => x.nonce === nonce)?.state === "sending" ? b : removeItem(b, nonce)));
  }

  #idle(room: RoomLink): void {
    if (room.held || this.#stopped) return;
    // A failed or stored placeholder keeps its place in the list of unsent; the rows are kept for a quick return.
    const done = (x: OutboxItem) => x.conversationId === room.id && x.state === "stored";
    this.outbox.update((b) => (b.some(done) ? b.filter((x) => !done(x)) : b));
    for (const [id, link] of this.#rooms) {
      if (this.#rooms.size <= KEPT_ROOMS) break;
      if (link.held) continue;
      link.close();
      this.#rooms.delete(id);
    }
  }

  #setRooms(rooms: ListState): void {
    this.list.update((v) => (v.rooms === rooms ? v : { ...v, rooms }));
  }
}

function asGone(): ApiError {
  return new ApiError({ kind: "not_found", code: "not_found" });
}

/** The message, when the reply carries it: flat, or under `message`. */
function messageIn(response: unknown): Message | undefined {
  const r = (response ?? {}) as Record<string, unknown>;
  const m = (r["message"] && typeof r["message"] === "object" ? r["message"] : r) as Partial<Message>;
  return typeof m.id === "string" && typeof m.content === "string" && typeof m.insertedAt === "string" ? (m as Message) : undefined;
}

const passing: Record<string, number> = { rate_limited: 2000, unavailable: 1500, internal: 2000, timeout: 500, "unmatched topic": 500 };

function refusal(response: unknown): SendResult {
  const { code, message } = readReply(response);
  const afterMs = passing[code];
  return afterMs === undefined ? { kind: "refused", code, message } : { kind: "again", code, afterMs };
}
