// Messages in place of a view: waiting, an error, or nothing to show.

import type { ComponentChildren } from "preact";
import { ApiError } from "../api/client";
import type { Answer } from "../api/use_query";

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children === undefined ? null : <div class="empty-help">{children}</div>}
    </div>
  );
}

export function Failed({ error }: { error: Error }) {
  return (
    <div class="failed" role="alert">
      <span class="sign" aria-hidden="true">!</span> {error.message}
      {error instanceof ApiError && error.code === "not-found" ? <>{" "}<a href="#/">Show what is open</a></> : null}
    </div>
  );
}

/** The answer; until it arrives, a message that it is loading. */
export function Awaited<T>(
  { answer, what, children }: { answer: Answer<T>; what: string; children: (data: T) => ComponentChildren },
) {
  if (answer.error) return <Failed error={answer.error} />;
  if (answer.data === undefined) return <p class="waiting" role="status">{`Loading ${what} …`}</p>;
  return <>{children(answer.data)}</>;
}
