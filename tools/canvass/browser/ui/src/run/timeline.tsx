// Time from left to right: the election state of each member, and the place that is looked at.

import { useRef } from "preact/hooks";
import type { RunStrip, RunView, MemberStrip } from "../api/types";
import { useSize } from "../parts/use_size";
import { phaseOf, signOf } from "../words/election";
import { plural } from "../words/visible";
import { useEventAt } from "./event_at";

const ROW = 14;
const CHARACTER = 9;

export function Timeline(
  { run, strip, at, playing, play, show }: {
    run: RunView;
    strip: RunStrip | undefined;
    at: number;
    playing: boolean;
    play: () => void;
    show: (at: number) => void;
  },
) {
  const { event } = useEventAt(run.id, at);
  const last = Math.max(0, run.events - 1);
  const told = event ? `${event.title}, member and step ${event.reference}` : "";
  return (
    <footer class="timeline" aria-label="Time">
      <div class="timeline-buttons">
        <button type="button" onClick={() => show(0)} disabled={at === 0} aria-label="First event" title="Home">⏮</button>
        <button type="button" onClick={() => show(at - 1)} disabled={at === 0} aria-label="Event before" title="←">◀</button>
        <button type="button" onClick={play} aria-pressed={playing} aria-label={playing ? "Pause" : "Play"} title="Space">
          {playing ? "❚❚" : "▶▶"}
        </button>
        <button type="button" onClick={() => show(at + 1)} disabled={at >= last} aria-label="Next event" title="→">▶</button>
        <button type="button" onClick={() => show(last)} disabled={at >= last} aria-label="Last event" title="End">⏭</button>
        <output class="place" data-place={at}>
          {run.events === 0 ? "no events" : `event ${(at + 1).toLocaleString("en")} of ${run.events.toLocaleString("en")}`}
        </output>
      </div>
      <div class="timeline-track">
        {strip ? <Strip strip={strip} run={run} at={at} /> : null}
        <input
          type="range"
          min={0}
          max={last}
          value={at}
          aria-label="Place in the run"
          aria-valuetext={`event ${at + 1} of ${run.events}: ${told}`}
          onInput={(input) => show(Number(input.currentTarget.value))}
        />
        {strip && strip.leftOut > 0
          ? <p class="soft">{`${plural(strip.leftOut, "change")} of state left out of the strip`}</p> : null}
      </div>
    </footer>
  );
}

function Strip({ strip, run, at }: { strip: RunStrip; run: RunView; at: number }) {
  const holder = useRef<HTMLDivElement>(null);
  const { width } = useSize(holder);
  const total = Math.max(1, strip.total);
  const x = (number: number): number => (number / total) * width;
  const height = strip.members.length * ROW;
  const diverges = run.divergence?.eventNumber;
  return (
    <div class="strip" aria-hidden="true">
      <div class="strip-names">
        {strip.members.map((member) => <span key={member.id}>{member.id}</span>)}
      </div>
      <div class="strip-picture" ref={holder}>
      <svg width={width} height={height}>
        {strip.members.map((member, row) => (
          <Segments key={member.id} member={member} row={row} total={total} room={width} />
        ))}
        {strip.marks.map((mark) => (
          <line key={mark.number} class={`strip-mark is-${mark.kind.toLowerCase()}`}
            x1={x(mark.number + 0.5)} x2={x(mark.number + 0.5)} y1={0} y2={height}>
            <title>{`${mark.kind}: ${mark.text}`}</title>
          </line>
        ))}
        {diverges === undefined ? null : (
          <line class="strip-mark is-diverges" x1={x(diverges + 0.5)} x2={x(diverges + 0.5)} y1={0} y2={height} />
        )}
        <line class="strip-now" x1={x(at + 0.5)} x2={x(at + 0.5)} y1={0} y2={height} />
      </svg>
      </div>
    </div>
  );
}

function Segments(
  { member, row, total, room }: { member: MemberStrip; row: number; total: number; room: number },
) {
  return (
    <>
      {member.segments.map((segment, place) => {
        if (segment.electionState === "") return null;
        const end = member.segments[place + 1]?.start ?? total;
        const from = (segment.start / total) * room;
        const width = ((end - segment.start) / total) * room;
        return (
          <g key={segment.start} class={`strip-segment phase-${phaseOf(segment.electionState)}`}>
            <rect x={from} y={row * ROW + 1} width={Math.max(0.5, width)} height={ROW - 2}>
              <title>{`member ${member.id}: ${segment.electionState}, from event ${segment.start + 1}`}</title>
            </rect>
            {width > 2.4 * CHARACTER ? (
              <text x={from + 4} y={row * ROW + ROW - 4}>{signOf(segment.electionState)}</text>
            ) : null}
          </g>
        );
      })}
    </>
  );
}
