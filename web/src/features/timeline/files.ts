/** The words that go with a file; its name is on the link. */
export function fileCaption(content: string): string {
  try {
    const caption = (JSON.parse(content) as { caption?: unknown }).caption;
    return typeof caption === "string" ? caption : "";
  } catch {
    return "";
  }
}
