// Untrusted text made visible: invisible characters become escapes, nothing is dropped.
//
// Everything on the page is set as text, so markup is harmless. Control characters, marks that turn
// the direction of writing and lone surrogates would still let a text look like another one.

const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is searched
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffc]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const MAYBE_HIDDEN = new RegExp(HIDDEN.source);

const SHORT: { readonly [character: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

export function visible(text: string): string {
  if (!MAYBE_HIDDEN.test(text)) return text;
  return text.replace(
    HIDDEN,
    (character) => SHORT[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

const ESCAPED = /\\[bfnrtu]/; // An escape of JSON: it can stand for an invisible character.

/** An answer of the server with every text made visible, names of fields included. */
export function visibleAnswer(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return MAYBE_HIDDEN.test(text) || ESCAPED.test(text) ? visibleJson(value) : value;
}

function visibleJson(value: unknown): unknown {
  if (typeof value === "string") return visible(value);
  if (Array.isArray(value)) return value.map(visibleJson);
  if (value !== null && typeof value === "object") {
    // As JSON.parse does it: a field may be called __proto__.
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [visible(name), visibleJson(inner)]));
  }
  return value;
}

/** The beginning of a text, of at most `limit` characters. */
export function shortened(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit - 1)}…`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Distinct names with their numbers: "OnVote ×36, Restart". */
export function counted(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count > 1 ? `${name} ×${count}` : name)).join(", ");
}
