// A question to the server as a hook: its answer, or why there is none, and whether one is awaited.

import { useEffect, useState } from "preact/hooks";
import { ApiError, getJson } from "./client";

export interface Answer<T> {
  /** The newest answer. It stays while the next one is awaited, so that nothing flickers. */
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
  /** The path that `data` answers. */
  readonly path: string | undefined;
}

const NOTHING = { data: undefined, error: undefined, loading: false, path: undefined };

// What was asked lately. The server's answers to one path do not change while it runs, but for a
// run that is still being checked; those are asked for again by `again`.
const KEPT = 200;
const kept = new Map<string, unknown>();

export function keptAnswer<T>(path: string): T | undefined {
  return kept.get(path) as T | undefined;
}

export async function askOnce<T>(path: string, signal?: AbortSignal): Promise<T> {
  const known = keptAnswer<T>(path);
  if (known !== undefined) return known;
  const data = await getJson<T>(path, signal);
  kept.set(path, data);
  const oldest = kept.keys().next();
  if (kept.size > KEPT && !oldest.done) kept.delete(oldest.value);
  return data;
}

/** Ask for `path`, null for nothing. `again`, when it changes, asks although the answer is known. */
export function useQuery<T>(path: string | null, again = 0): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>(NOTHING);

  useEffect(() => {
    if (path === null) {
      setAnswer(NOTHING);
      return undefined;
    }
    if (again) kept.delete(path);
    const known = keptAnswer<T>(path);
    if (known !== undefined) {
      setAnswer({ data: known, error: undefined, loading: false, path });
      return undefined;
    }
    const control = new AbortController();
    setAnswer((before) => ({ ...before, loading: true }));
    askOnce<T>(path, control.signal).then(
      (data) => setAnswer({ data, error: undefined, loading: false, path }),
      (error: unknown) => {
        if (control.signal.aborted) return;
        const told = error instanceof ApiError ? error : new ApiError({ code: "page", message: String(error) });
        setAnswer({ data: undefined, error: told, loading: false, path });
      },
    );
    return () => control.abort();
  }, [path, again]);

  // A known answer is there in the same moment: going back is instant.
  if (path !== null && answer.path !== path) {
    const known = keptAnswer<T>(path);
    if (known !== undefined) return { data: known, error: undefined, loading: false, path };
  }
  if (path === null) return NOTHING;
  return answer.path === path ? answer : { ...answer, error: undefined, loading: true };
}
