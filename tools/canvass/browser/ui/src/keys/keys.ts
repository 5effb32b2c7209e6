// Keys: every part of the page says which ones it listens to, and `?` lists what is listened to now.

import { useLayoutEffect, useRef } from "preact/hooks";

export interface Key {
  /** As `KeyboardEvent.key` has it; several with the same meaning. */
  readonly keys: readonly string[];
  readonly does: string;
  readonly run: () => void;
}

export interface KeyGroup {
  readonly title: string;
  readonly keys: readonly Key[];
}

const groups: { current: KeyGroup }[] = [];

/** Listen to keys while the calling component is shown. The newest listener goes first. */
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

/** What a text field or a list of choices does with a key comes before ours. */
function taken(event: KeyboardEvent): boolean {
  const target = event.target;
  if (!(target instanceof HTMLElement)) return false;
  // The slider of time moves by places; keys move by events, there as elsewhere.
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
