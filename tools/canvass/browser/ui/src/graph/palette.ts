// The colours of the style sheet, for drawings on a canvas.

import type { Phase } from "../words/election";
import type { Look, SceneLink } from "./scene";

interface Colours {
  readonly fill: string;
  readonly ink: string;
}

export interface Palette {
  readonly ink: string;
  readonly soft: string;
  readonly paper: string;
  /** For lines that do not touch the current state. */
  readonly line: string;
  readonly accent: string;
  readonly bad: string;
  readonly phase: { readonly [phase in Phase]: Colours };
  /** The fills for the values of a field that colours the nodes. */
  readonly values: readonly string[];
  readonly font: string;
}

export const VALUE_COLOURS = 9;

export function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  const phase = (name: Phase): Colours => ({
    fill: read(`--${name}`), ink: read(`--${name}-ink`),
  });
  return {
    ink: read("--ink"),
    soft: read("--soft"),
    paper: read("--paper"),
    line: read("--edge"),
    accent: read("--accent"),
    bad: read("--bad"),
    phase: {
      start: phase("start"),
      candidate: phase("candidate"),
      leader: phase("leader"),
      follower: phase("follower"),
      outside: phase("outside"),
    },
    values: Array.from({ length: VALUE_COLOURS }, (_, at) => read(`--value-${at}`)),
    font: getComputedStyle(document.body).fontFamily,
  };
}

/** The colours of a node; the value after the last one with a colour of its own stands for all others. */
export function coloursOf(palette: Palette, look: Look): Colours {
  if (typeof look === "string") return palette.phase[look];
  return { fill: palette.values[look] ?? palette.phase.outside.fill, ink: palette.ink };
}

/** Whether a line touches the current state; without a current state, all count. */
export function concerns(link: SceneLink, root: string | undefined): boolean {
  return root === undefined || link.source === root || link.target === root || link.lit;
}

export function lineColour(link: SceneLink, root: string | undefined, palette: Palette): string {
  if (link.lit) return palette.accent;
  return concerns(link, root) ? palette.soft : palette.line;
}
