import { describe, expect, it } from "vitest";
import { MAX_FILE_BYTES, MAX_FILES } from "#/api/files";
import { addFiles, chosenFor, keepChosen, named } from "./chosen";

const file = (name: string, size = 3, type = "text/plain") => {
  const f = new File(["x".repeat(Math.min(size, 3))], name, { type, lastModified: 1 });
  Object.defineProperty(f, "size", { value: size });
  return f;
};

describe("files chosen for a message", () => {
  it("are taken once, and say what cannot be taken and why", () => {
    const first = addFiles([], [file("a.txt"), file("empty.txt", 0), file("huge.bin", MAX_FILE_BYTES + 1), file("a.txt")]);
    expect(first.files.map((f) => f.name)).toEqual(["a.txt"]);
    expect(first.refused).toEqual([
      { name: "empty.txt", why: "empty" },
      { name: "huge.bin", why: "large" },
    ]);
    const many = addFiles(
      first.files,
      Array.from({ length: MAX_FILES }, (_, i) => file(`${i}.txt`)),
    );
    expect(many.files).toHaveLength(MAX_FILES);
    expect(many.refused).toEqual([{ name: `${MAX_FILES - 1}.txt`, why: "many" }]);
  });

  it("stay with their room", () => {
    const held = [file("a.txt")];
    keepChosen("r1", held);
    expect(chosenFor("r1")).toBe(held);
    expect(chosenFor("r2")).toEqual([]);
    keepChosen("r1", []);
    expect(chosenFor("r1")).toEqual([]);
  });

  it("get a name of their own when they are pasted", () => {
    const at = new Date("2026-03-01T10:20:30Z");
    expect(named(file("image.png", 3, "image/png"), at).name).toBe("2026-03-01 10.20.30.png");
    expect(named(file("sails.png", 3, "image/png"), at).name).toBe("sails.png");
  });
});
