import { afterEach, describe, expect, it } from "vitest";
import { setLocale } from "#/i18n";
import { fileCaption, fileSize } from "#/lib/files";

describe("files of messages", () => {
  afterEach(() => setLocale("en"));

  it("have a short size", () => {
    setLocale("en");
    expect([5, 2048, 12_345, 3_565_158, 26_214_400].map(fileSize)).toEqual(["5 B", "2 KB", "12 KB", "3.4 MB", "25 MB"]);
  });

  it("show the words that go with them, never the JSON", () => {
    expect(fileCaption('{"attachmentId":"1","filename":"a.pdf","caption":"The tides"}')).toBe("The tides");
    expect(fileCaption('{"attachmentId":"1","filename":"a.pdf"}')).toBe("");
    expect(fileCaption("not JSON")).toBe("");
  });
});
