// The steps that were tried: paths from the start, kept in the address.

/** A step that was tried, and the steps that were tried after it. */
export interface Tried {
  readonly path: readonly string[];
  readonly next: readonly Tried[];
}

const STEP = ",";
const PATH = "~";

export function readPath(text: string | undefined): readonly string[] {
  return text ? text.split(STEP) : [];
}

export function writePath(path: readonly string[]): string {
  return path.join(STEP);
}

/** The paths that were tried, with one more; a path that another one continues is left out. */
export function withPath(tried: string | undefined, path: readonly string[]): string {
  const all = [...new Set([...(tried ? tried.split(PATH) : []), writePath(path)])];
  return all.filter((one) => !all.some((other) => other.startsWith(one + STEP))).join(PATH);
}

/** The paths as a tree. */
export function treeOf(tried: string | undefined): readonly Tried[] {
  const paths = (tried ? tried.split(PATH) : []).map(readPath).filter((path) => path.length > 0);
  const after = (path: readonly string[], below: readonly (readonly string[])[]): readonly Tried[] => {
    const at = path.length;
    const names = [...new Set(below.map((one) => one[at]).filter((one) => one !== undefined))];
    return names.map((name) => {
      const longer = [...path, name];
      return { path: longer, next: after(longer, below.filter((one) => one[at] === name)) };
    });
  };
  return after([], paths);
}

/** The name of a step as words: `1.Canvass.timeout`, `0-1.Vote`, `0-1.lost`. */
export function wordsOf(name: string): string {
  const [who = "", what = "", ...given] = name.split(".");
  const [sender, receiver] = who.split("-");
  const words = receiver === undefined ? `${who} ${what}` : `${sender} → ${receiver} ${what}`;
  return [words, ...given.map(inputWords)].join(", ");
}

/** The input of a step beside its message, in words: `timeout`, `active 0 1`, `position 96`. */
export function givenOf(name: string): string {
  return name.split(".").slice(2).map(inputWords).join(", ");
}

function inputWords(part: string): string {
  const [, name = part, members, position] = /^(?:(active|accepted)(\d+)|position(-?\d+))$/.exec(part) ?? [];
  if (position !== undefined) return `position ${position}`;
  return members === undefined ? part.replace("_", " ") : `${name} ${[...members].join(" ")}`;
}
