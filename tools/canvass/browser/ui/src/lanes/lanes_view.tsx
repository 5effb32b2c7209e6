// Swim lanes: one lane for each member, time goes down, messages are arrows.
//
// Only what is in sight is asked for and drawn; the scroll bar is that of the whole run.

import { useLayoutEffect, useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { Lanes } from "../api/types";
import { useQuery } from "../api/use_query";
import { useKeys } from "../keys/keys";
import { Awaited, Empty } from "../parts/note";
import { LanesList } from "./lanes_list";
import { LanesScroller } from "./lanes_scroller";

const STEP = 50; // Windows begin at multiples of it, so that few are asked for.
const AROUND = 100;

export function LanesView(
  { path, at, choose, quiet, setQuiet }: {
    path: readonly string[];
    at: number;
    choose: (number: number) => void;
    /** Whether the routine of members that follow or lead is left out. */
    quiet: boolean;
    setQuiet: (quiet: boolean) => void;
  },
) {
  const [from, setFrom] = useState<number | undefined>(() => (quiet ? undefined : windowAt(at)));
  const [list, setList] = useState(false);
  useKeys("Lanes", [
    { keys: ["v"], does: "picture or list", run: () => setList((was) => !was) },
    { keys: ["f"], does: "without routine, or all events", run: () => setQuiet(!quiet) },
  ]);
  useLayoutEffect(
    () => setFrom((before) => (quiet ? undefined : before !== undefined && inside(at, before) ? before : windowAt(at))),
    [at, quiet],
  );
  const answer = useQuery<Lanes>(apiPath(path, { from, count: 2 * AROUND + STEP, around: quiet ? at : undefined }));
  return (
    <div class="lanes-view">
      <div class="toolbar">
        <div class="choice" role="group" aria-label="How to show it">
          <button type="button" aria-pressed={!list} onClick={() => setList(false)}>Picture</button>
          <button type="button" aria-pressed={list} onClick={() => setList(true)}>List</button>
        </div>
        <button type="button" aria-pressed={quiet} onClick={() => setQuiet(!quiet)} title="RecordLog, AppendEntry, positions and commits of members that follow or lead">
          Without routine <kbd>f</kbd>
        </button>
        {quiet && answer.data !== undefined && answer.data.chosen >= 0 ? <span class="soft" data-hidden={answer.data.hidden}>{`${answer.data.hidden.toLocaleString("en")} left out`}</span> : null}
        <Legend />
      </div>
      <Awaited answer={answer} what="the lanes">
        {(lanes) => {
          if (lanes.total === 0) return <Empty title="The run has no events.">Nothing was recorded.</Empty>;
          const here = lanes.chosen < 0 ? at : lanes.chosen;
          const go = (number: number): void =>
            choose(lanes.chosen < 0 ? number : (lanes.events.find((event) => event.number === number)?.event ?? at));
          return list ? <LanesList lanes={lanes} at={here} choose={go} />
            : <LanesScroller lanes={lanes} at={here} choose={go} need={(number) => setFrom(windowAt(number))} />;
        }}
      </Awaited>
    </div>
  );
}

function windowAt(number: number): number {
  return Math.max(0, Math.floor(number / STEP) * STEP - AROUND);
}

function inside(number: number, from: number): boolean {
  return number >= from + (from === 0 ? 0 : STEP / 2) && number < from + 2 * AROUND;
}

function Legend() {
  return (
    <ul class="legend" aria-label="Legend">
      <li><span class="arrow-sample">──▸</span> message</li>
      <li><span class="arrow-sample lost">┄┄✕</span> lost</li>
      <li><span class="mark-sample">↻</span> restart</li>
      <li><span class="mark-sample bad">✖</span> not allowed</li>
      <li><span class="soft">○</span> inferred</li>
    </ul>
  );
}
