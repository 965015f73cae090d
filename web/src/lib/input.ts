/**
 * Marks the page while a pointer, not a key, was used last. A tab that is clicked is focused by script, which browsers
 * take for the keyboard: its ring is hidden by this mark. Called once, at start.
 */
export function watchInput(root: HTMLElement = document.documentElement): void {
  const on = { capture: true, passive: true };
  window.addEventListener("pointerdown", () => root.setAttribute("data-pointer", ""), on);
  window.addEventListener("keydown", () => root.removeAttribute("data-pointer"), on);
}
