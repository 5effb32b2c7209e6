// The election state of each member over the run, as coloured bars with signs.

import { useMemo } from "preact/hooks";
import type { MemberTimeline, RunTimeline, RunView } from "../api/types";
import { phaseOf, signOf } from "../words/election";
import type { TimeScale } from "./time_scale";

export const TIMELINE_ROW = 15;
const SIGN = 15;
const CHARACTER = 5.8;
const AXIS = 14;
const BAND = 15;
export const TIMELINE_TOP = AXIS + BAND;
const TICK = 92; // Room for a time with milliseconds.

export function TimelinePicture(
  { timeline, run, at, width, scale, show }: {
    timeline: RunTimeline;
    run: RunView;
    at: number;
    width: number;
    scale: TimeScale;
    show: (at: number) => void;
  },
) {
  const height = TIMELINE_TOP + timeline.members.length * TIMELINE_ROW;
  const diverges = run.divergence?.eventNumber;
  const middle = (number: number): number => (scale.place(number) + scale.place(number + 1)) / 2;
  const clicked = (event: MouseEvent): void => {
    const { left } = (event.currentTarget as Element).getBoundingClientRect();
    show(Math.floor(scale.number(event.clientX - left)));
  };
  // From key to key, only the line at the current event is drawn again.
  const still = useMemo(() => (
    <g>
      <Axis timeline={timeline} width={width} middle={middle} />
      <Bands timeline={timeline} scale={scale} />
      {timeline.members.map((member, row) => (
        <Segments key={member.id} member={member} row={row} total={timeline.total} scale={scale} />
      ))}
      {timeline.marks.map((mark, place) => {
        // In the member's row only: a loop of errors would cover the states of all members.
        const top = TIMELINE_TOP + timeline.members.findIndex((one) => one.id === mark.member) * TIMELINE_ROW;
        return (
          <line
            key={place}
            class={`timeline-mark is-${mark.kind.toLowerCase()}`}
            x1={middle(mark.number)} x2={middle(mark.number)} y1={top} y2={top + TIMELINE_ROW}
          >
            <title>{`${mark.kind} of member ${mark.member}: ${mark.text}`}</title>
          </line>
        );
      })}
      {diverges === undefined ? null : (
        <line class="timeline-mark is-diverges" x1={middle(diverges)} x2={middle(diverges)} y1={0} y2={height}>
          <title>{`the first step that diverges: event ${diverges + 1}`}</title>
        </line>
      )}
    </g>
  ), [timeline, scale, width, diverges]);
  return (
    <svg class="timeline-picture" width={width} height={height} onClick={clicked} aria-hidden="true">
      {still}
      <line class="timeline-now" x1={middle(at)} x2={middle(at)} y1={0} y2={height} />
    </svg>
  );
}

/** Times along the timeline, as many as have room. */
function Axis(
  { timeline, width, middle }: { timeline: RunTimeline; width: number; middle: (number: number) => number },
) {
  const ticks: { x: number; time: string }[] = [];
  for (const { number, time } of timeline.times) {
    const x = middle(number);
    const last = ticks.at(-1);
    if ((last === undefined || x - last.x >= TICK) && x < width - TICK / 2) ticks.push({ x, time });
  }
  return (
    <g class="timeline-axis" data-axis>
      {ticks.map(({ x, time }) => (
        <g key={x}>
          <path d={`M${x} 0v${AXIS - 2}`} />
          <text x={x + 3} y={AXIS - 4}>{time}</text>
        </g>
      ))}
    </g>
  );
}

/** The leaderships, and the duration of the election before each. */
function Bands({ timeline, scale }: { timeline: RunTimeline; scale: TimeScale }) {
  const timed = timeline.times.length > 0; // Without times, the clock only counts.
  return (
    <g class="timeline-bands">
      {timeline.bands.map((band, at) => {
        const from = scale.place(band.start);
        const width = Math.max(1.5, scale.place(band.end) - from);
        const text = `${band.member} leads term ${band.term}${timed ? ` · ${band.lasted}` : ""}`;
        // A leader may not know yet that another member is elected: its band continues above the election.
        const ends = timeline.bands.slice(0, at).map((one) => one.end);
        const before = from - scale.place(Math.max(band.electionStart, ...ends));
        return (
          <g key={`${band.start} ${band.member}`} data-band={band.member} data-term={band.term}>
            <rect x={from} y={AXIS + 1} width={width} height={BAND - 3} rx={3} />
            <text x={from + 4} y={AXIS + BAND - 4}>{fitting(width - 6, text, `${band.member} leads t${band.term}`, `t${band.term}`)}</text>
            <text class="timeline-election" x={from - 4} y={AXIS + BAND - 4} text-anchor="end">
              {timed ? fitting(before - 6, `elected in ${band.election}`, band.election) : ""}
            </text>
            <title>{`member ${band.member} leads term ${band.term} for ${band.lasted}; its own election took ${band.election}`}</title>
          </g>
        );
      })}
    </g>
  );
}

function fitting(width: number, ...texts: readonly string[]): string {
  return texts.find((text) => text.length * CHARACTER <= width) ?? "";
}

function isLeading(one: { readonly electionState: string; readonly role: string }): boolean {
  return one.electionState === "CLOSED" && one.role === "LEADER";
}

function Segments(
  { member, row, total, scale }: {
    member: MemberTimeline;
    row: number;
    total: number;
    scale: TimeScale;
  },
) {
  return (
    <>
      {member.segments.map((segment, place) => {
        if (segment.electionState === "" && segment.status === "") return null;
        const from = scale.place(segment.start);
        const width = scale.place(member.segments[place + 1]?.start ?? total) - from;
        const y = TIMELINE_TOP + row * TIMELINE_ROW;
        if (segment.status !== "") {
          return (
            <g key={`${segment.start} ${segment.status}`} class="timeline-down" data-down={member.id}>
              <path d={`M${from} ${y + TIMELINE_ROW / 2}h${Math.max(0.5, width)}`} />
              <text x={from + 4} y={y + TIMELINE_ROW - 4}>{segment.status === "DOWN" ? fitting(width - 6, "down") : fitting(width - 6, "no further events", "no events")}</text>
              <title>{segment.status === "DOWN"
                ? `member ${member.id} is down, from its last event to its restart`
                : `member ${member.id} has no further events`}</title>
            </g>
          );
        }
        const leads = isLeading(segment);
        return (
          <g key={segment.start} class={`timeline-segment phase-${leads ? "leader" : phaseOf(segment.electionState)}${leads ? " is-leading" : ""}`}>
            <rect x={from} y={y + 1} width={Math.max(0.5, width - 0.5)} height={TIMELINE_ROW - 2}>
              <title>{`member ${member.id}: ${segment.electionState}${leads ? ", it leads" : ""}, from event ${segment.start + 1}`}</title>
            </rect>
            {width > SIGN ? <text x={from + 3} y={y + TIMELINE_ROW - 4}>{fitting(width - 6, leads ? "leads" : segment.electionState === "CLOSED" ? "follows" : segment.electionState, leads ? "" : signOf(segment.electionState))}</text> : null}
          </g>
        );
      })}
    </>
  );
}
