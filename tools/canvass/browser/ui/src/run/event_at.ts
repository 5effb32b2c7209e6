// The event at a place of the causal order.

import { apiPath, saved } from "../api/client";
import type { LaneEvent, Lanes } from "../api/types";
import { useQuery } from "../api/use_query";

const WINDOW = 50;

/** The event, from its window of lanes: most steps stay in one window. */
export function useEventAt(
  runId: string, at: number,
): { event: LaneEvent | undefined; next: LaneEvent | undefined; error: Error | undefined } {
  const from = Math.floor(at / WINDOW) * WINDOW;
  const lanes = useQuery<Lanes>(apiPath(["run", runId, "lanes"], saved ? {} : { from, count: WINDOW }));
  const numbered = (number: number): LaneEvent | undefined =>
    lanes.data?.events[number - (lanes.data.events[0]?.number ?? 0)];
  return { event: numbered(at), next: numbered(at + 1), error: lanes.error };
}

/** Member and step of an event, from its reference `member:step`. */
export function stepOf(event: LaneEvent): { member: string; step: string } | null {
  const found = /^(\d+):(\d+)$/.exec(event.reference);
  return found ? { member: found[1] as string, step: found[2] as string } : null;
}

export function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
