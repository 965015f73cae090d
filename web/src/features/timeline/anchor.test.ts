import { describe, expect, it } from "vitest";
import { indexAtOffset, nextPinned, OVERSCAN_PX, spanAround, spanAtEnd, sum, survivingKey } from "./anchor";

const heights = Array.from({ length: 1000 }, (_, i) => 40 + (i % 7) * 30);

describe("which rows are drawn", () => {
  it("covers the view and the overscan on both sides, and no more than a row beyond", () => {
    for (const [index, top] of [
      [500, 0],
      [500, -35],
      [3, 10],
      [998, 200],
    ] as const) {
      const { start, end } = spanAround(heights, index, top, 800);
      const above = top - sum(heights, start, index);
      const below = top + sum(heights, index, end);
      expect(above <= -OVERSCAN_PX || start === 0).toBe(true);
      expect(below >= 800 + OVERSCAN_PX || end === heights.length).toBe(true);
      expect(end - start).toBeLessThan(60);
    }
  });

  it("is the same rows when older ones come before them", () => {
    const older = [...heights.slice(0, 30), ...heights];
    const a = spanAround(heights, 400, -12, 700);
    const b = spanAround(older, 430, -12, 700);
    expect(b).toEqual({ start: a.start + 30, end: a.end + 30 });
  });

  it("holds for an empty list, one row and a row that is taller than the view", () => {
    expect(spanAround([], 0, 0, 500)).toEqual({ start: 0, end: 0 });
    expect(spanAround([20], 0, 0, 500)).toEqual({ start: 0, end: 1 });
    expect(spanAround([50, 9000, 50], 1, -4000, 500)).toEqual({ start: 1, end: 2 });
    expect(spanAtEnd([20], 500)).toEqual({ start: 0, end: 1 });
  });

  it("finds the row of an offset", () => {
    expect(indexAtOffset([10, 20, 30], 0)).toEqual({ index: 0, rowTop: 0 });
    expect(indexAtOffset([10, 20, 30], 29)).toEqual({ index: 1, rowTop: 10 });
    expect(indexAtOffset([10, 20, 30], 999)).toEqual({ index: 2, rowTop: 30 });
  });
});

describe("following the end", () => {
  it("is released by moving up, not by growth below", () => {
    expect(nextPinned(true, 500, { top: 500, distance: 300 })).toBe(true);
    expect(nextPinned(true, 500, { top: 450, distance: 50 })).toBe(false);
    expect(nextPinned(false, 500, { top: 520, distance: 300 })).toBe(false);
    expect(nextPinned(false, 500, { top: 780, distance: 20 })).toBe(true);
    // The list became shorter: the browser moved up, but the end is still in view.
    expect(nextPinned(true, 500, { top: 300, distance: 0 })).toBe(true);
  });
});

describe("a deleted anchor", () => {
  it("gives its place to the next row that is left", () => {
    expect(survivingKey(["a", "b", "c", "d"], "b", new Set(["a", "d"]))).toBe("d");
    expect(survivingKey(["a", "b"], "b", new Set(["a"]))).toBe("a");
    expect(survivingKey(["a"], "x", new Set(["a"]))).toBeNull();
  });
});
