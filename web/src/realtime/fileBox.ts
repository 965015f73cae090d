/**
 * Keeps the bytes of files that are not sent yet, so that they survive a lost connection and a reload: in memory, and in IndexedDB where the browser has
 * it. A key belongs to one person on this device. Storage that is blocked or full costs durability, not sending.
 */
const STORE = "files";

export interface FileBox {
  put(key: string, file: Blob): void;
  /** Null when the bytes are not on this device any more. */
  get(key: string): Promise<Blob | null>;
  drop(key: string): void;
}

export class DeviceFileBox implements FileBox {
  readonly #held = new Map<string, Blob>();
  readonly #name: string;
  #db: Promise<IDBDatabase | null> | null = null;

  constructor(selfId: string) {
    this.#name = `agntchat.files.${selfId}`;
  }

  put(key: string, file: Blob): void {
    this.#held.set(key, file);
    void this.#write((store) => store.put(file, key));
  }

  async get(key: string): Promise<Blob | null> {
    const held = this.#held.get(key);
    if (held) return held;
    const db = await this.#open();
    if (!db) return null;
    return new Promise((resolve) => {
      const ask = db.transaction(STORE, "readonly").objectStore(STORE).get(key);
      ask.onsuccess = () => resolve(ask.result instanceof Blob ? ask.result : null);
      ask.onerror = () => resolve(null);
    });
  }

  drop(key: string): void {
    this.#held.delete(key);
    void this.#write((store) => store.delete(key));
  }

  async #write(change: (store: IDBObjectStore) => void): Promise<void> {
    const db = await this.#open();
    try {
      if (db) change(db.transaction(STORE, "readwrite").objectStore(STORE));
    } catch {
      // Full or closed: the bytes in memory are enough until the page is left.
    }
  }

  #open(): Promise<IDBDatabase | null> {
    this.#db ??= new Promise((resolve) => {
      try {
        const ask = indexedDB.open(this.#name, 1);
        ask.onupgradeneeded = () => ask.result.createObjectStore(STORE);
        ask.onsuccess = () => resolve(ask.result);
        ask.onerror = () => resolve(null);
        ask.onblocked = () => resolve(null);
      } catch {
        resolve(null);
      }
    });
    return this.#db;
  }
}
