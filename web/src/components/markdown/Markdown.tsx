import type { Element } from "hast";
import { toJsxRuntime } from "hast-util-to-jsx-runtime";
import { ImageIcon } from "lucide-react";
import { type ComponentProps, memo, type ReactNode, useRef, useState } from "react";
import { Fragment, jsx, jsxs } from "react/jsx-runtime";
import { useT } from "#/i18n";
import type { Mentionable } from "#/lib/mention";
import { type Blocks, noBlocks, splitBlocks } from "./blocks";
import { CodeBlock } from "./CodeBlock";
import { render, textOf } from "./pipeline";

export interface MarkdownProps {
  source: string;
  /** Names that are shown as mentions. Keep the array's identity stable: it is compared, not its content. */
  people: readonly Mentionable[];
  /** Whose mention is marked strongly. */
  selfId?: string;
  /** The text is still being written: colours wait until it is done. */
  growing?: boolean;
}

/** What somebody wrote, rendered block by block (see blocks.ts). */
export function Markdown({ source, people, selfId, growing = false }: MarkdownProps) {
  const memory = useRef<Blocks>(noBlocks);
  memory.current = splitBlocks(source, memory.current);
  const { blocks } = memory.current;
  return (
    <div className="prose">
      {blocks.map((block, i) => (
        <BlockView key={block.start} source={block.source} people={people} selfId={selfId} settled={!growing || i < blocks.length - 1} />
      ))}
    </div>
  );
}

type BlockProps = { source: string; people: readonly Mentionable[]; selfId: string | undefined; settled: boolean };

const BlockView = memo(function BlockView({ source, people, selfId, settled }: BlockProps) {
  const tree = render(source, { people });
  return (
    <div className="block" data-anchor="">
      {toJsxRuntime(tree, {
        Fragment,
        jsx,
        jsxs,
        passNode: true,
        components: {
          pre: (props) => <Pre node={props.node} settled={settled} />,
          table: ({ node: _, children, ...rest }) => (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
            <div className="table-frame ring-inset-focus" tabIndex={0}>
              <table {...rest}>{children}</table>
            </div>
          ),
          input: ({ node: _, ...rest }) => <TaskBox {...rest} />,
          img: ({ node: _, ...rest }) => <RemoteImage {...rest} />,
          mark: ({ node, children }) => <Mention id={String(node?.properties["dataMention"] ?? "")} selfId={selfId} name={children} />,
        },
      })}
    </div>
  );
});

function Pre({ node, settled }: { node: Element | undefined; settled: boolean }) {
  const code = node?.children.find((c): c is Element => c.type === "element" && c.tagName === "code");
  const names = code?.properties["className"];
  const language = Array.isArray(names) ? String(names[0] ?? "").replace(/^language-/, "") : "";
  return <CodeBlock code={code ? textOf(code).replace(/\n$/, "") : ""} language={language.toLowerCase()} settled={settled} />;
}

function TaskBox({ checked }: ComponentProps<"input">) {
  const t = useT();
  return <input type="checkbox" disabled checked={checked === true} readOnly aria-label={t(checked ? "markdown.done" : "markdown.open")} />;
}

function Mention({ id, selfId, name }: { id: string; selfId: string | undefined; name: ReactNode }) {
  const self = id === selfId;
  return (
    <span
      data-mention={id}
      className={
        self
          ? "rounded-[4px] bg-wait-soft px-1 py-px font-medium text-wait-text [box-decoration-break:clone]"
          : "rounded-[4px] bg-accent-soft px-1 py-px font-medium text-accent-text [box-decoration-break:clone]"
      }
    >
      {name}
    </span>
  );
}

/** A picture on somebody else's server tells that server who reads it. It is loaded when asked for. */
function RemoteImage({ src, alt }: ComponentProps<"img">) {
  const t = useT();
  const [shown, setShown] = useState(false);
  if (typeof src !== "string" || !src) return <span className="text-text-3">{alt}</span>;
  if (shown)
    return <img src={src} alt={alt ?? ""} referrerPolicy="no-referrer" className="my-1 max-h-96 max-w-full rounded-panel border border-line" />;
  let host = "";
  try {
    host = new URL(src).host;
  } catch {
    return <span className="text-text-3">{alt}</span>;
  }
  return (
    <button
      type="button"
      onClick={() => setShown(true)}
      className="inline-flex max-w-full items-center gap-2 rounded-control border border-line bg-raised px-2.5 py-1 text-left text-side hover:bg-hover"
    >
      <ImageIcon size={16} strokeWidth={1.75} className="shrink-0 text-text-3" />
      <span className="min-w-0 truncate">{alt || t("image.untitled")}</span>
      <span className="min-w-0 truncate text-meta text-text-3">{t("image.show", { host })}</span>
    </button>
  );
}
