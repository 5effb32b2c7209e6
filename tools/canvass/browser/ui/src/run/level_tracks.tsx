// Tracks under the timeline: the term, the commit position and the end of the log of each member.

import { useMemo } from "preact/hooks";
import type { MemberLevels, RunTimeline } from "../api/types";
import type { TimeScale } from "./time_scale";

const HEIGHT = 34;
const MARGIN = 5;
/** Members differ in dashes, so nothing depends on colour. */
const DASHES = ["", "7 3", "2 3", "10 3 2 3", "5 5"];

const TRACKS: readonly { readonly title: string; readonly of: (levels: MemberLevels) => readonly number[] }[] = [
  { title: "term", of: (levels) => levels.term },
  { title: "commit position", of: (levels) => levels.commit },
  { title: "end of the log", of: (levels) => levels.end },
];

export function LevelTracks(
  { timeline, at, width, scale }: { timeline: RunTimeline; at: number; width: number; scale: TimeScale },
) {
  const now = timeline.levels.map(({ numbers }) => lastUpTo(numbers, at));
  return (
    <div class="level-tracks" data-tracks>
      {TRACKS.map(({ title, of }) => (
        <div key={title}>
          <p class="soft">
            {title}
            {timeline.levels.map((levels, place) => (
              <span key={levels.member}>
                <svg width="26" height="8" aria-hidden="true"><path class={`level is-member-${levels.member % DASHES.length}`} d="M1 4h24" stroke-dasharray={DASHES[levels.member % DASHES.length]} /></svg>
                {`${levels.member}: `}<strong data-level-of={`${title} ${levels.member}`}>{valueAt(of(levels), now[place] ?? -1)}</strong>
              </span>
            ))}
          </p>
          <Track levels={timeline.levels} of={of} total={timeline.total} at={at} width={width} scale={scale} title={title} />
        </div>
      ))}
    </div>
  );
}

function Track(
  { levels, of, total, at, width, scale, title }: {
    levels: readonly MemberLevels[];
    of: (levels: MemberLevels) => readonly number[];
    total: number;
    at: number;
    width: number;
    scale: TimeScale;
    title: string;
  },
) {
  const paths = useMemo(() => {
    const all = levels.flatMap((one) => [...of(one)]);
    const [least, most] = [all.reduce((a, b) => Math.min(a, b), Infinity), all.reduce((a, b) => Math.max(a, b), -Infinity)];
    const y = (value: number): number => HEIGHT - MARGIN - ((HEIGHT - 2 * MARGIN) * (value - least)) / Math.max(1, most - least);
    return levels.map((one) => of(one).map((value, place) => {
      const next = scale.place(one.numbers[place + 1] ?? total);
      return `${place === 0 ? `M${scale.place(one.numbers[0] ?? 0)} ${y(value)}` : `V${y(value)}`}H${next}`;
    }).join(""));
  }, [levels, scale, total]);
  const x = (scale.place(at) + scale.place(at + 1)) / 2;
  return (
    <svg width={width} height={HEIGHT} role="img" aria-label={`${title} of each member over the run`}>
      {paths.map((path, place) => {
        const member = (levels[place]?.member ?? 0) % DASHES.length;
        return <path key={place} class={`level is-member-${member}`} d={path} stroke-dasharray={DASHES[member]} />;
      })}
      <line class="timeline-now" x1={x} x2={x} y1={0} y2={HEIGHT} />
    </svg>
  );
}

/** The index of the last of some ascending numbers that is at most `at`; -1 if none is. */
function lastUpTo(numbers: readonly number[], at: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function valueAt(values: readonly number[], place: number): string {
  const value = values[place];
  return value === undefined || value < 0 ? "none" : `${value}`;
}
