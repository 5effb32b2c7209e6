// The server's token: removed from the address bar at once, kept for this tab only.

const KEY = "canvass-token";

export interface Arrival {
  readonly token: string;
  /** The route of the link; empty for the start. */
  readonly to: string;
}

/** Read `#token=…` or `#token=…&to=/run/…`; without a token, use the one of this tab. */
export function takeToken(): Arrival {
  const fragment = location.hash.slice(1);
  if (!fragment.startsWith("token=")) return { token: sessionStorage.getItem(KEY) ?? "", to: "" };
  const [first = "", ...rest] = fragment.split("&to=");
  const token = first.slice("token=".length);
  const to = rest.join("&to=");
  sessionStorage.setItem(KEY, token);
  // Replaces the entry: neither the address bar nor the history keeps the token.
  history.replaceState(null, "", `#${to || "/"}`);
  return { token, to };
}
