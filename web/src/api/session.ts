/**
 * The signed-in session of this browser: token and last known self, under the two storage keys every client of the contract uses (2.1). The one
 * place that touches them. Other tabs follow through the `storage` event.
 */
import type { Self } from "./types";

const TOKEN = "authToken";
const SELF = "participant";

export interface AuthSession {
  token: string;
  self: Self;
}

/** Why a session ended: `expired` came from the server, `signed_out` from the person. */
export type EndReason = "expired" | "signed_out";

type Listener = (session: AuthSession | null, reason?: EndReason) => void;

export class SessionStore {
  #session: AuthSession | null;
  #listeners = new Set<Listener>();
  #storage: Storage | null;

  constructor(storage: Storage | null) {
    this.#storage = storage;
    this.#session = this.#read();
    if (typeof window !== "undefined") {
      window.addEventListener("storage", (e) => {
        if (e.key === TOKEN || e.key === null) this.#adopt(this.#read());
      });
    }
  }

  get = (): AuthSession | null => this.#session;

  token(): string | null {
    return this.#session?.token ?? null;
  }

  /** Begins a session. */
  start(session: AuthSession): void {
    this.#write(session);
    this.#adopt(session);
  }

  /** Replaces what is known of the person, keeping the token. Ignored when signed out or for another person. */
  update(self: Self): void {
    if (!this.#session || this.#session.self.id !== self.id) return;
    const next = { token: this.#session.token, self };
    this.#write(next);
    this.#adopt(next);
  }

  /** Ends the session here. `token` guards against a late 401 of an older session ending a newer one. */
  end(reason: EndReason, token?: string): void {
    if (!this.#session || (token !== undefined && token !== this.#session.token)) return;
    this.#write(null);
    this.#adopt(null, reason);
  }

  subscribe = (fn: Listener): (() => void) => {
    this.#listeners.add(fn);
    return () => this.#listeners.delete(fn);
  };

  #adopt(session: AuthSession | null, reason?: EndReason): void {
    this.#session = session;
    for (const fn of [...this.#listeners]) fn(session, reason);
  }

  #read(): AuthSession | null {
    try {
      const token = this.#storage?.getItem(TOKEN);
      const raw = this.#storage?.getItem(SELF);
      if (!token || !raw) return null;
      const self = JSON.parse(raw) as Self;
      return self?.id ? { token, self } : null;
    } catch {
      return null;
    }
  }

  #write(session: AuthSession | null): void {
    try {
      if (session) {
        this.#storage?.setItem(SELF, JSON.stringify(session.self));
        this.#storage?.setItem(TOKEN, session.token);
      } else {
        this.#storage?.removeItem(TOKEN);
        this.#storage?.removeItem(SELF);
      }
    } catch {
      // Private mode or a full disk: the session then lives as long as the page.
    }
  }
}

function browserStorage(): Storage | null {
  try {
    return typeof window === "undefined" ? null : window.localStorage;
  } catch {
    return null;
  }
}

export const session = new SessionStore(browserStorage());
