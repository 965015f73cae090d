import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const css = readFileSync("src/styles/tokens.css", "utf8");
type Theme = Record<string, [number, number, number]>;

function theme(name: "light" | "dark"): Theme {
  const from = css.indexOf(`[data-theme="${name}"] {`);
  const body = css.slice(from, css.indexOf("\n}", from));
  const out: Theme = {};
  for (const m of body.matchAll(/--([\w-]+): oklch\(([\d.]+) ([\d.]+) ([\d.]+)\);/g)) out[m[1] ?? ""] = [Number(m[2]), Number(m[3]), Number(m[4])];
  return out;
}

/** Relative luminance (WCAG 2) of an OKLCH colour, clipped to sRGB as a browser shows it. */
function luminance([L, C, h]: [number, number, number]): number {
  const a = C * Math.cos((h * Math.PI) / 180);
  const b = C * Math.sin((h * Math.PI) / 180);
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const clip = (x: number) => Math.min(1, Math.max(0, x));
  const r = clip(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s);
  const g = clip(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s);
  const bl = clip(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s);
  return 0.2126 * r + 0.7152 * g + 0.0722 * bl;
}

function contrast(a: [number, number, number], b: [number, number, number]): number {
  const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p) as [number, number];
  return (x + 0.05) / (y + 0.05);
}

const surfaces = ["page", "rail", "raised", "hover", "selected", "sunken"];
const textPairs: [string, string[]][] = [
  ["text", [...surfaces, "code", "accent-soft", "wait-soft", "bad-soft", "good-soft"]],
  ["text-2", [...surfaces, "bad-soft", "wait-soft"]],
  ["text-3", surfaces],
  ["accent-text", [...surfaces, "accent-soft"]],
  ["wait-text", [...surfaces.filter((s) => s !== "selected"), "wait-soft"]],
  ["bad-text", [...surfaces.filter((s) => s !== "selected"), "bad-soft"]],
  ["good-text", [...surfaces.filter((s) => s !== "selected"), "good-soft"]],
  ["on-accent", ["accent", "accent-hover"]],
  ["on-bad", ["bad", "bad-hover"]],
  ["on-tooltip", ["tooltip"]],
  ["page", ["wait-text"]],
  ...["syn-text", "syn-comment", "syn-keyword", "syn-string", "syn-number", "syn-title", "syn-type", "syn-attr"].map((s): [string, string[]] => [
    s,
    ["code"],
  ]),
];
const shapePairs: [string, string[]][] = [
  ["line-strong", ["page", "rail", "raised"]],
  ["accent", ["page", "rail", "raised", "hover"]],
  ["good", ["page", "rail", "raised"]],
  ["wait", ["page", "rail", "wait-soft"]],
  ["bad", ["page", "rail", "raised"]],
];

describe.each(["light", "dark"] as const)("the palette, %s", (name) => {
  const t = theme(name);
  const colour = (token: string) => {
    const value = t[token];
    if (!value) throw new Error(`no --${token} in ${name}`);
    return value;
  };
  it("is readable: text at least 4.5 to 1", () => {
    const poor = textPairs
      .flatMap(([fg, bgs]) => bgs.map((bg) => [`${fg} on ${bg}`, contrast(colour(fg), colour(bg))] as const))
      .filter(([, c]) => c < 4.5);
    expect(poor).toEqual([]);
  });
  it("can be seen: shapes at least 3 to 1", () => {
    const poor = shapePairs
      .flatMap(([fg, bgs]) => bgs.map((bg) => [`${fg} on ${bg}`, contrast(colour(fg), colour(bg))] as const))
      .filter(([, c]) => c < 3);
    expect(poor).toEqual([]);
  });
  it("raises by lightness: a raised surface is never darker than the page", () => {
    expect(colour("raised")[0]).toBeGreaterThanOrEqual(colour("page")[0]);
  });
});

it("both themes name the same colours", () => {
  expect(Object.keys(theme("dark")).sort()).toEqual(Object.keys(theme("light")).sort());
});
