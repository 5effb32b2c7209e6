// A step of a run as the server tells it, asked for again while its place in a graph is looked up.

import { useEffect, useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { LaneEvent, StepView } from "../api/types";
import { useQuery, type Answer } from "../api/use_query";
import { stepOf } from "./event_at";

const AGAIN_MS = 500;

export function useStep(runId: string, event: LaneEvent | undefined): Answer<StepView> {
  const [asked, setAsked] = useState(0);
  const place = event ? stepOf(event) : null;
  const path = place ? apiPath(["run", runId, "step", place.member, place.step]) : null;
  const step = useQuery<StepView>(path, asked);
  const pending = step.data?.graphPending === true && step.path === path;
  useEffect(() => {
    if (!pending) return undefined;
    const timer = setTimeout(() => setAsked((before) => before + 1), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [pending, asked, path]);
  return step;
}
