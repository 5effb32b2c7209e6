// A question to the server as a hook: its answer or error, and whether an answer is awaited.

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, getJson } from "./client";

export interface Answer<T> {
  /** The newest answer. It stays while the next one is awaited, to avoid flicker. */
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
  /** The path that `data` answers. */
  readonly path: string | undefined;
}

const NOTHING = { data: undefined, error: undefined, loading: false, path: undefined };

// Recent answers. The answer to a path changes only while a run is being checked; `again` requests it
// again.
const MOST_CHARACTERS = 4_000_000;
const kept = new Map<string, { data: unknown; size: number }>();
let characters = 0;

function keptAnswer<T>(path: string): T | undefined {
  return kept.get(path)?.data as T | undefined;
}

function keep(path: string, data: unknown, size: number): void {
  drop(path);
  kept.set(path, { data, size });
  characters += size;
  for (const oldest of kept.keys()) {
    if (characters <= MOST_CHARACTERS) break;
    drop(oldest);
  }
}

function drop(path: string): void {
  characters -= kept.get(path)?.size ?? 0;
  kept.delete(path);
}

/** Drop the kept answers whose paths begin with `path`. */
export function forget(path: string): void {
  for (const one of [...kept.keys()]) if (one.startsWith(path)) drop(one);
}

type Asked<T> = Promise<{ data: T; size: number }>;
const underWay = new Map<string, Asked<unknown>>(); // Requests without an abort signal; equal requests share their answers.

function begun<T>(path: string, signal?: AbortSignal): Asked<T> {
  const answer = getJson<T>(path, signal);
  if (signal === undefined) {
    underWay.set(path, answer);
    answer.then(() => underWay.delete(path), () => underWay.delete(path));
  }
  return answer;
}

export async function askOnce<T>(path: string, signal?: AbortSignal): Promise<T> {
  const known = keptAnswer<T>(path);
  if (known !== undefined) return known;
  const { data, size } = await ((underWay.get(path) as Asked<T> | undefined) ?? begun<T>(path, signal));
  // Aborted at the last moment: a newer question replaces this one.
  signal?.throwIfAborted();
  keep(path, data, size);
  return data;
}

/** Request `path`; null requests nothing. A new value of `again` requests a kept answer again. */
export function useQuery<T>(path: string | null, again = 0): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>(NOTHING);
  const asked = useRef(again);

  useEffect(() => {
    if (path === null) {
      setAnswer(NOTHING);
      return undefined;
    }
    if (again !== asked.current) drop(path);
    asked.current = again;
    const known = keptAnswer<T>(path);
    if (known !== undefined) {
      setAnswer({ data: known, error: undefined, loading: false, path });
      return undefined;
    }
    const control = new AbortController();
    setAnswer((before) => ({ ...before, loading: true }));
    askOnce<T>(path, control.signal).then(
      (data) => {
        if (!control.signal.aborted) setAnswer({ data, error: undefined, loading: false, path });
      },
      (error: unknown) => {
        if (control.signal.aborted) return;
        const shown = error instanceof ApiError ? error : new ApiError({ code: "page", message: String(error) });
        setAnswer({ data: undefined, error: shown, loading: false, path });
      },
    );
    return () => control.abort();
  }, [path, again]);

  // A kept answer is shown at once: going back is instant.
  if (path !== null && answer.path !== path) {
    const known = keptAnswer<T>(path);
    if (known !== undefined) return { data: known, error: undefined, loading: false, path };
  }
  if (path === null) return NOTHING;
  return answer.path === path ? answer : { ...answer, error: undefined, loading: true };
}

/** The answer, without data of an earlier question: they would be misread as data of this one. */
export function settled<T>(answer: Answer<T>): Answer<T> {
  return answer.loading ? { ...answer, data: undefined } : answer;
}
