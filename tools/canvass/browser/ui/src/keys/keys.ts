// Keys: each part of the page registers its own; `?` lists those that are active.

import { useLayoutEffect, useRef } from "preact/hooks";

export interface Key {
  /** Values of `KeyboardEvent.key`; all have the same effect. */
  readonly keys: readonly string[];
  readonly does: string;
  readonly run: () => void;
}

export interface KeyGroup {
  readonly title: string;
  readonly keys: readonly Key[];
}

const groups: { current: KeyGroup }[] = [];

/** Listen to keys while the calling component is shown. The newest listener has priority. */
export function useKeys(title: string, keys: readonly Key[]): void {
  const holder = useRef<KeyGroup>({ title, keys });
  holder.current = { title, keys };
  useLayoutEffect(() => {
    groups.push(holder);
    return () => {
      groups.splice(groups.indexOf(holder), 1);
    };
  }, []);
}

export function activeKeys(): readonly KeyGroup[] {
  const byTitle = new Map<string, Key[]>();
  for (const { current } of groups) {
    byTitle.set(current.title, [...(byTitle.get(current.title) ?? []), ...current.keys]);
  }
  return [...byTitle].filter(([, keys]) => keys.length > 0).map(([title, keys]) => ({ title, keys }));
}

/** Whether a text field or a list of choices uses the key itself. */
function taken(event: KeyboardEvent): boolean {
  const target = event.target;
  if (!(target instanceof HTMLElement)) return false;
  // The time slider would move by places; keys move by events everywhere.
  if (target instanceof HTMLInputElement && target.type !== "text") return event.key === " ";
  if (target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement) return event.key !== "Escape";
  if (target instanceof HTMLSelectElement) return event.key !== "Escape";
  const presses = event.key === "Enter" || event.key === " ";
  return presses && target.closest("button, a, summary, [role=option], [role=treeitem]") !== null;
}

export function listenToKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || taken(event)) return;
    if (document.querySelector("dialog[open]") !== null) return;
    for (const { current } of [...groups].reverse()) {
      const found = current.keys.find((key) => key.keys.includes(event.key));
      if (found) {
        event.preventDefault();
        found.run();
        return;
      }
    }
  });
}

const NAMES: { readonly [key: string]: string } = {
  ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓",
  Escape: "Esc", " ": "Space", PageUp: "PgUp", PageDown: "PgDn",
};

export function keyName(key: string): string {
  return NAMES[key] ?? key;
}
