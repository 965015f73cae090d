// Code colours, fetched when the first code block is on screen. The grammar list is the usual one; an unknown language stays plain.
import type { Root } from "hast";

type Lowlight = { highlight(language: string, code: string): Root; registered(language: string): boolean };

let loaded: Lowlight | null = null;
let loading: Promise<Lowlight> | null = null;

/** Longer code is shown plain: colouring it would hold the page up. */
export const MAX_HIGHLIGHT = 40_000;

export function highlighterNow(): Lowlight | null {
  return loaded;
}

export function loadHighlighter(): Promise<Lowlight> {
  loading ??= import("./grammars").then((m) => {
    loaded = m.lowlight;
    return m.lowlight;
  });
  return loading;
}
