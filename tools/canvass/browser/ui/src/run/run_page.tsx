// The page of a run: its views, the step pane beside them, and the timeline below.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { apiPath, saved } from "../api/client";
import type { NextChange, RunTimeline, RunView, SourceInfo } from "../api/types";
import { askOnce, useQuery } from "../api/use_query";
import type { Place } from "../route/place";
import { ExportMenu, savedPageOf } from "../exports/export_menu";
import { useKeys } from "../keys/keys";
import { Awaited } from "../parts/note";
import { Tabs } from "../parts/tabs";
import { formatRoute, go } from "../route/route";
import { whatIfAt } from "../what_if/what_if_page";
import { plural } from "../words/visible";
import { clamp, eventsOf, isKept } from "./event_at";
import { milestonesOf, startOf } from "./milestones";
import { RunFindView } from "./find_view";
import { InGraphView } from "./in_graph";
import { LanesView, type Along } from "../lanes/lanes_view";
import { OverviewView } from "./overview_view";
import { StoryView } from "./story_view";
import { StepPane } from "./step_pane";
import { Timeline } from "./timeline";
import { VerdictBadge } from "./verdict_badge";

const POLL_MS = 700;
const PLAY_MS = 350;

/** The views; the number keys choose them in this order. */
const ALL_VIEWS: readonly { readonly id: string; readonly title: string; readonly keys?: readonly string[] }[] = [
  { id: "story", title: "Story" },
  { id: "lanes", title: "Lanes" },
  { id: "graph", title: "In the graph" },
  { id: "election", title: "Election" },
  { id: "find", title: "Find", keys: ["/"] },
];
const NEED_SERVER = ["graph", "find"];
const VIEWS = ALL_VIEWS.filter((one) => !(saved && NEED_SERVER.includes(one.id)));

export function RunPage(
  { source, rest, query, graphs }: Place & { graphs: readonly SourceInfo[] },
) {
  const [polls, setPolls] = useState(0);
  const run = useQuery<RunView>(apiPath(["run", source.id]), polls);
  const checking = run.data?.checking === true;
  useEffect(() => {
    if (!checking) return undefined;
    const timer = setTimeout(() => setPolls((before) => before + 1), POLL_MS);
    return () => clearTimeout(timer);
  }, [checking, polls]);

  return (
    <main class="run">
      <Awaited answer={run} what="the run">
        {(data) => <Loaded run={data} rest={rest} query={query} graphs={graphs} />}
      </Awaited>
    </main>
  );
}

function Loaded(
  { run, rest, query, graphs }: {
    run: RunView;
    rest: readonly string[];
    query: Place["query"];
    graphs: readonly SourceInfo[];
  },
) {
  const last = Math.max(0, run.events - 1);
  const asked = Number(query["at"]);
  const whole = useQuery<RunTimeline>(apiPath(["run", run.id, "timeline"]));
  const timeline = whole.data;
  const start = startOf(run, timeline);
  const at = clamp(query["at"] !== undefined && Number.isInteger(asked) ? asked : start, 0, last);
  const view = VIEWS.find((one) => one.id === query["view"])?.id ?? "story";
  const [said, setSaid] = useState("");
  useEffect(() => setSaid(""), [at, view]);
  const [broken, setBroken] = useState("");
  useLinkToStep(run, rest, view, setBroken);

  const where = query["where"] ?? "";
  // A saved file has no answers to conditions.
  const pin = saved ? "" : query["pin"] ?? "";
  const show = (change: { at?: number; view?: string; where?: string; pin?: string; show?: string }, replace = true): void => {
    go(formatRoute(["run", run.id], { at, view, where, pin, show: query["show"], ...change }), replace);
  };
  const toChange = (member: number, field: string): void => {
    askOnce<NextChange>(apiPath(["run", run.id, "change"], { member, field, at })).then(
      ({ event }) => {
        if (event === null) setSaid(`${field} of member ${member} does not change after this step.`);
        else show({ at: event });
      },
      (error: Error) => setSaid(error.message),
    );
  };

  const along = useRef<Along | null>(null);
  const move = (by: number): void => show({ at: along.current?.(by) ?? clamp(at + by, 0, last) });
  // Always of the current address: the view may have changed since the timer was set.
  const next = useRef(() => move(1));
  next.current = () => move(1);
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return undefined;
    if (at >= last || !isKept(run, at)) {
      setPlaying(false);
      return undefined;
    }
    const timer = setTimeout(() => next.current(), PLAY_MS);
    return () => clearTimeout(timer);
  }, [playing, at]);

  const milestones = useMemo(() => milestonesOf(run, timeline), [run, timeline]);
  const placed = query["at"] !== undefined || timeline !== undefined || whole.error !== undefined;
  const toMark = (next: boolean): void => {
    const found = next
      ? milestones.find((one) => one.number > at) : milestones.findLast((one) => one.number < at);
    if (found) show({ at: found.number });
  };
  useKeys("Along the run", [
    { keys: ["ArrowRight", "l"], does: "next event", run: () => move(1) },
    { keys: ["ArrowLeft", "h"], does: "event before", run: () => move(-1) },
    { keys: ["PageDown"], does: "25 events on", run: () => move(25) },
    { keys: ["PageUp"], does: "25 events back", run: () => move(-25) },
    { keys: ["Home"], does: "first event", run: () => show({ at: 0 }) },
    { keys: ["End"], does: "last event", run: () => show({ at: last }) },
    { keys: ["]"], does: "next leader, restart, fault or divergence", run: () => toMark(true) },
    { keys: ["["], does: "the one before", run: () => toMark(false) },
    { keys: [" "], does: "play or pause", run: () => setPlaying((before) => !before) },
    ...(saved ? [] : [
      { keys: ["w"], does: "what may come next", run: () => go(whatIfAt("run", run.id, at)) },
      { keys: ["W"], does: "what else could have come", run: () => go(whatIfAt("run", run.id, Math.max(0, at - 1))) },
    ]),
    ...(run.divergence
      ? [{ keys: ["d"], does: "the divergence", run: () => show({ at: run.divergence?.eventNumber ?? start, view: "story" }) }]
      : []),
  ]);
  useKeys("Views", VIEWS.map((one, place) => ({
    keys: [String(place + 1), ...(one.keys ?? [])],
    does: one.title.toLowerCase(),
    run: () => show({ view: one.id }, false),
  })));

  // The timeline decides at which event to begin; another event shown before would flicker.
  if (!placed) return <p class="waiting" role="status">Loading the run …</p>;
  return (
    <>
      <div class="head">
        <div class="head-line">
          <h1>{run.title}</h1>
          <VerdictBadge run={run} />
          <span class="soft" title={run.releases[0] ?? ""}>
            {`revision ${run.revision} · ${plural(run.members, "member")} · ${eventsOf(run)}`}
          </span>
          <span class="bar-space" />
          <ExportMenu name={`${run.runId}-${view}`} files={savedPageOf(run.id)} />
        </div>
        {run.releases.slice(1).map((note) => <p class="remark" key={note}>{note}</p>)}
        {broken ? <p class="remark is-diverges" role="alert" data-broken>{broken}</p> : null}
        <Tabs label="Views of the run" tabs={VIEWS} chosen={view} choose={(id) => show({ view: id }, false)} />
      </div>
      <div class="split">
        <section class="view" data-export aria-label={`View: ${view}`}>
          {view === "lanes" ? <LanesView path={["run", run.id, "lanes"]} at={at} choose={(n) => show({ at: n })} show={query["show"] ?? ""} setShow={(one) => show({ show: one })} along={along} />
            : view === "graph" ? <InGraphView run={run} at={at} graphs={graphs} />
            : view === "find" ? <RunFindView run={run} where={where} pin={pin} setPin={(condition) => show({ pin: condition }, false)} ask={(text) => show({ where: text, view: "find" }, false)} show={(n) => show({ at: n })} />
            : view === "election" ? <OverviewView run={run} at={at} />
            : <StoryView run={run} milestones={milestones} show={(n) => show({ at: n })} watch={(n) => show({ at: n, view: "election" }, false)} />}
        </section>
        <StepPane run={run} at={at} said={said} toChange={toChange} />
      </div>
      <Timeline
        run={run}
        timeline={timeline}
        at={at}
        playing={playing}
        play={() => setPlaying((before) => !before)}
        pin={pin}
        unpin={() => show({ pin: "" }, false)}
        show={(n) => show({ at: n })}
      />
    </>
  );
}

/** Follow `#/run/ID/step/MEMBER/STEP`: the server gives the place of the step in the causal order. */
function useLinkToStep(
  run: RunView, rest: readonly string[], view: string, refuse: (why: string) => void,
): void {
  const [word, member, step] = rest;
  useLayoutEffect(() => {
    if (word !== "step" || member === undefined || step === undefined) return undefined;
    // A late answer must not bring back a reader who has gone elsewhere.
    let wanted = true;
    const follow = (at?: number): void => {
      if (wanted) go(formatRoute(["run", run.id], { at, view }), true);
    };
    askOnce<{ eventNumber: number }>(apiPath(["run", run.id, "step", member, step])).then(
      (found) => follow(found.eventNumber),
      (error: Error) => {
        refuse(`The link names step ${step} of member ${member}: ${error.message}.`);
        follow();
      },
    );
    return () => {
      wanted = false;
    };
  }, [word, member, step]);
}
