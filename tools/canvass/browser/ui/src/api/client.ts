// Requests to the server, or to the answers in a saved page. Only this module calls fetch and sends the token.

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

/** A path of the API with its query, without empty parameters. */
export function apiPath(parts: readonly string[], query: Parameters = {}): string {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") asked.set(name, String(value));
  }
  const text = asked.toString();
  return `/api/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

const answers = document.getElementById("answers")?.textContent ?? "";

/** Whether this page is a file that has its answers in itself: `canvass.browser.saved_page`. */
export const saved = answers !== "";
let unpacked: Promise<{ readonly [path: string]: unknown }> | undefined;

async function savedAnswer(path: string): Promise<Response> {
  unpacked ??= new Response(
    new Blob([Uint8Array.from(atob(answers), (one) => one.charCodeAt(0))])
      .stream()
      .pipeThrough(new DecompressionStream("gzip")),
  ).json();
  const found = (await unpacked)[path];
  if (found !== undefined) return new Response(JSON.stringify(found));
  throw new ApiError({ code: "not-saved", message: "This file has no answer to that; canvass browse has." });
}

async function ask(path: string, signal?: AbortSignal): Promise<Response> {
  if (saved) return savedAnswer(path);
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
    // Not an answer of our server: only its status is known.
  }
  return { code: `http-${response.status}`, message: `The server answers ${response.status}.` };
}

/** An answer, and the length of its text: 0 in a saved page, in which all answers stay. */
export async function getJson<T>(path: string, signal?: AbortSignal): Promise<{ data: T; size: number }> {
  const text = await (await ask(path, signal)).text();
  return { data: visibleAnswer(text) as T, size: saved ? 0 : text.length };
}

/** A file from the server, with its name. */
export async function getFile(path: string): Promise<{ blob: Blob; name: string }> {
  const response = await ask(path);
  const named = /filename="([^"/\\]+)"/.exec(response.headers.get("Content-Disposition") ?? "");
  return { blob: await response.blob(), name: named?.[1] ?? "canvass-export" };
}
