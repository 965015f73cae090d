/** Files that are chosen for a message, per room, while the page is open: going to another room and back loses none. Pure but for that memory. */
import { MAX_FILE_BYTES, MAX_FILES } from "#/api/files";

export type Refusal = { name: string; why: "empty" | "large" | "many" };

const chosen = new Map<string, readonly File[]>();

export function chosenFor(roomId: string): readonly File[] {
  return chosen.get(roomId) ?? [];
}

export function keepChosen(roomId: string, files: readonly File[]): void {
  if (files.length) chosen.set(roomId, files);
  else chosen.delete(roomId);
}

const same = (a: File, b: File) => a.name === b.name && a.size === b.size && a.lastModified === b.lastModified;

/** Adds what may be sent; a folder that was dropped looks empty. The same file twice is one. */
export function addFiles(held: readonly File[], more: readonly File[]): { files: readonly File[]; refused: Refusal[] } {
  const files = [...held];
  const refused: Refusal[] = [];
  for (const file of more) {
    if (files.some((f) => same(f, file))) continue;
    if (file.size === 0) refused.push({ name: file.name, why: "empty" });
    else if (file.size > MAX_FILE_BYTES) refused.push({ name: file.name, why: "large" });
    else if (files.length >= MAX_FILES) refused.push({ name: file.name, why: "many" });
    else files.push(file);
  }
  return { files, refused };
}

/** A pasted picture has no name of its own: every browser calls it the same. */
export function named(file: File, at: Date): File {
  if (file.name && !/^image\.\w+$/.test(file.name)) return file;
  const kind = /\/(\w+)/.exec(file.type)?.[1] ?? "png";
  const stamp = at.toISOString().slice(0, 19).replace("T", " ").replaceAll(":", ".");
  return new File([file], `${stamp}.${kind}`, { type: file.type, lastModified: at.getTime() });
}
