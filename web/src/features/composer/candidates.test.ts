import { describe, expect, it } from "vitest";
import { type Candidate, candidatesFor, complete } from "./candidates";

const who = (displayName: string, extra: Partial<Candidate> = {}): Candidate => ({ id: displayName, displayName, kind: "human", ...extra });
const people = [who("Nora"), who("Elena Novak"), who("Nova", { kind: "agent" }), who("Noor", { outside: true }), who("诺亚")];

describe("who is offered", () => {
  it("puts members first, then better matches, then the alphabet", () => {
    expect(candidatesFor("no", people).map((c) => c.displayName)).toEqual(["Nora", "Nova", "Elena Novak", "Noor"]);
    expect(candidatesFor("诺", people).map((c) => c.displayName)).toEqual(["诺亚"]);
    expect(candidatesFor("zz", people)).toEqual([]);
    expect(candidatesFor("", [...people, ...people])).toHaveLength(6);
  });
  it("completes in place and leaves the caret after one space", () => {
    expect(complete("hi @no", 3, 6, "Nova")).toEqual({ text: "hi @Nova ", caret: 9 });
    expect(complete("@no there", 0, 3, "Nova")).toEqual({ text: "@Nova there", caret: 6 });
  });
});
