// The colours of the style sheet, for what is drawn on a canvas.

import type { Phase } from "../words/election";

export interface Palette {
  readonly ink: string;
  readonly soft: string;
  readonly paper: string;
  readonly line: string;
  readonly accent: string;
  readonly heat: readonly [string, string];
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
    heat: [read("--heat-none"), read("--heat")],
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
