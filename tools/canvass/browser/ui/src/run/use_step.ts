// A step of a run, requested again until its place in a graph is known.

import { useEffect, useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { LaneEvent, StepView } from "../api/types";
import { askOnce, useQuery, type Answer } from "../api/use_query";
import { stepOf } from "./event_at";

const AGAIN_MS = 500;

/** The step of an event. The next event's step is requested ahead: a key then shows it at once. */
export function useStep(
  runId: string, event: LaneEvent | undefined, next?: LaneEvent | undefined,
): Answer<StepView> {
  const [asked, setAsked] = useState(0);
  const path = pathOf(runId, event);
  const step = useQuery<StepView>(path, asked);
  const answered = step.data !== undefined && step.path === path;
  const pending = answered && step.data.graphPending;
  const ahead = answered && !pending ? pathOf(runId, next) : null;
  useEffect(() => {
    if (!pending) return undefined;
    const timer = setTimeout(() => setAsked((before) => before + 1), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [pending, asked, path]);
  useEffect(() => {
    // An error is shown when the reader gets there.
    if (ahead !== null) askOnce(ahead).catch(() => undefined);
  }, [ahead]);
  return step;
}

function pathOf(runId: string, event: LaneEvent | undefined): string | null {
  const place = event ? stepOf(event) : null;
  return place ? apiPath(["run", runId, "step", place.member, place.step]) : null;
}
