// A track under the timeline: the stretches of events for which a pinned condition holds.

import { useMemo } from "preact/hooks";
import { apiPath } from "../api/client";
import type { RunFound, RunTimeline, RunView } from "../api/types";
import { settled, useQuery } from "../api/use_query";
import { Mistake } from "../graph/find_view";
import { countOf } from "./find_view";
import { barAt, barsOf } from "./pinned_bars";
import { TIMELINE_ROW } from "./timeline_picture";
import type { TimeScale } from "./time_scale";

const DRAWN = 1000; // The most stretches that the server lists.

export function PinnedTrack(
  { run, timeline, where, unpin, at, width, scale, show }: {
    run: RunView;
    timeline: RunTimeline;
    where: string;
    unpin: () => void;
    at: number;
    width: number;
    scale: TimeScale;
    show: (at: number) => void;
  },
) {
  const { data, error, loading } = settled(useQuery<RunFound>(apiPath(["run", run.id, "find"], { where, limit: DRAWN })));
  const members = useMemo(() => timeline.members.map(({ id }) => id), [timeline]);
  const bars = useMemo(() => (data ? barsOf(data, members, scale) : []), [data, members, scale]);
  const clicked = (event: MouseEvent): void => {
    const { left, top } = (event.currentTarget as Element).getBoundingClientRect();
    const bar = barAt(bars, Math.floor((event.clientY - top) / TIMELINE_ROW), event.clientX - left);
    if (bar) show(bar.event);
  };
  // From key to key, only the line at the current event is drawn again.
  const still = useMemo(() => bars.map(({ row, x, width: wide, event, text }) => (
    <rect key={`${row} ${event}`} data-bar={event} x={x} y={row * TIMELINE_ROW + 2} width={wide} height={TIMELINE_ROW - 4}>
      <title>{text}</title>
    </rect>
  )), [bars]);
  const height = (data?.ofCluster ? 1 : members.length) * TIMELINE_ROW;
  const now = (scale.place(at) + scale.place(at + 1)) / 2;
  const whose = data?.ofCluster ? "the whole cluster" : "each member";
  return (
    <div class="pinned" data-pinned>
      <div class="pinned-title">
        <code>{where}</code>
        <span class="soft" role="status">{loading ? "Looking through the events …" : data ? `${countOf(data)}${data.ofCluster ? " of the whole cluster" : ""}` : ""}</span>
        <button type="button" class="inline" onClick={unpin}>Unpin</button>
        <div class="expression-error" role="alert">{error ? <Mistake error={error} /> : null}</div>
      </div>
      {data?.hints.map((hint) => <p key={hint} class="soft">{hint}</p>)}
      {data ? (
        <div class="timeline-track">
          <div class="timeline-names" aria-hidden="true">
            {data.ofCluster ? null : members.map((id) => <span key={id}>{id}</span>)}
          </div>
          <div class="timeline-place">
            <svg width={width} height={height} role="img" aria-label={`${where}: when it holds for ${whose}; ${countOf(data)}`} onClick={clicked}>
              {still}
              <line class="timeline-now" x1={now} x2={now} y1={0} y2={height} />
            </svg>
          </div>
        </div>
      ) : null}
    </div>
  );
}
