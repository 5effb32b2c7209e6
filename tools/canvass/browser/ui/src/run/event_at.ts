// The event at a place of the causal order.

import { apiPath, saved } from "../api/client";
import type { LaneEvent, Lanes, RunView } from "../api/types";
import { useQuery } from "../api/use_query";
import { plural } from "../words/visible";

const WINDOW = 50;

/** The event, from its window of lanes: most steps stay in one window. */
export function useEventAt(
  runId: string, at: number,
): { event: LaneEvent | undefined; next: LaneEvent | undefined; error: Error | undefined } {
  const from = Math.floor(at / WINDOW) * WINDOW;
  const lanes = useQuery<Lanes>(apiPath(["run", runId, "lanes"], saved ? {} : { from, count: WINDOW }));
  const numbered = (number: number): LaneEvent | undefined =>
    lanes.data?.events[number - (lanes.data.events[0]?.event ?? 0)];
  return { event: numbered(at), next: numbered(at + 1), error: lanes.error };
}

/** Whether there is more of an event than its place: a saved page may have a part of the run only. */
export function isKept({ part }: RunView, at: number): boolean {
  return part === null || (at >= part.start && at < part.end);
}

/** The events of the run, or the part of them that this page has. */
export function eventsOf({ part, events }: RunView): string {
  if (part === null) return plural(events, "event");
  return `events ${(part.start + 1).toLocaleString("en")} to ${part.end.toLocaleString("en")} of ${events.toLocaleString("en")}`;
}

/** Member and step of an event, from its reference `member:step`. */
export function stepOf(event: LaneEvent): { member: string; step: string } | null {
  const found = /^(\d+):(\d+)$/.exec(event.reference);
  return found ? { member: found[1] as string, step: found[2] as string } : null;
}

export function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
