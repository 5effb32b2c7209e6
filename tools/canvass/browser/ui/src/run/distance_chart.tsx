// The distance to a loss over the run: the lower a mark, the nearer the violation.

import { useMemo, useRef } from "preact/hooks";
import { apiPath } from "../api/client";
import type { DistanceMark, Distances, RunTimeline, RunView } from "../api/types";
import { useQuery } from "../api/use_query";
import { useSize } from "../parts/use_size";
import { formatRoute } from "../route/route";
import { plural } from "../words/visible";
import { timeScale } from "./time_scale";

const TOP = 12;
const LEFT = 64; // Room for "12 steps".
const RIGHT = 12;
const BOTTOM = 12;
const LEVELS = 72; // Height of all levels, if there are many.
const LEVEL = 14; // Height of a level, if there are few.
const TOUCH = 11; // Largest radius of the area that can be pressed.
const DOT = 4;

export function DistanceChart(
  { run, timeline, at }: { run: RunView; timeline: RunTimeline | undefined; at: number },
) {
  const { data, error } = useQuery<Distances>(apiPath(["run", run.id, "distances"]));
  if (error) return <p class="soft" role="alert">{error.message}</p>;
  if (!data || data.moments.length === 0) return null;
  return <Drawn run={run} timeline={timeline} at={at} distances={data} />;
}

function Drawn(
  { run, timeline, at, distances }: {
    run: RunView;
    timeline: RunTimeline | undefined;
    at: number;
    distances: Distances;
  },
) {
  const holder = useRef<HTMLDivElement>(null);
  const { width } = useSize(holder);
  const { moments, property, leftOut } = distances;
  const depth = Math.max(...moments.map((one) => Math.max(one.searched, one.steps ?? 0)));
  const along = useMemo(
    () => timeScale(timeline, run.events, Math.max(0, width - LEFT - RIGHT)), [timeline, run.events, width],
  );
  const x = (event: number): number => LEFT + (along.place(event) + along.place(event + 1)) / 2;
  const step = Math.min(LEVEL, LEVELS / (depth + 1));
  const y = (steps: number): number => TOP + step * (depth + 1 - steps);
  // The area of a mark must not cover the middle of its neighbour.
  const room = (place: number): number => {
    const own = x(moments[place]?.event ?? 0);
    const gaps = [moments[place - 1], moments[place + 1]].map((one) => (one ? Math.abs(x(one.event) - own) : Infinity));
    return Math.max(DOT, Math.min(TOUCH, ...gaps.map((gap) => gap / 2)));
  };
  const here = moments.find((one) => one.event === at);
  return (
    <section class="distance" aria-label="Distance to a loss">
      <h2>Distance to a loss</h2>
      <p class="soft" role="status" data-distance>
        {here?.text ?? legendOf(property)}
        {leftOut > 0 ? ` · ${plural(leftOut, "moment")} left out` : ""}
      </p>
      <div ref={holder}>
        {width > 0 ? (
          <svg class="distance-picture" width={width} height={y(0) + BOTTOM}>
            {[...new Set([0, depth])].map((steps) => (
              <g key={steps} aria-hidden="true">
                <text x={0} y={y(steps) + 3}>{plural(steps, "step")}</text>
                <line class="distance-level" x1={LEFT} x2={width - RIGHT} y1={y(steps)} y2={y(steps)} />
              </g>
            ))}
            <line class="timeline-now" aria-hidden="true" x1={x(at)} x2={x(at)} y1={0} y2={y(0) + BOTTOM} />
            {moments.map((one, place) => (
              <a
                key={one.event}
                class={one === here ? "is-chosen" : ""}
                href={formatRoute(["run", run.id], { at: one.event, view: "election" })}
                aria-label={one.text}
                aria-current={one === here ? "true" : undefined}
                data-moment={one.event}
              >
                <title>{one.text}</title>
                <Mark moment={one} x={x(one.event)} y={y(one.steps ?? one.searched + 1)} room={room(place)} />
              </a>
            ))}
          </svg>
        ) : null}
      </div>
    </section>
  );
}

function Mark(
  { moment, x, y, room }: { moment: DistanceMark; x: number; y: number; room: number },
) {
  const touch = <circle class="distance-touch" cx={x} cy={y} r={room} />;
  if (moment.steps === null) {
    const exposed = moment.exposed ? " is-exposed" : "";
    return <>{touch}<circle class={`distance-far${exposed}`} cx={x} cy={y} r={DOT} /></>;
  }
  return (
    <>
      {touch}
      <line class="distance-stem" x1={x} x2={x} y1={TOP} y2={y} />
      <circle class="distance-near" cx={x} cy={y} r={5} />
    </>
  );
}

function legendOf(property: string): string {
  return `The lower a mark, the fewer steps to a violation of ${property}. Hollow: none found. `
    + "Thick: reports are counted too far.";
}
