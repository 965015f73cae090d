/**
 * The arithmetic of the list that never moves under its reader. Rows have heights that are guesses until they were on the screen; the reader's
 * place is therefore kept as "this row, this far from the top of the view" and never as a scroll offset. Pure; useAnchoredList.ts does the DOM.
 */

export interface Anchor {
  key: string;
  /** Pixels from the top of the view to the top of the row; negative when the row begins above. */
  top: number;
}

/** A reader who is this close to the end follows it. */
const PIN_PX = 24;
/** Further than this from the end, the way back is offered. */
export const AWAY_PX = 120;
/** Rendered beyond the view, above and below. */
export const OVERSCAN_PX = 900;

export interface Span {
  start: number;
  /** Exclusive. */
  end: number;
}

/** The rows to draw around the row at `index`, whose top is `top` px below the top of the view. */
export function spanAround(heights: readonly number[], index: number, top: number, view: number): Span {
  const count = heights.length;
  if (count === 0) return { start: 0, end: 0 };
  const at = Math.min(Math.max(index, 0), count - 1);
  let start = at;
  for (let y = top; start > 0 && y > -OVERSCAN_PX; start--) y -= heights[start - 1] ?? 0;
  let end = at;
  for (let y = top; end < count && y < view + OVERSCAN_PX; end++) y += heights[end] ?? 0;
  return { start, end: Math.max(end, at + 1) };
}

/** The rows to draw when the end is in view. */
export function spanAtEnd(heights: readonly number[], view: number): Span {
  let start = heights.length;
  for (let y = 0; start > 0 && y < view + OVERSCAN_PX; start--) y += heights[start - 1] ?? 0;
  return { start, end: heights.length };
}

/** The row at an offset, for a jump (scrollbar, Home key) to where nothing was drawn yet. */
export function indexAtOffset(heights: readonly number[], offset: number): { index: number; rowTop: number } {
  let y = 0;
  for (let i = 0; i < heights.length; i++) {
    const next = y + (heights[i] ?? 0);
    if (next > offset || i === heights.length - 1) return { index: i, rowTop: y };
    y = next;
  }
  return { index: 0, rowTop: 0 };
}

export function sum(heights: readonly number[], from: number, to: number): number {
  let total = 0;
  for (let i = from; i < to; i++) total += heights[i] ?? 0;
  return total;
}

/**
 * Whether the reader follows the end after a scroll: reaching it pins, moving up releases. Growth below (the same offset, further from the end)
 * is not a movement of the reader and changes nothing.
 */
export function nextPinned(pinned: boolean, before: number, now: { top: number; distance: number }): boolean {
  if (now.distance <= PIN_PX) return true;
  return now.top < before - 1 ? false : pinned;
}

/** The anchor when its row is gone: the nearest later row that was there before and still is, else the nearest earlier one. */
export function survivingKey(oldKeys: readonly string[], lost: string, keys: ReadonlySet<string>): string | null {
  const at = oldKeys.indexOf(lost);
  if (at < 0) return null;
  for (let i = at + 1; i < oldKeys.length; i++) if (keys.has(oldKeys[i] ?? "")) return oldKeys[i] ?? null;
  for (let i = at - 1; i >= 0; i--) if (keys.has(oldKeys[i] ?? "")) return oldKeys[i] ?? null;
  return null;
}
