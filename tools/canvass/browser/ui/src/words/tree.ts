// A state as rows of a tree, compared with another state.

import type { Json } from "../api/types";

export type Difference = "same" | "changed" | "added" | "removed";

export interface TreeRow {
  readonly name: string;
  readonly path: string;
  /** The value if it fits into a line; otherwise `inner` has the parts. */
  readonly text: string;
  readonly before: string;
  readonly difference: Difference;
  readonly inner: readonly TreeRow[];
  /** Number of values that differ; a group added or removed as a whole is one change. */
  readonly differing: number;
}

const LINE = 44;
type Parts = ReadonlyMap<string, Json>;

export function scalarText(value: Json): string {
  if (typeof value === "string") return value === "" ? '""' : value;
  return String(value);
}

/** The value as one line of text. */
function lineOf(value: Json | undefined): string {
  if (value === undefined) return "";
  const parts = partsOf(value);
  if (parts === null) return scalarText(value);
  if (parts.size === 0) return Array.isArray(value) ? "none" : "empty";
  const inner = [...parts].map(([name, one]) =>
    Array.isArray(value) ? wrapped(one) : `${name}: ${wrapped(one)}`,
  );
  return Array.isArray(value) ? inner.join(", ") : inner.join("; ");
}

function wrapped(value: Json): string {
  const parts = partsOf(value);
  return parts === null || parts.size === 0 ? lineOf(value) : `(${lineOf(value)})`;
}

function partsOf(value: Json | undefined): Parts | null {
  if (Array.isArray(value)) return new Map(value.map((one, at) => [`${at}`, one as Json]));
  if (value !== null && typeof value === "object") {
    return new Map(Object.entries(value as { [name: string]: Json }));
  }
  return null;
}

/** Rows for `now`; with `base`, each row has its difference and the other value. */
export function treeRows(now: Json, base: Json | undefined): readonly TreeRow[] {
  return rowsOf(partsOf(now) ?? new Map(), base === undefined ? null : (partsOf(base) ?? new Map()), "");
}

function rowsOf(now: Parts, base: Parts | null, prefix: string): TreeRow[] {
  const rows = [...now].map(([name, value]) =>
    rowOf(name, `${prefix}${name}`, value, base === null ? undefined : base.get(name), base !== null),
  );
  for (const [name, value] of base ?? []) {
    if (!now.has(name)) rows.push(removedRow(name, `${prefix}${name}`, value));
  }
  return rows;
}

/** A row for a removed value; its parts, if it does not fit into a line. */
function removedRow(name: string, path: string, value: Json): TreeRow {
  const before = lineOf(value);
  const parts = partsOf(value) ?? new Map<string, Json>();
  const inner = before.length <= LINE ? []
    : [...parts].map(([part, one]) => removedRow(part, `${path}.${part}`, one));
  return { name, path, text: "", before, difference: "removed", inner, differing: 1 };
}

function rowOf(
  name: string, path: string, value: Json, base: Json | undefined, compared: boolean,
): TreeRow {
  const line = lineOf(value);
  const parts = partsOf(value);
  const before = compared && base !== undefined ? lineOf(base) : "";
  const known = !compared ? "same" : base === undefined ? "added" : line === before ? "same" : "changed";
  const deep = parts !== null && parts.size > 0 && (line.length > LINE || before.length > LINE);
  if (!deep) {
    return {
      name, path, text: line, before, difference: known, inner: [], differing: known === "same" ? 0 : 1,
    };
  }
  const was = partsOf(base);
  const inner = rowsOf(parts, compared ? (was ?? new Map<string, Json>()) : null, `${path}.`);
  // A single value has become a value with parts.
  if (was === null && base !== undefined) inner.unshift(removedRow("before", `${path}.before`, base));
  return {
    name, path, text: "", before: "", difference: known, inner,
    differing: known === "added" ? 1 : countDiffering(inner),
  };
}

export function countDiffering(rows: readonly TreeRow[]): number {
  return rows.reduce((sum, row) => sum + row.differing, 0);
}

/** The input or sends of a step in a line: messages with their types and fields. */
export function givenLine(value: Json): string {
  if (Array.isArray(value)) return (value as readonly Json[]).map(givenLine).filter(Boolean).join("; ");
  const parts = partsOf(value);
  if (parts === null) return lineOf(value);
  const message = partsOf(parts.get("message"));
  if (message === null) return parts.size === 0 ? "" : lineOf(value);
  const fields = [...message].filter(([name]) => name !== "type").map(([name, one]) => `${name} ${lineOf(one)}`);
  const from = parts.has("from") ? `from ${lineOf(parts.get("from"))}: ` : parts.has("to") ? `to ${lineOf(parts.get("to"))}: ` : "";
  const beside = [...parts].filter(([name]) => !["message", "from", "to", "id"].includes(name));
  const more = beside.length > 0 ? `; ${beside.map(([name, one]) => `${name} ${lineOf(one)}`).join(", ")}` : "";
  return `${from}${lineOf(message.get("type"))} ${fields.join(", ")}${more}`;
}

/** A state of a cluster in which the tuples of its history are words: `term 1: member 0`. */
export function withWords(tree: { readonly [name: string]: Json }): { readonly [name: string]: Json } {
  const history = tree["hist"];
  if (history === null || typeof history !== "object" || Array.isArray(history)) return tree;
  const { leaders, votes, ...others } = history as { readonly [name: string]: Json };
  return {
    ...tree,
    hist: {
      ...(leaders === undefined ? {} : { leaders: said(leaders, ([term, member]) => `term ${term}: member ${member}`) }),
      ...(votes === undefined ? {} : { votes: said(votes, ([voter, term, candidate]) => `member ${voter} for member ${candidate} in term ${term}`) }),
      ...others,
    },
  };
}

function said(tuples: Json, words: (tuple: readonly Json[]) => string): Json {
  return Array.isArray(tuples) ? tuples.map((one: Json) => (Array.isArray(one) ? words(one as readonly Json[]) : one)) : tuples;
}
