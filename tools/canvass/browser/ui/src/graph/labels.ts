// Words on the canvas of a graph. A word that would cover another is left out and counted.

import type { Palette } from "./palette";

interface Rectangle {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export class Labels {
  palette: Palette;
  hidden = 0;
  /** Rectangles that words must not cover: earlier words, and nodes. */
  private taken: Rectangle[] = [];

  constructor(palette: Palette) {
    this.palette = palette;
  }

  begin(nodes: readonly { x: number; y: number; size: number }[]): void {
    this.hidden = 0;
    this.taken = nodes.map(({ x, y, size }) => ({
      left: x - size, right: x + size, top: y - size, bottom: y + size,
    }));
  }

  /** Draw a word with its left middle at a place, unless it would cover something. */
  set(
    context: CanvasRenderingContext2D, text: string, x: number, y: number,
    size: number, colour: string, bold = false, always = false,
  ): boolean {
    context.font = `${bold ? "600 " : ""}${size}px ${this.palette.font}`;
    const width = context.measureText(text).width;
    const room = { left: x - 2, right: x + width + 2, top: y - size * 0.66, bottom: y + size * 0.66 };
    if (!always && this.taken.some((one) => overlap(one, room))) {
      this.hidden += 1;
      return false;
    }
    this.taken.push(room);
    // A halo in the paper's colour keeps the word readable above a line.
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = this.palette.paper;
    context.strokeText(text, x, y + size * 0.34);
    context.fillStyle = colour;
    context.fillText(text, x, y + size * 0.34);
    return true;
  }
}

function overlap(one: Rectangle, other: Rectangle): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}
