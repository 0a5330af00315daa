// Light, dark, or as the device says. Remembered in this browser only.

import { signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const KEY = "purser-theme";

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "auto";
  } catch {
    return "auto";
  }
}

export const theme = signal<Theme>(stored());
apply(theme.value);

function apply(value: Theme): void {
  if (value === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", value);
}

export function setTheme(value: Theme): void {
  theme.value = value;
  apply(value);
  try {
    localStorage.setItem(KEY, value);
  } catch {
    // A browser that stores nothing still has the theme of this page.
  }
}
