import { describe, expect, it } from "vitest";
import { MAX_TOKENS, parseTokens } from "./tokens";

describe("a number of tokens", () => {
  it.each([
    ["1", 1],
    [" 250000 ", 250_000],
    ["250,000", 250_000],
    ["2.500.000", 2_500_000],
    ["1 000 000", 1_000_000],
    [String(MAX_TOKENS), MAX_TOKENS],
  ])("%j is read", (text, n) => {
    expect(parseTokens(text)).toBe(n);
  });

  it.each(["", "0", "-5", "1.5", "1e6", "12,34", "1,000.000", "0x10", "many", String(MAX_TOKENS + 1)])("%j is refused", (text) => {
    expect(parseTokens(text)).toBeNull();
  });
});
