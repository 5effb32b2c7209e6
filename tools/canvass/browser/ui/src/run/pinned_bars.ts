// Places of the stretches of a condition under the timeline.

import type { RunFound } from "../api/types";
import type { TimeScale } from "./time_scale";

const LEAST = 2; // Width of a bar: a stretch of one event is seen, too.
const REACH = 12; // A finger or a mouse rarely hits two pixels.

export interface Bar {
  readonly row: number;
  readonly x: number;
  readonly width: number;
  /** The first event of the stretch. */
  readonly event: number;
  readonly text: string;
}

/** The bars of the stretches: one row for each of `members`, or one for the whole cluster. */
export function barsOf(found: RunFound, members: readonly number[], scale: TimeScale): readonly Bar[] {
  return found.shown.map((one) => {
    const x = scale.place(one.event);
    const events = one.event === one.lastEvent ? `event ${one.event + 1}` : `events ${one.event + 1} to ${one.lastEvent + 1}`;
    return {
      row: found.ofCluster ? 0 : members.indexOf(one.member),
      x,
      width: Math.max(LEAST, scale.place(one.lastEvent + 1) - x),
      event: one.event,
      text: found.ofCluster ? events : `member ${one.member}: ${events}`,
    };
  });
}

/** The bar in a row that is nearest to `x`, if one is near. */
export function barAt(bars: readonly Bar[], row: number, x: number): Bar | undefined {
  let [nearest, least]: [Bar | undefined, number] = [undefined, REACH];
  for (const bar of bars) {
    const distance = Math.max(bar.x - x, x - bar.x - bar.width, 0);
    if (bar.row === row && distance < least) [nearest, least] = [bar, distance];
  }
  return nearest;
}
