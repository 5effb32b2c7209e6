// The election state of each member over the run, as coloured bars with signs.

import type { MemberStrip, RunStrip, RunView } from "../api/types";
import { phaseOf, signOf } from "../words/election";
import type { TimeScale } from "./time_scale";

const ROW = 15;
const SIGN = 15;

export function Strip(
  { strip, run, at, width, scale, show }: {
    strip: RunStrip;
    run: RunView;
    at: number;
    width: number;
    scale: TimeScale;
    show: (at: number) => void;
  },
) {
  const height = strip.members.length * ROW;
  const diverges = run.divergence?.eventNumber;
  const middle = (number: number): number => (scale.place(number) + scale.place(number + 1)) / 2;
  const clicked = (event: MouseEvent): void => {
    const { left } = (event.currentTarget as Element).getBoundingClientRect();
    show(Math.floor(scale.number(event.clientX - left)));
  };
  return (
    <svg class="strip-picture" width={width} height={height} onClick={clicked} aria-hidden="true">
      {strip.members.map((member, row) => (
        <Segments key={member.id} member={member} row={row} total={strip.total} scale={scale} />
      ))}
      {strip.marks.map((mark, place) => (
        <line
          key={place}
          class={`strip-mark is-${mark.kind.toLowerCase()}`}
          x1={middle(mark.number)} x2={middle(mark.number)} y1={0} y2={height}
        >
          <title>{`${mark.kind} of member ${mark.member}: ${mark.text}`}</title>
        </line>
      ))}
      {diverges === undefined ? null : (
        <line class="strip-mark is-diverges" x1={middle(diverges)} x2={middle(diverges)} y1={0} y2={height} />
      )}
      <line class="strip-now" x1={middle(at)} x2={middle(at)} y1={0} y2={height} />
    </svg>
  );
}

function Segments(
  { member, row, total, scale }: {
    member: MemberStrip;
    row: number;
    total: number;
    scale: TimeScale;
  },
) {
  return (
    <>
      {member.segments.map((segment, place) => {
        if (segment.electionState === "") return null;
        const from = scale.place(segment.start);
        const width = scale.place(member.segments[place + 1]?.start ?? total) - from;
        return (
          <g key={segment.start} class={`strip-segment phase-${phaseOf(segment.electionState)}`}>
            <rect x={from} y={row * ROW + 1} width={Math.max(0.5, width - 0.5)} height={ROW - 2}>
              <title>{`member ${member.id}: ${segment.electionState}, from event ${segment.start + 1}`}</title>
            </rect>
            {width > SIGN
              ? <text x={from + 3} y={row * ROW + ROW - 4}>{signOf(segment.electionState)}</text> : null}
          </g>
        );
      })}
    </>
  );
}
