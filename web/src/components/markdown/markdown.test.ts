import type { Element, Root } from "hast";
import { visit } from "unist-util-visit";
import { describe, expect, it } from "vitest";
import { type Blocks, noBlocks, splitBlocks } from "./blocks";
import { render, textOf } from "./pipeline";

const people = [
  { id: "a", displayName: "Nova" },
  { id: "b", displayName: "小智" },
];
const md = (source: string) => render(source, { people });

function elements(tree: Root, tag?: string): Element[] {
  const out: Element[] = [];
  visit(tree, "element", (node: Element) => {
    if (!tag || node.tagName === tag) out.push(node);
  });
  return out;
}

describe("safe Markdown", () => {
  it.each([
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\u0000script:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)",
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    "![x](javascript:alert(1))",
    "<a href='javascript:alert(1)'>x</a>",
    "<img src=x onerror=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<iframe src='https://evil.example'></iframe>",
    "<style>*{display:none}</style>",
  ])("runs nothing: %s", (source) => {
    const tree = md(source);
    for (const node of elements(tree)) {
      expect(["script", "iframe", "svg", "style", "object"]).not.toContain(node.tagName);
      for (const [name, value] of Object.entries(node.properties)) {
        expect(name.toLowerCase()).not.toMatch(/^on/);
        expect(String(value).toLowerCase()).not.toMatch(/^\s*(java|vb)?script:|^\s*data:/);
      }
    }
  });

  it("shows tags as the text they are and loses none", () => {
    expect(textOf(md("a <b>bold</b> c"))).toBe("a <b>bold</b> c");
    expect(textOf(md("<dm target='Nova'>\nhi\n</dm>"))).toContain("<dm target='Nova'>");
  });

  it("opens links apart, without a referrer", () => {
    const [a] = elements(md("https://example.org"), "a");
    expect(a?.properties).toMatchObject({ href: "https://example.org", target: "_blank", rel: ["noopener", "noreferrer", "nofollow"] });
  });

  it("lets no link read as another address", () => {
    expect(textOf(md("https://example.com/\u202egpj.exe"))).toContain("https://example.com/gpj.exe");
    expect(textOf(md("[a **\u2066b**](https://example.com) \u202ec"))).toContain("a b \u202ec");
  });

  it("breaks lines where the writer did and knows tables, tasks and fences without a language", () => {
    expect(elements(md("a\nb"), "br")).toHaveLength(1);
    expect(elements(md("|a|b|\n|-|-:|\n|1|2|"), "td").map((n) => n.properties["dataAlign"])).toEqual([undefined, "right"]);
    expect(elements(md("- [x] done"), "input")).toHaveLength(1);
    expect(elements(md("```\nx\n```"), "pre")).toHaveLength(1);
    expect(textOf(md("~ 3 ~ 4"))).toBe("~ 3 ~ 4");
  });

  it("marks mentions, but not in code and links", () => {
    expect(elements(md("@[Nova] 和@小智 `@Nova` [@Nova](https://x.example)"), "mark").map((n) => n.properties["dataMention"])).toEqual(["a", "b"]);
  });
});

describe("blocks of a growing text", () => {
  const text = [
    "# Title",
    "First paragraph\nwith two lines.",
    "- one\n- two\n\n- three after a blank line",
    "```go\nfunc main() {\n\n\tprintln()\n}\n```",
    "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |",
    "> quote\n> more",
    "    indented code",
    "Last.",
  ].join("\n\n");

  it("are the same whether the text came at once or letter by letter", () => {
    let grown: Blocks = noBlocks;
    for (let i = 1; i <= text.length; i++) grown = splitBlocks(text.slice(0, i), grown);
    expect(grown.blocks).toEqual(splitBlocks(text).blocks);
  });

  it("keeps the identity of what lies above the end", () => {
    const before = splitBlocks(text);
    const after = splitBlocks(`${text} And more.`, before);
    expect(after.blocks[0]).toBe(before.blocks[0]);
    expect(after.blocks.at(-1)?.source).toBe("Last. And more.");
  });

  it("cuts nothing away", () => {
    const all = splitBlocks(text)
      .blocks.map((b) => b.source)
      .join("");
    expect(all.replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
  });

  it("treats a text with definitions as one block", () => {
    expect(splitBlocks("see [a]\n\n[a]: https://x.example").blocks).toHaveLength(1);
  });
});
