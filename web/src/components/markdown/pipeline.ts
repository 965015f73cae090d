/**
 * Markdown to a safe tree. GitHub flavour, a single newline is a line break (people write chat, not papers), raw HTML is shown as the text it is.
 * The tree passes an allow-list afterwards, so that a mistake in a plugin cannot become a script.
 */
import type { Element, ElementContent, Root as HastRoot, Properties, RootContent } from "hast";
import { defaultSchema, type Schema, sanitize } from "hast-util-sanitize";
import type { Root as MdastRoot, PhrasingContent, Text } from "mdast";
import remarkBreaks from "remark-breaks";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import remarkRehype from "remark-rehype";
import { unified } from "unified";
import { SKIP, visit } from "unist-util-visit";
import { findMentions, type Mentionable } from "#/lib/mention";

export interface MarkdownOptions {
  /** Names that become mentions. */
  people: readonly Mentionable[];
}

const schema: Schema = {
  ...defaultSchema,
  tagNames: [...(defaultSchema.tagNames ?? []), "mark"],
  attributes: {
    ...defaultSchema.attributes,
    code: [["className", /^language-./]],
    mark: ["dataMention"],
    a: ["href", "title", "ariaDescribedBy", "dataFootnoteBackref", "dataFootnoteRef", ["className", "data-footnote-backref"]],
    th: ["align"],
    td: ["align"],
  },
  protocols: { href: ["http", "https", "mailto", "tel"], src: ["https"] },
  // Ids of foreign text must not meet ours.
  clobberPrefix: "md-",
};

const parser = unified().use(remarkParse).use(remarkGfm, { singleTilde: false });
const toHast = unified().use(remarkRehype, { clobberPrefix: "" });

export function parse(source: string): MdastRoot {
  return parser.parse(source);
}

/** One piece of Markdown as a safe tree. */
export function render(source: string, options: MarkdownOptions): HastRoot {
  const tree = parse(source);
  remarkBreaks()(tree);
  htmlAsText(tree);
  mentions(tree, options.people);
  const hast = toHast.runSync(tree) as HastRoot;
  const safe = sanitize(hast, schema) as HastRoot;
  finish(safe);
  return safe;
}

/** Tags in a message are words about tags. Dropping them would lose what somebody wrote. */
function htmlAsText(tree: MdastRoot): void {
  visit(tree, "html", (node, index, parent) => {
    if (!parent || index === undefined) return;
    const text: Text = { type: "text", value: node.value };
    const block = parent.type === "root" || parent.type === "blockquote" || parent.type === "listItem";
    (parent.children as unknown[])[index] = block ? { type: "paragraph", children: [text] } : text;
  });
}

function mentions(tree: MdastRoot, people: readonly Mentionable[]): void {
  visit(tree, "text", (node, index, parent) => {
    if (!parent || index === undefined || parent.type === "link") return;
    const spans = findMentions(node.value, people);
    if (spans.length === 0) return;
    const parts: PhrasingContent[] = [];
    let from = 0;
    for (const span of spans) {
      if (span.start > from) parts.push({ type: "text", value: node.value.slice(from, span.start) });
      parts.push({
        type: "emphasis",
        data: { hName: "mark", hProperties: { dataMention: span.target.id } },
        children: [{ type: "text", value: `@${span.target.displayName}` }],
      });
      from = span.end;
    }
    if (from < node.value.length) parts.push({ type: "text", value: node.value.slice(from) });
    (parent.children as unknown[]).splice(index, 1, ...parts);
    return [SKIP, index + parts.length];
  });
}

/** Links open apart and tell nobody where they were pressed; a link whose target was refused is plain text. */
function finish(tree: HastRoot): void {
  visit(tree, "element", (node: Element, index, parent) => {
    if (node.tagName === "a") {
      const href = node.properties["href"];
      if (typeof href !== "string" || href === "") {
        if (parent && index !== undefined) (parent.children as ElementContent[]).splice(index, 1, ...node.children);
        return [SKIP, index ?? 0];
      }
      // Turning characters would let a link read as another address than the one it opens.
      visit(node, "text", (text) => {
        text.value = text.value.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");
      });
      if (!href.startsWith("#"))
        Object.assign(node.properties, { target: "_blank", rel: ["noopener", "noreferrer", "nofollow"] } satisfies Properties);
    }
    if (node.tagName === "th" || node.tagName === "td") {
      const align = node.properties["align"];
      delete node.properties["align"];
      if (align) node.properties["dataAlign"] = align;
    }
    return undefined;
  });
}

/** All text of a tree, for tests and for copying. */
export function textOf(node: HastRoot | RootContent | ElementContent): string {
  if (node.type === "text") return node.value;
  return "children" in node ? node.children.map((child) => textOf(child as ElementContent)).join("") : "";
}
