// Lines between nodes, and the nearest node in a direction.

import type { Placed } from "./placing";
import type { Scene } from "./scene";

export interface Point {
  readonly x: number;
  readonly y: number;
}

const BOTH_WAYS = 0.13;
const COLUMN = 30; // Nearer than this sideways, two nodes stand in one column.

/**
 * How far each line bends away from straight, as a share of its length; 0 is straight.
 *
 * Two lines between the same nodes bend apart. A line within a column bends around the nodes between.
 */
export function bends(scene: Scene, placed: Placed): ReadonlyMap<string, number> {
  const pairs = new Set(scene.links.map((link) => JSON.stringify([link.source, link.target])));
  return new Map(scene.links.map((link) => {
    const [from, to] = [placed.places.get(link.source), placed.places.get(link.target)];
    const back = pairs.has(JSON.stringify([link.target, link.source]));
    if (from && to && Math.abs(from.x - to.x) < COLUMN) {
      const far = Math.max(1, Math.abs(from.y - to.y));
      return [link.id, Math.min(0.5, (22 + 0.16 * far) / far)];
    }
    return [link.id, back ? BOTH_WAYS : 0];
  }));
}

/** A point of a line: at its beginning for a share of 0, at its end for 1. */
export function along(from: Point, to: Point, bend: number, share: number): Point {
  const anchor = anchorOf(from, to, bend);
  const [a, b, c] = [(1 - share) ** 2, 2 * share * (1 - share), share ** 2];
  return {
    x: a * from.x + b * anchor.x + c * to.x,
    y: a * from.y + b * anchor.y + c * to.y,
  };
}

/** The control point of the curve, as in sigma's curved edges. */
export function anchorOf(from: Point, to: Point, bend: number): Point {
  return {
    x: (from.x + to.x) / 2 + (to.y - from.y) * bend,
    y: (from.y + to.y) / 2 - (to.x - from.x) * bend,
  };
}

/** The nearest node in a direction; a sideways distance counts more. */
export function beside(placed: Placed, from: string, dx: number, dy: number): string | undefined {
  const start = placed.places.get(from);
  if (!start) return undefined;
  let best: string | undefined;
  let least = Infinity;
  for (const [id, place] of placed.places) {
    const ahead = (place.x - start.x) * dx + (place.y - start.y) * dy;
    const aside = Math.abs((place.x - start.x) * dy) + Math.abs((place.y - start.y) * dx);
    const far = ahead + 2.5 * aside;
    if (id !== from && ahead > 4 && far < least) {
      least = far;
      best = id;
    }
  }
  return best;
}
