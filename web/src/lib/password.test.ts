import { describe, expect, it } from "vitest";
import { checkPassword, looksLikeEmail, oldEnough } from "./password";

describe("password rules", () => {
  it.each([
    ["", 0, ["length", "lower", "upper", "digit"]],
    ["Ab1", 1, ["length"]],
    ["alllower1", 1, ["upper"]],
    ["ALLUPPER1", 1, ["lower"]],
    ["NoDigitsHere", 1, ["digit"]],
    ["Password123", 1, ["common"]],
    ["aaaaaaaa", 1, ["upper", "digit", "run"]],
    ["87654321", 1, ["lower", "upper", "run"]],
    ["Mari4Curie", 1, ["email"]],
  ] as const)("%s", (password, score, missing) => {
    const email = password === "Mari4Curie" ? "curie@example.org" : "x@example.org";
    const v = checkPassword(password, email);
    expect(v.score).toBe(score);
    for (const rule of missing) expect(v.missing).toContain(rule);
  });

  it("grades what is allowed", () => {
    expect(checkPassword("Kuchen42a", "a@b.co").score).toBe(2);
    expect(checkPassword("Kuchen42a!", "a@b.co").score).toBe(3);
    expect(checkPassword("Kuchen42a!Blau", "a@b.co").score).toBe(4);
    expect(checkPassword("Пароль42икс", "a@b.co").missing).toEqual([]);
  });

  it("does not mind a short local part", () => {
    expect(checkPassword("Joe4Kuchen", "joe@example.org").missing).toEqual([]);
  });
});

describe("age", () => {
  const today = new Date(2026, 10, 30);
  it("is sixteen on the birthday, not the day before", () => {
    expect(oldEnough("2010-11-30", today)).toBe(true);
    expect(oldEnough("2010-12-01", today)).toBe(false);
  });
  it("refuses dates that do not exist", () => {
    for (const bad of ["2001-02-30", "1850-01-01", "", "01.02.2000"]) expect(oldEnough(bad, today)).toBe(false);
  });
});

it("knows an address when it sees one", () => {
  for (const ok of ["a@b.co", "ada.l+x@mail.example.org", "dev@localhost"]) expect(looksLikeEmail(ok)).toBe(true);
  for (const no of ["", "a", "a@", "a@b", "a b@c.de"]) expect(looksLikeEmail(no)).toBe(false);
});
