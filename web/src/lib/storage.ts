// Small values kept on this device. Storage may be blocked or full: reading then gives null and writing is
// silently skipped, because everything kept here can be lived without.

export function readLocal(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function writeLocal(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // See the file comment.
  }
}
