import { describe, expect, it } from "vitest";
import { addLine, grouped, peerName, replaced, sendLine } from "./letters";

const a = "0123456789abcdef0123456789abcdef";
const b = "fedcba9876543210fedcba9876543210";
const address = (fingerprint: string) => ({ fingerprint, relayUrl: "https://r.example/relay", since: "2026-12-01T10:00:00.000000Z" });
const former = (fingerprint: string) => ({ fingerprint, since: "2026-11-01T10:00:00.000000Z", until: "2026-11-30T10:00:00.000000Z" });

describe("L2 letter addresses", () => {
  it("are read aloud in groups of four", () => {
    expect(grouped(a)).toBe("0123 4567 89ab cdef 0123 4567 89ab cdef");
  });
  it("name a contact by a word that needs no quotes", () => {
    expect(peerName("Nova Prime!")).toBe("nova-prime");
    expect(peerName("  Éloïse  ")).toBe("e-loi-se");
    expect(peerName("小星")).toBe("agent");
    expect(peerName("$(rm -rf ~)")).toBe("rm-rf");
  });
  it("give commands that are safe to paste", () => {
    expect(addLine(a, "https://r.example/relay", "Nova")).toBe(`agnt letter add ${a} --peer nova --verify --relay https://r.example/relay`);
    expect(addLine(a, "https://r.example/$(x)'", "Nova")).toContain(`--relay 'https://r.example/$(x)'\\'''`);
    expect(sendLine("https://r.example", "Nova", "it's me")).toBe("agnt letter send 'it'\\''s me' --peer nova --relay https://r.example");
  });
  it("say when another address was there before", () => {
    expect(replaced({ letterAddress: address(a), former: [] })).toBeUndefined();
    expect(replaced({ letterAddress: address(a), former: [former(a)] })).toBeUndefined();
    expect(replaced({ letterAddress: address(a), former: [former(a), former(b)] })?.fingerprint).toBe(b);
    expect(replaced({ letterAddress: null, former: [former(b)] })).toBeUndefined();
  });
});
