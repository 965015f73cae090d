/**
 * Cuts Markdown into its top-level blocks, and does so again cheaply while the text grows. Each block is rendered by itself and remembered, so a
 * streaming answer costs one block per update, and the blocks above the one being written are never touched: nothing that is being read moves.
 */
import { parse } from "./pipeline";

export interface Block {
  /** Offset of its first character: its identity while text is only appended. */
  start: number;
  source: string;
}

export interface Blocks {
  source: string;
  blocks: readonly Block[];
}

export const noBlocks: Blocks = { source: "", blocks: [] };

/**
 * The blocks of `source`. `previous` is the answer for an earlier state of the same text: when the text only grew, all but its last two blocks
 * are kept as they are (the last may grow, the one before it may yet join it: a list item after a blank line, a table row).
 */
export function splitBlocks(source: string, previous: Blocks = noBlocks): Blocks {
  if (source === previous.source) return previous;
  // Link definitions and footnotes reach across blocks: such a text is one block.
  if (/^ {0,3}\[[^\]\n]+\]:/m.test(source)) return { source, blocks: source.trim() ? [{ start: 0, source }] : [] };
  const grew = previous.blocks.length > 2 && source.startsWith(previous.source);
  const kept = grew ? previous.blocks.slice(0, -2) : [];
  const from = grew ? (previous.blocks[kept.length]?.start ?? 0) : 0;
  const blocks: Block[] = [...kept];
  const tail = source.slice(from);
  for (const node of parse(tail).children) {
    const start = node.position?.start.offset;
    const end = node.position?.end.offset;
    if (start === undefined || end === undefined) continue;
    // The block's own indentation belongs to it: an indented code block without it would be a paragraph.
    const lineStart = tail.lastIndexOf("\n", start - 1) + 1;
    const begin = tail.slice(lineStart, start).trim() === "" ? lineStart : start;
    blocks.push({ start: from + begin, source: tail.slice(begin, end) });
  }
  return { source, blocks };
}
