import type { Operation } from "#/api/tools";

/** One operation a line: `GET /contacts/{id} what it does`. A `!` before the method asks a person each time. */
export function writeOperations(list: readonly Operation[]): string {
  return list.map((o) => `${o.ask ? "!" : ""}${o.method} ${o.path}${o.description ? ` ${o.description}` : ""}`).join("\n");
}

/** The first line that is no operation, counted from 1, or all of them. */
export function readOperations(text: string): { operations: Operation[] } | { badLine: number } {
  const operations: Operation[] = [];
  for (const [n, raw] of text.split("\n").entries()) {
    const line = raw.trim();
    if (!line) continue;
    const found = /^(!?)\s*(GET|POST|PUT|PATCH|DELETE)\s+(\/\S*)(?:\s+(.*))?$/i.exec(line);
    if (!found) return { badLine: n + 1 };
    operations.push({ ask: found[1] === "!", method: (found[2] ?? "").toUpperCase(), path: found[3] ?? "/", description: found[4] ?? "" });
  }
  return { operations };
}
