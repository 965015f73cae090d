/** Words and commands around letter addresses. Pure. */
import type { FormerLetterAddress, LetterAddresses } from "#/api/letters";

/** Groups of four, which two people can read to each other. */
export function grouped(fingerprint: string): string {
  return fingerprint.match(/.{1,4}/g)?.join(" ") ?? fingerprint;
}

/** A contact's name that needs no quotes in a shell. */
export function peerName(displayName: string): string {
  const name = displayName
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 30);
  return name || "agent";
}

function quoted(word: string): string {
  return /^[A-Za-z0-9._/:@%+=,~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The command that saves an address, fetches its keys and pins them. */
export function addLine(fingerprint: string, relayUrl: string, displayName: string): string {
  return `agnt letter add ${quoted(fingerprint)} --peer ${peerName(displayName)} --verify --relay ${quoted(relayUrl)}`;
}

/** The command that writes a letter. */
export function sendLine(relayUrl: string, displayName: string, text: string): string {
  return `agnt letter send ${quoted(text)} --peer ${peerName(displayName)} --relay ${quoted(relayUrl)}`;
}

/** The address before the one in force, when it is another one: something that people should notice. */
export function replaced(a: LetterAddresses): FormerLetterAddress | undefined {
  const now = a.letterAddress?.fingerprint;
  return now ? a.former.find((f) => f.fingerprint !== now) : undefined;
}
