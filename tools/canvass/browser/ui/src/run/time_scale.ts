// The place of an event between left and right. Stretches without a change of an election state are
// shortened: a day of quiet must not hide an election of forty steps.

import type { RunTimeline } from "../api/types";

export interface TimeScale {
  readonly place: (number: number) => number;
  readonly number: (place: number) => number;
}

const QUIET = 0.55; // Exponent of a stretch's length; 1 would be true to scale.

/** A scale from event numbers to places between 0 and `width`, and back. */
export function timeScale(timeline: RunTimeline | undefined, total: number, width: number): TimeScale {
  const breaks = new Set([0, Math.max(1, total)]);
  for (const member of timeline?.members ?? []) for (const one of member.segments) breaks.add(one.start);
  for (const mark of timeline?.marks ?? []) breaks.add(mark.number);
  const ends = [...breaks].filter((one) => one >= 0 && one <= Math.max(1, total)).sort((a, b) => a - b);
  const places = [0];
  ends.slice(1).forEach((end, at) => {
    places.push((places[at] ?? 0) + (end - (ends[at] ?? 0)) ** QUIET);
  });
  const whole = places.at(-1) || 1;
  return {
    place: (number) => (interpolate(ends, places, number) / whole) * width,
    number: (place) => interpolate(places, ends, (place / Math.max(1, width)) * whole),
  };
}

/** Linear interpolation between known points; both lists ascend. */
function interpolate(from: readonly number[], to: readonly number[], value: number): number {
  let [low, high] = [0, from.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((from[middle] ?? 0) <= value) low = middle;
    else high = middle;
  }
  const [f0 = 0, f1 = 1, t0 = 0, t1 = 0] = [from[low], from[high], to[low], to[high]];
  if (f1 === f0) return t0;
  return t0 + (Math.min(1, Math.max(0, (value - f0) / (f1 - f0)))) * (t1 - t0);
}
