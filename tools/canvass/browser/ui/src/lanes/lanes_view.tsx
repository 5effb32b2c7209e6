// Swim lanes: one lane for each member, time goes down, messages are arrows.
//
// Only visible events are requested and drawn; the scroll bar spans the whole run.

import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { apiPath, saved } from "../api/client";
import type { Lanes } from "../api/types";
import { useQuery } from "../api/use_query";
import { useKeys } from "../keys/keys";
import { useListChoice } from "../parts/list_choice";
import { Awaited, Empty } from "../parts/note";
import { LanesList } from "./lanes_list";
import { LanesScroller } from "./lanes_scroller";

const COUNT = 150;
const STEP = 50; // Windows begin at multiples of it, so few different ones are requested.

/** Choices of the drawn events: `id` is in the address, `asked` in the request. The first is the default. */
const SHOWN = [
  { id: "", asked: "alike", title: "Grouped", about: "one box for similar or routine steps of a member in a row" },
  { id: "all", asked: undefined, title: "All events", about: "every step of every member" },
  { id: "events", asked: "events", title: "No routine", about: "without RecordLog, AppendEntry, positions and commits between elections" },
] as const;

/** Gives the event that is `by` drawn events further; undefined to count all events of the run. */
export type Along = (by: number) => number | undefined;

export function LanesView(
  { path, at, choose, show, setShow, along }: {
    path: readonly string[];
    at: number;
    choose: (number: number) => void;
    show: string;
    setShow: (show: string) => void;
    /** Set while the lanes are shown: the target of the arrow keys. */
    along: { current: Along | null };
  },
) {
  const [asked, ask] = useState<{ from?: number; around?: number }>({ around: at });
  const [list, choice] = useListChoice("Lanes", "Picture");
  const place = Math.max(0, SHOWN.findIndex((one) => one.id === show));
  const shown = SHOWN[place]?.asked;
  useKeys("Lanes", [
    { keys: ["f"], does: "grouped, all events, no routine", run: () => setShow(SHOWN[(place + 1) % SHOWN.length]?.id ?? "") },
  ]);
  const answer = useQuery<Lanes>(apiPath(path, saved ? { show: shown } : { ...asked, count: COUNT, show: shown }));
  const every = useQuery<Lanes>(saved ? apiPath(path) : null).data;
  const lanes = answer.data;
  const rows = useMemo(() => new Map(lanes?.events.map((event) => [event.event, event.number])), [lanes]);
  // Other lanes may have the chosen event elsewhere; `rows` are still those of the lanes before.
  useLayoutEffect(() => ask({ around: at }), [shown]);
  useLayoutEffect(() => {
    if (!rows.has(at)) ask({ around: at });
  }, [at]);
  // For an event without a box of its own, the server names the box.
  const here = every?.events[at - (every.events[0]?.event ?? 0)];
  const boxed = saved ? here && boxOf(lanes, at, shown === "alike" ? here.lane : undefined)
    : asked.around === at && !answer.loading ? lanes?.chosen : undefined;
  const row = rows.get(at) ?? boxed ?? -1;
  const first = lanes?.events[0]?.number ?? 0;
  const to = (number: number): number | undefined => lanes?.events[number - first]?.event;
  useLayoutEffect(() => {
    along.current = (by) => (shown && row >= 0 ? to(row + by) : undefined);
    return () => {
      along.current = null;
    };
  });
  return (
    <div class="lanes-view">
      <div class="toolbar">
        {choice}
        <div class="choice" role="group" aria-label="Which events">
          {SHOWN.map((one, at_) => (
            <button key={one.id} type="button" aria-pressed={at_ === place} title={`${one.about} (f)`} onClick={() => setShow(one.id)}>{one.title}</button>
          ))}
        </div>
        {lanes && lanes.hidden > 0 ? <span class="soft" data-hidden={lanes.hidden}>{`${lanes.hidden.toLocaleString("en")} not drawn`}</span> : null}
        <Legend />
      </div>
      <Awaited answer={answer} what="the lanes">
        {(drawn) => {
          if (drawn.total === 0) return <Empty title="The run has no events.">Nothing was recorded.</Empty>;
          const go = (number: number): void => choose(to(number) ?? at);
          return list ? <LanesList lanes={drawn} at={row} choose={go} />
            : <LanesScroller lanes={drawn} at={row} choose={go} need={(number) => ask({ from: windowAt(number) })} />;
        }}
      </Awaited>
    </div>
  );
}

/** The number of the box that stands for an event: the last one before it, of its member if a member is given. */
function boxOf(lanes: Lanes | undefined, at: number, member: number | undefined): number | undefined {
  return lanes?.events.findLast((one) => one.event <= at && (member === undefined || one.lane === member))?.number;
}

function windowAt(number: number): number {
  return Math.max(0, Math.floor((number - COUNT / 2) / STEP) * STEP);
}

function Legend() {
  return (
    <ul class="legend" aria-label="Legend">
      <li><span class="arrow-sample">──▸</span> message</li>
      <li><span class="arrow-sample lost">┄┄✕</span> lost</li>
      <li><span class="mark-sample">↻</span> restart</li>
      <li><span class="mark-sample bad">✖</span> diverges</li>
      <li><span class="soft">○</span> inferred</li>
    </ul>
  );
}
