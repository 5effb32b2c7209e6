// Light, dark or high contrast: as the system has it, unless the reader chooses in this browser.

import { useEffect, useState } from "preact/hooks";

export type Theme = "system" | "light" | "dark" | "contrast";

export const THEMES: readonly Theme[] = ["system", "light", "dark", "contrast"];
const KEY = "canvass-theme";

function stored(): Theme {
  const found = localStorage.getItem(KEY);
  return THEMES.find((theme) => theme === found) ?? "system";
}

export function applyTheme(theme: Theme = stored()): void {
  document.documentElement.dataset["theme"] = theme;
}

/** The colours that the page has now. */
export function shownTheme(): Theme {
  const chosen = stored();
  if (chosen !== "system") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(stored);
  useEffect(() => {
    localStorage.setItem(KEY, theme);
    applyTheme(theme);
    window.dispatchEvent(new Event("canvass-theme"));
  }, [theme]);
  return [theme, setTheme];
}

/** A number that changes with the colours: drawings on a canvas must be repeated. */
export function useColoursChanged(): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const count_ = (): void => setCount((before) => before + 1);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", count_);
    window.addEventListener("canvass-theme", count_);
    return () => {
      dark.removeEventListener("change", count_);
      window.removeEventListener("canvass-theme", count_);
    };
  }, []);
  return count;
}
