// The colours of the style sheet, for drawings on a canvas.

import type { Phase } from "../words/election";
import type { SceneLink } from "./scene";

export interface Palette {
  readonly ink: string;
  readonly soft: string;
  readonly paper: string;
  /** For lines that do not touch the current state. */
  readonly line: string;
  readonly accent: string;
  readonly phase: { readonly [phase in Phase]: { readonly fill: string; readonly ink: string } };
  readonly font: string;
}

export function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  const phase = (name: Phase): { fill: string; ink: string } => ({
    fill: read(`--${name}`), ink: read(`--${name}-ink`),
  });
  return {
    ink: read("--ink"),
    soft: read("--soft"),
    paper: read("--paper"),
    line: read("--edge"),
    accent: read("--accent"),
    phase: {
      start: phase("start"),
      candidate: phase("candidate"),
      leader: phase("leader"),
      follower: phase("follower"),
      outside: phase("outside"),
    },
    font: getComputedStyle(document.body).fontFamily,
  };
}

/** Whether a line touches the current state; without a current state, all count. */
export function concerns(link: SceneLink, root: string | undefined): boolean {
  return root === undefined || link.source === root || link.target === root || link.lit;
}

export function lineColour(link: SceneLink, root: string | undefined, palette: Palette): string {
  if (link.lit) return palette.accent;
  return concerns(link, root) ? palette.soft : palette.line;
}
