import { type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "react";
import { type Anchor, AWAY_PX, indexAtOffset, nextPinned, type Span, spanAround, spanAtEnd, sum, survivingKey } from "./anchor";

interface Options {
  keys: readonly string[];
  /** A first guess for a row that was never drawn. */
  estimate: (index: number) => number;
  /** Where to begin: at a row (its distance from the top of the view), or at the end. */
  initial: Anchor | "end";
  /** Called when the beginning of what is loaded comes near; `byReader` when it is the reader who went there. */
  onNearStart: (byReader: boolean) => void;
}

export interface AnchoredList {
  scroller: RefObject<HTMLDivElement | null>;
  content: RefObject<HTMLDivElement | null>;
  span: Span;
  above: number;
  below: number;
  /** The reader follows the end. */
  pinned: boolean;
  /** The end is in view, whether or not the reader follows it: a short room shows all there is from the start. */
  atEnd: boolean;
  /** The end is far enough away to offer the way back. */
  away: boolean;
  onScroll: () => void;
  toEnd: () => void;
  toKey: (key: string, top?: number) => void;
  /** Where the reader is now; null when following the end. */
  place: () => Anchor | null;
}

const NEAR_START_PX = 700;
const END_PX = 24;

/**
 * Draws only the rows around the reader, in normal flow between two spacers, and after every change puts the reader's row back where it was. The
 * anchor is an element inside the row when there is a finer one (a paragraph of a long answer), so that even a message that changes its height
 * above the line being read does not move that line.
 */
export function useAnchoredList({ keys, estimate, initial, onNearStart }: Options): AnchoredList {
  const scroller = useRef<HTMLDivElement | null>(null);
  const content = useRef<HTMLDivElement | null>(null);
  const measured = useRef(new Map<string, number>());
  const anchor = useRef<Anchor | null>(initial === "end" ? null : initial);
  const fine = useRef<{ key: string; part: number; top: number } | null>(null);
  const follow = useRef(initial === "end");
  const lastTop = useRef(0);
  const oldKeys = useRef<readonly string[]>(keys);
  const view = useRef(800);
  const [pinned, setPinned] = useState(initial === "end");
  const [atEnd, setAtEnd] = useState(initial === "end");
  const [away, setAway] = useState(false);
  const [, redraw] = useReducer((n: number) => n + 1, 0);

  const index = useMemo(() => new Map(keys.map((k, i) => [k, i])), [keys]);
  if (anchor.current && !index.has(anchor.current.key)) {
    const key = survivingKey(oldKeys.current, anchor.current.key, new Set(keys));
    anchor.current = key ? { key, top: anchor.current.top } : null;
    if (!key) follow.current = true;
  }
  oldKeys.current = keys;

  const heights = keys.map((k, i) => measured.current.get(k) ?? estimate(i));
  const span =
    follow.current || !anchor.current
      ? spanAtEnd(heights, view.current)
      : spanAround(heights, index.get(anchor.current.key) ?? 0, anchor.current.top, view.current);
  const drawn = useRef(span);
  drawn.current = span;

  const rowOf = useCallback((key: string): HTMLElement | null => content.current?.querySelector(`[data-key="${CSS.escape(key)}"]`) ?? null, []);

  /** Remembers the row, and the finest marked element in it, at the top of the view. */
  const capture = useCallback(() => {
    const box = scroller.current;
    if (!box || !content.current) return;
    const top = box.getBoundingClientRect().top;
    fine.current = null;
    for (const row of content.current.querySelectorAll<HTMLElement>("[data-key]")) {
      const r = row.getBoundingClientRect();
      if (r.bottom <= top + 1) continue;
      anchor.current = { key: row.dataset["key"] ?? "", top: r.top - top };
      if (r.top < top) {
        const parts = [...row.querySelectorAll("[data-anchor]")];
        const part = parts.findIndex((p) => p.getBoundingClientRect().bottom > top + 1);
        const found = parts[part];
        if (found) fine.current = { key: row.dataset["key"] ?? "", part, top: found.getBoundingClientRect().top - top };
      }
      return;
    }
  }, []);

  const restore = useCallback(() => {
    const box = scroller.current;
    if (!box) return;
    view.current = box.clientHeight || view.current;
    // What stands below the list lines up with it, whatever the scrollbar takes.
    box.closest<HTMLElement>("main")?.style.setProperty("--scrollbar", `${box.offsetWidth - box.clientWidth}px`);
    if (follow.current) {
      // Somebody who is selecting text is reading, wherever the end is.
      if (!selecting(box)) box.scrollTop = box.scrollHeight;
    } else if (anchor.current) {
      const held = fine.current;
      const row = rowOf(anchor.current.key);
      const part = held?.key === anchor.current.key ? row?.querySelectorAll("[data-anchor]")[held.part] : undefined;
      const element = part ?? row;
      const wanted = part && held ? held.top : anchor.current.top;
      if (element) {
        const delta = element.getBoundingClientRect().top - box.getBoundingClientRect().top - wanted;
        if (Math.abs(delta) >= 0.5) box.scrollTop += delta;
      }
    }
    lastTop.current = box.scrollTop;
    const distance = box.scrollHeight - box.scrollTop - box.clientHeight;
    setAtEnd(distance < END_PX);
    setAway(distance > AWAY_PX);
  }, [rowOf]);

  const measure = useCallback((): boolean => {
    let changed = false;
    for (const row of content.current?.querySelectorAll<HTMLElement>("[data-key]") ?? []) {
      const key = row.dataset["key"] ?? "";
      const height = row.getBoundingClientRect().height;
      if (Math.abs((measured.current.get(key) ?? -1) - height) >= 0.5) {
        measured.current.set(key, height);
        changed = true;
      }
    }
    return changed;
  }, []);

  // After every render: real heights first, then the reader's place. A second render only when the guess was off by more than the overscan forgives.
  useLayoutEffect(() => {
    measure();
    restore();
    const box = scroller.current;
    const inner = content.current;
    if (!box || !inner || keys.length === 0) return;
    const rows = inner.querySelectorAll<HTMLElement>("[data-key]");
    const first = rows[0]?.getBoundingClientRect().top ?? 0;
    const last = rows[rows.length - 1]?.getBoundingClientRect().bottom ?? 0;
    const area = box.getBoundingClientRect();
    const { start, end } = drawn.current;
    if ((start > 0 && first > area.top - 100) || (end < keys.length && last < area.bottom + 100)) redraw();
    if (start === 0 && box.scrollTop < NEAR_START_PX) onNearStart(false);
  });

  useEffect(() => {
    const box = scroller.current;
    const inner = content.current;
    if (!box || !inner) return;
    const observer = new ResizeObserver(() => {
      if (measure()) redraw();
      restore();
    });
    observer.observe(box);
    observer.observe(inner);
    return () => observer.disconnect();
  }, [measure, restore]);

  const onScroll = useCallback(() => {
    const box = scroller.current;
    const inner = content.current;
    if (!box || !inner) return;
    const distance = box.scrollHeight - box.scrollTop - box.clientHeight;
    const was = follow.current;
    const moved = Math.abs(box.scrollTop - lastTop.current) > 1;
    follow.current = nextPinned(was, lastTop.current, { top: box.scrollTop, distance });
    lastTop.current = box.scrollTop;
    if (was !== follow.current) setPinned(follow.current);
    setAtEnd(distance < END_PX);
    setAway(distance > AWAY_PX);
    const area = box.getBoundingClientRect();
    const rows = inner.querySelectorAll<HTMLElement>("[data-key]");
    const first = rows[0]?.getBoundingClientRect().top ?? 0;
    const last = rows[rows.length - 1]?.getBoundingClientRect().bottom ?? 0;
    const { start, end } = drawn.current;
    if (last <= area.top || first >= area.bottom) {
      // Beyond everything drawn: a drag of the scrollbar, Home, End.
      const all = keys.map((k, i) => measured.current.get(k) ?? estimate(i));
      const lead = rows[0] ? first - area.top + box.scrollTop - sum(all, 0, start) : 0;
      const at = indexAtOffset(all, box.scrollTop - lead);
      fine.current = null;
      anchor.current = { key: keys[at.index] ?? "", top: at.rowTop - (box.scrollTop - lead) };
      redraw();
      return;
    }
    // Our own corrections end here too; they are no movement of the reader and leave the place as it is.
    if (moved || (!follow.current && !anchor.current)) capture();
    if ((start > 0 && first > area.top - 300) || (end < keys.length && last < area.bottom + 300)) redraw();
    if (start === 0 && box.scrollTop < NEAR_START_PX) onNearStart(moved);
  }, [keys, estimate, capture, onNearStart]);

  const toEnd = useCallback(() => {
    follow.current = true;
    anchor.current = null;
    fine.current = null;
    setPinned(true);
    redraw();
  }, []);

  const toKey = useCallback((key: string, top = 96) => {
    follow.current = false;
    anchor.current = { key, top };
    fine.current = null;
    setPinned(false);
    redraw();
  }, []);

  const place = useCallback(() => (follow.current ? null : anchor.current), []);

  return {
    scroller,
    content,
    span,
    above: sum(heights, 0, span.start),
    below: sum(heights, span.end, heights.length),
    pinned,
    atEnd,
    away,
    onScroll,
    toEnd,
    toKey,
    place,
  };
}

function selecting(box: HTMLElement): boolean {
  const selection = document.getSelection();
  return !!selection && !selection.isCollapsed && !!selection.anchorNode && box.contains(selection.anchorNode);
}
