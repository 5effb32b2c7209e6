// Asks the server. The only module that calls fetch, and the only one that knows the token's header.

import { visible, visibleAnswer } from "../words/visible";
import type { Problem } from "./types";

export class ApiError extends Error {
  readonly code: string;
  readonly column: number | undefined;

  constructor(problem: Problem) {
    super(visible(problem.message));
    this.code = problem.code;
    this.column = problem.column;
  }
}

let token = "";

export function useToken(given: string): void {
  token = given;
}

export type Parameters = { readonly [name: string]: string | number | undefined };

/** A path of the API with its query; what is empty or not there is left out. */
export function apiPath(parts: readonly string[], query: Parameters = {}): string {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") asked.set(name, String(value));
  }
  const text = asked.toString();
  return `/api/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

async function ask(path: string, signal?: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, {
      headers: { "X-Canvass-Token": token },
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError({
      code: "unreachable",
      message: "The server does not answer. Is `canvass browse` still running?",
    });
  }
  if (response.ok) return response;
  throw new ApiError(await problemOf(response));
}

async function problemOf(response: Response): Promise<Problem> {
  try {
    const body = (await response.json()) as { error?: Problem };
    if (body.error) return body.error;
  } catch {
    // Not the server's own answer; its status has to do.
  }
  return { code: `http-${response.status}`, message: `The server answers ${response.status}.` };
}

/** An answer, and how long it was as text. */
export async function getJson<T>(path: string, signal?: AbortSignal): Promise<{ data: T; size: number }> {
  const text = await (await ask(path, signal)).text();
  return { data: visibleAnswer(text) as T, size: text.length };
}

/** A file that the server makes, with the name that it gives to it. */
export async function getFile(path: string): Promise<{ blob: Blob; name: string }> {
  const response = await ask(path);
  const named = /filename="([^"/\\]+)"/.exec(response.headers.get("Content-Disposition") ?? "");
  return { blob: await response.blob(), name: named?.[1] ?? "canvass-export" };
}
