import { describe, expect, it } from "vitest";
import type { PermissionRequest } from "#/api/types";
import {
  decidedLine,
  diffLines,
  editable,
  grantedLine,
  heir,
  mayEdit,
  oneLine,
  parseEdited,
  shownInput,
  shownRequest,
  step,
  visible,
  withoutRequest,
  withRequest,
} from "./lists";

const request = (id: string, expiresAt: string, status: PermissionRequest["status"] = "pending"): PermissionRequest => ({
  id,
  agentId: "a",
  ownerId: "o",
  toolName: "Bash",
  status,
  expiresAt,
  insertedAt: "",
});

describe("the list of what waits", () => {
  it("has what ends first on top, each once, and nothing that is decided", () => {
    const list = [request("b", "2026-01-02")];
    expect(withRequest(list, request("a", "2026-01-01"))?.map((r) => r.id)).toEqual(["a", "b"]);
    expect(withRequest(list, request("b", "2026-01-03"))?.map((r) => r.expiresAt)).toEqual(["2026-01-03"]);
    expect(withRequest(list, request("b", "2026-01-02", "denied"))).toEqual([]);
    expect(withRequest(undefined, request("a", ""))).toBeUndefined();
    expect(withoutRequest(list, "b")).toEqual([]);
    expect(withoutRequest(list, "x")).toHaveLength(1);
  });

  it("is walked by keys and stops at its ends", () => {
    expect(step(["a", "b"], null, 1)).toBe("a");
    expect(step(["a", "b"], "a", 1)).toBe("b");
    expect(step(["a", "b"], "b", 1)).toBe("b");
    expect(step(["a", "b"], "a", -1)).toBe("a");
    expect(step(["a", "b"], "gone", -1)).toBe("a");
    expect(step([], "a", 1)).toBeNull();
  });

  it("goes on with what came after the one that was decided, whatever comes before it meanwhile", () => {
    expect(heir([], ["a", "b"], null)).toBe("a");
    expect(heir(["a", "b"], ["new", "a", "b"], "a")).toBe("a");
    expect(heir(["a", "b", "c"], ["new", "a", "c"], "b")).toBe("c");
    expect(heir(["a", "b"], ["new", "a"], "b")).toBe("a");
    expect(heir(["a"], ["x"], "gone")).toBe("x");
    expect(heir(["a"], [], "a")).toBeNull();
  });
});

describe("what will run", () => {
  it("shows everything: the command first, the rest as JSON", () => {
    expect(shownInput("Bash", { command: "ls" })).toEqual({ main: "ls", rest: "" });
    expect(shownInput("Bash", { command: "ls", timeout: 5 })).toEqual({ main: "ls", rest: '{\n  "timeout": 5\n}' });
    expect(shownInput("Write", { file_path: "/x", content: "y\nz" })).toEqual({ main: "y\nz", rest: '{\n  "file_path": "/x"\n}' });
    expect(shownInput("Edit", { file_path: "/x", old_string: "y" }).main).toContain('"old_string": "y"');
    expect(shownInput("Bash", { command: 7 }).main).toContain("7");
    expect(shownInput("Bash", null).main).toBe("{}");
  });

  it("shows a large number as it is, and offers no editor that would change it", () => {
    const action = '{"input":{"id":9007199254740993},"tool":"x"}';
    expect(shownRequest({ toolName: "x", toolInput: JSON.parse(action).input, action }).main).toBe(action);
    expect(mayEdit({ durable: true, action })).toBe(false);
    expect(mayEdit({ durable: true, action: "{}" })).toBe(true);
    expect(mayEdit({ durable: false, action: "{}" })).toBe(false);
    expect(
      shownRequest({
        toolName: "Bash",
        toolInput: { command: "echo 1234567890123456789" },
        action: '{"input":{"command":"echo 1234567890123456789"},"tool":"Bash"}',
      }).main,
    ).toBe("echo 1234567890123456789");
  });

  it("says in one line what a standing yes allows exactly", () => {
    const action = '{"input":{"command":"make\\n all"},"tool":"Bash"}';
    expect(grantedLine({ toolName: "Bash", action, actionCut: false })).toBe("make all");
    expect(grantedLine({ toolName: "Bash", action: action.slice(0, 20), actionCut: true })).toBe('{"input":{"command":');
    expect(grantedLine({ toolName: "Bash", action: null, actionCut: false })).toBe("");
  });
  it("says in one line what was decided", () => {
    const r = { toolName: "Bash", toolInput: { command: "make\n\n  all\u202e" }, action: "", editedInput: null };
    expect(decidedLine(r)).toBe("make all⟨U+202E⟩");
    expect(decidedLine({ ...r, editedInput: { command: "make one" } })).toBe("make one");
    expect(decidedLine({ ...r, toolName: "Write", toolInput: { file_path: "/a.md", content: "# Tides\nlow" } })).toBe("/a.md — # Tides low");
    expect(oneLine("x".repeat(400))).toHaveLength(301);
  });
  it("makes visible what the eye does not see", () => {
    expect(visible("rm\u202e x\u200b\u0007")).toBe("rm⟨U+202E⟩ x⟨U+200B⟩⟨U+0007⟩");
    expect(visible("a\u00a0b\u3164\u2800\u034f\u{e0041}\ud800\u115f\ufff9\r")).toBe(
      "a⟨U+00A0⟩b⟨U+3164⟩⟨U+2800⟩⟨U+034F⟩⟨U+E0041⟩⟨U+D800⟩⟨U+115F⟩⟨U+FFF9⟩⟨U+000D⟩",
    );
    expect(visible("a\tb\n中文 é")).toBe("a\tb\n中文 é");
  });
});

describe("an edit", () => {
  it("is the command alone where there is nothing else", () => {
    expect(editable("Bash", { command: "ls" })).toEqual({ text: "ls", plain: true });
    expect(editable("Bash", { command: "ls", timeout: 5 }).plain).toBe(false);
    expect(parseEdited("Bash", "ls -l", true)).toEqual({ command: "ls -l" });
    expect(parseEdited("Bash", "  ", true)).toBeNull();
    expect(parseEdited("Write", '{"a":1}', false)).toEqual({ a: 1 });
    for (const bad of ["[1]", "null", "{", '"x"']) expect(parseEdited("Write", bad, false)).toBeNull();
  });

  it("shows the lines that went and came", () => {
    expect(diffLines("a\nb\nc", "a\nx\nc")).toEqual([
      { kind: "same", text: "a" },
      { kind: "gone", text: "b" },
      { kind: "new", text: "x" },
      { kind: "same", text: "c" },
    ]);
    expect(diffLines("", "a").filter((l) => l.kind === "new")).toEqual([{ kind: "new", text: "a" }]);
    const long = Array.from({ length: 500 }, (_, n) => String(n)).join("\n");
    expect(diffLines(long, "x")).toHaveLength(501);
  });

  it("gives both texts back, whatever they are", () => {
    const words = ["a", "b", "c", ""];
    for (let n = 0; n < 200; n++) {
      const some = (seed: number) => Array.from({ length: (seed % 5) + 1 }, (_, i) => words[(seed * 7 + i * i * 3) % 4]).join("\n");
      const [before, after] = [some(n), some(n * 3 + 1)];
      const lines = diffLines(before, after);
      const join = (not: string) =>
        lines
          .filter((l) => l.kind !== not)
          .map((l) => l.text)
          .join("\n");
      expect(join("new")).toBe(before);
      expect(join("gone")).toBe(after);
    }
  });
});
