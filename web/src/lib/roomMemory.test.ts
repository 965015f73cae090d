import { expect, test } from "vitest";
import { memoryParts, memoryValue } from "./roomMemory";

test("a document of any form is shown, what is known first", () => {
  const parts = memoryParts({
    zoo: { cage: 1, lion: "Leo" },
    updatedBy: "x",
    participantsContext: { a: {} },
    keyDecisions: [{ decision: "Sail at nine", context: "the tide" }, { decision: "Go" }, "Stay", 7],
    empty: "",
    none: [],
    openQuestions: ["Who steers?"],
    n: 3,
    summary: "They sail.",
  });
  expect(parts.map((p) => [p.key, p.lines, p.editable])).toEqual([
    ["summary", ["They sail."], true],
    ["openQuestions", ["Who steers?"], true],
    ["keyDecisions", ["Sail at nine (the tide)", "Go", "Stay", "7"], false],
    ["n", ["3"], false],
    ["zoo", ["cage: 1", "lion: Leo"], false],
  ]);
});

test("what is written keeps its form", () => {
  expect(memoryValue(" a\nb ", false)).toBe("a\nb");
  expect(memoryValue(" a\n\n b \n", true)).toEqual(["a", "b"]);
});
