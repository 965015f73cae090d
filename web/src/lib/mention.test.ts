import { describe, expect, it } from "vitest";
import { codeSpans, encodeMentions, findMentionsOutsideCode, mentionQueryAt, nameRank, plainMentions } from "./mention";

const people = [
  { id: "1", displayName: "Ann" },
  { id: "2", displayName: "Ann Lee" },
  { id: "3", displayName: "小智" },
  { id: "4", displayName: "José Ángel" },
  { id: "5", displayName: "R2 (ops)" },
];
const found = (text: string) => findMentionsOutsideCode(text, people).map((s) => [s.target.id, text.slice(s.start, s.end)]);

describe("mentions", () => {
  it("takes the longest name, in either form, without regard to case", () => {
    expect(found("@Ann Lee, @ann and @[ANN LEE]")).toEqual([
      ["2", "@Ann Lee"],
      ["1", "@ann"],
      ["2", "@[ANN LEE]"],
    ]);
  });

  it("keeps to Unicode word boundaries", () => {
    expect(found("@Anna mail@Ann.example")).toEqual([]);
    expect(found("(@Ann)")).toEqual([["1", "@Ann"]]);
    expect(found("@josé ángel！")).toEqual([["4", "@josé ángel"]]);
    expect(found("请@小智看看")).toEqual([["3", "@小智"]]);
    expect(found("@R2 (ops) go")).toEqual([["5", "@R2 (ops)"]]);
  });

  it("ignores code", () => {
    expect(found("`@Ann` and\n```\n@Ann\n```\n@Ann")).toEqual([["1", "@Ann"]]);
    expect(codeSpans("```\nopen")).toHaveLength(1);
  });

  it("leaves names it does not know as text", () => {
    expect(found("@[Nobody] @nobody")).toEqual([]);
    expect(encodeMentions("@Nobody", people)).toBe("@Nobody");
  });

  it("sends the unmistakable form, once", () => {
    const once = encodeMentions("hi @Ann Lee and `@Ann`", people);
    expect(once).toBe("hi @[Ann Lee] and `@Ann`");
    expect(encodeMentions(once, people)).toBe(once);
    expect(plainMentions(once)).toBe("hi @Ann Lee and `@Ann`");
  });
});

describe("the mention being typed", () => {
  const at = (text: string) => mentionQueryAt(text, text.length);
  it("opens at a word start in any script and may contain a space", () => {
    expect(at("hello @小")).toEqual({ start: 6, query: "小" });
    expect(at("@Ann L")).toEqual({ start: 0, query: "Ann L" });
    expect(at("@[Ann")).toEqual({ start: 0, query: "Ann" });
    expect(at("你好@")).toEqual({ start: 2, query: "" });
  });
  it("stays closed in addresses, after a finished mention, on the next line and in code", () => {
    expect(at("me@host")).toBeNull();
    expect(at("@[Ann Lee] ")).toBeNull();
    expect(at("@Ann\nx")).toBeNull();
    expect(at("@ x")).toBeNull();
    expect(at("```\n@An")).toBeNull();
  });
  it("ranks prefixes before inner matches", () => {
    expect(nameRank("Ann Lee", "an")).toBe(0);
    expect(nameRank("Ann Lee", "le")).toBe(1);
    expect(nameRank("Ann Lee", "ee")).toBe(2);
    expect(nameRank("Ann Lee", "x")).toBe(-1);
  });
});
