import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

// Who may import whom (ADR 0006). A rule that can be a test is a test.
const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((f) => /\.tsx?$/.test(f) && !/\.(test|gen)\./.test(f));

function imports(file: string): string[] {
  return [...readFileSync(`src/${file}`, "utf8").matchAll(/from "#\/([^"]+)"/g)].map((m) => m[1] ?? "");
}

function offences(inside: RegExp, forbidden: (target: string, file: string) => boolean): string[] {
  return files.filter((f) => inside.test(f)).flatMap((f) => imports(f).flatMap((t) => (forbidden(t, f) ? [`${f} -> ${t}`] : [])));
}

it("features do not import each other; pages that join them live in shell", () => {
  const featureOf = (path: string) => /^features\/([^/]+)/.exec(path)?.[1];
  expect(offences(/^features\//, (t, f) => /^(shell|routes)\//.test(t) || (featureOf(t) !== undefined && featureOf(t) !== featureOf(f)))).toEqual([]);
});

it("components and lib know no feature and no page", () => {
  expect(offences(/^(components|lib|i18n|api|realtime)\//, (t) => /^(features|shell|routes)\//.test(t))).toEqual([]);
});

it("only api/ fetches and only realtime/ opens the socket", () => {
  const outside = files.filter((f) => !/^(api|realtime)\//.test(f));
  expect(outside.filter((f) => /\bfetch\(|from "phoenix"|new WebSocket/.test(readFileSync(`src/${f}`, "utf8")))).toEqual([]);
});
