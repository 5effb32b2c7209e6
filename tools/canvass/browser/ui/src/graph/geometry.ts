// Which node lies in a direction of another one.

import type { Placed } from "./placing";

/** The nearest node in a direction; what lies aside counts as further away. */
export function beside(placed: Placed, from: string, dx: number, dy: number): string | undefined {
  const start = placed.places.get(from);
  if (!start) return undefined;
  let best: string | undefined;
  let least = Infinity;
  for (const [id, place] of placed.places) {
    const along = (place.x - start.x) * dx + (place.y - start.y) * dy;
    const aside = Math.abs((place.x - start.x) * dy) + Math.abs((place.y - start.y) * dx);
    const far = along + 2.5 * aside;
    if (id !== from && along > 4 && far < least) {
      least = far;
      best = id;
    }
  }
  return best;
}
