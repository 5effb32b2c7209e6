// The place of the page, in the fragment of its address: `#/graph/ID/state/HASH?pin=HASH`.

import { useLayoutEffect, useState } from "preact/hooks";

export interface Route {
  readonly parts: readonly string[];
  readonly query: { readonly [name: string]: string };
}

export type Change = { readonly [name: string]: string | number | undefined };

function parseRoute(fragment: string): Route {
  const [path = "", text = ""] = fragment.replace(/^#/, "").split("?", 2);
  return {
    parts: path.split("/").filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(text)),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // Typed by hand: the server refuses it.
  }
}

export function formatRoute(parts: readonly string[], query: Change = {}): string {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") asked.set(name, String(value));
  }
  const text = asked.toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** The full address of a place, without the server's key. */
export function linkTo(parts: readonly string[]): string {
  return `${location.origin}/${formatRoute(parts)}`;
}

export function go(target: string, replace = false): void {
  if (target === location.hash) return;
  if (replace) history.replaceState(null, "", target);
  else history.pushState(null, "", target);
  window.dispatchEvent(new PopStateEvent("popstate"));
}

export function useRoute(): Route {
  const [fragment, setFragment] = useState(location.hash);
  useLayoutEffect(() => {
    const read = (): void => setFragment(location.hash);
    window.addEventListener("popstate", read);
    window.addEventListener("hashchange", read);
    return () => {
      window.removeEventListener("popstate", read);
      window.removeEventListener("hashchange", read);
    };
  }, []);
  return parseRoute(fragment);
}
