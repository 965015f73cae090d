// Light, dark, or what the system says. public/theme.js sets the first paint; this module follows changes.
import { useSyncExternalStore } from "react";
import { readLocal, writeLocal } from "./storage";

export type ThemeChoice = "system" | "light" | "dark";
const key = "agntchat.theme";
const listeners = new Set<() => void>();

function getThemeChoice(): ThemeChoice {
  const value = readLocal(key);
  return value === "light" || value === "dark" ? value : "system";
}

function systemDark(): boolean {
  return window.matchMedia?.("(prefers-color-scheme: dark)").matches ?? false;
}

export function resolvedTheme(choice: ThemeChoice = getThemeChoice()): "light" | "dark" {
  if (choice === "system") return systemDark() ? "dark" : "light";
  return choice;
}

function apply(): void {
  document.documentElement.dataset["theme"] = resolvedTheme();
  for (const listener of listeners) listener();
}

export function setThemeChoice(choice: ThemeChoice): void {
  writeLocal(key, choice === "system" ? null : choice);
  apply();
}

/** Applies the choice and follows the system from now on. Called once, at start. */
export function startTheme(): void {
  apply();
  window.matchMedia?.("(prefers-color-scheme: dark)").addEventListener("change", apply);
}

export function useThemeChoice(): ThemeChoice {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, getThemeChoice);
}
