import { describe, expect, it } from "vitest";
import { readOperations, writeOperations } from "./operations";

describe("operations of a service", () => {
  it("are read as they are written", () => {
    const text = "GET /contacts/{id} one contact\n!DELETE /contacts/{id}";
    const read = readOperations(`\n  get /contacts/{id}   one contact \n\n! delete /contacts/{id}\n`);
    expect(read).toEqual({
      operations: [
        { ask: false, method: "GET", path: "/contacts/{id}", description: "one contact" },
        { ask: true, method: "DELETE", path: "/contacts/{id}", description: "" },
      ],
    });
    if ("operations" in read) expect(writeOperations(read.operations)).toBe(text);
  });

  it("name the line that is none", () => {
    expect(readOperations("GET /a\nFETCH /b")).toEqual({ badLine: 2 });
    expect(readOperations("GET contacts")).toEqual({ badLine: 1 });
    expect(readOperations("")).toEqual({ operations: [] });
  });
});
