/** The one `phoenix` socket of a signed-in session, behind the few calls we use, so that tests can stand in for it. */
import { Socket } from "phoenix";
import { retryDelay } from "./connection";

export interface PushPort {
  receive(status: "ok" | "error" | "timeout", callback: (response?: unknown) => void): PushPort;
}

export interface ChannelPort {
  state: string;
  /** Sees every event of the topic, known or not; returns the payload. */
  onMessage: (event: string, payload: unknown, ref?: unknown) => unknown;
  join(): PushPort;
  leave(): PushPort;
  push(event: string, payload: object, timeout?: number): PushPort;
}

export interface SocketPort {
  connect(): void;
  disconnect(callback?: () => void): void;
  isConnected(): boolean;
  channel(topic: string, params: object): ChannelPort;
  onOpen(callback: () => void): void;
  onClose(callback: (event: { code: number }) => void): void;
}

export interface SocketOptions {
  /** Asked at every connect. */
  token: () => string;
  /** Told when a try is planned. */
  onRetry: (attempt: number, delayMs: number) => void;
  restarting: () => boolean;
}

export type MakeSocket = (options: SocketOptions) => SocketPort;

export const makePhoenixSocket: MakeSocket = (options) => {
  const socket = new Socket("/socket", {
    params: () => ({ token: options.token(), resync: "1" }), // docs/protocol.md 7
    heartbeatIntervalMs: 25_000,
    reconnectAfterMs: (tries: number) => {
      const delay = retryDelay(tries, options.restarting());
      options.onRetry(tries, delay);
      return delay;
    },
    rejoinAfterMs: (tries: number) => [500, 1500, 4000][tries - 1] ?? 10_000,
  });
  return {
    connect: () => socket.connect(),
    disconnect: (callback) => socket.disconnect(callback),
    isConnected: () => socket.isConnected(),
    channel: (topic, params) => socket.channel(topic, params) as unknown as ChannelPort,
    onOpen: (callback) => void socket.onOpen(callback),
    onClose: (callback) => void socket.onClose((event: { code?: number }) => callback({ code: event?.code ?? 1006 })),
  };
};

/** Phoenix's own events, which carry nothing of ours. A push that times out while the socket is away even comes without a name. */
export function isInternal(event: string | null | undefined): boolean {
  return !event || event.startsWith("phx_") || event.startsWith("chan_reply_");
}

/** Reads an error reply: `{code, message}`, or `{reason}` of plain Phoenix. */
export function readReply(response: unknown): { code: string; message: string } {
  const r = (response ?? {}) as Record<string, unknown>;
  const nested = r["error"];
  if (nested && typeof nested === "object") return readReply(nested);
  const code = [r["code"], r["reason"], nested].find((v): v is string => typeof v === "string") ?? "error";
  return { code, message: typeof r["message"] === "string" ? r["message"] : "" };
}
