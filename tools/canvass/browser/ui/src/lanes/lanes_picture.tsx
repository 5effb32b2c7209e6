// The rows of lanes that are in sight, as SVG.

import { useMemo } from "preact/hooks";
import type { LaneEvent, LaneMessage, Lanes } from "../api/types";
import { phaseOf, signOf } from "../words/election";
import { shortened } from "../words/visible";
import { BOX, ROW, routesOf, topOf, type Columns } from "./geometry";
import { messagesOf, markSign } from "./tell";

const CHARACTER = 6.6;

export function LanesPicture(
  { lanes, columns, at, choose, from, to }: {
    lanes: Lanes;
    columns: Columns;
    at: number;
    choose: (number: number) => void;
    /** The rows to draw, by the numbers of their events. */
    from: number;
    to: number;
  },
) {
  const offset = topOf(from);
  const messages = useMemo(() => messagesOf(lanes), [lanes]);
  const routes = useMemo(() => routesOf(lanes, columns, 0), [lanes, columns.width]);
  const first = lanes.events[0]?.number ?? 0;
  const shown = lanes.events.filter((event) => event.number >= from && event.number < to);
  const height = Math.max(0, to - from) * ROW;
  const crossing = routes.filter(({ message }) => {
    const start = first + (message.sent ?? message.received ?? 0);
    const end = first + (message.received ?? message.sent ?? 0);
    return end >= from && start < to;
  });
  return (
    <svg
      class="lanes"
      width={columns.width}
      height={height}
      style={{ position: "absolute", top: `${offset}px`, left: "0" }}
      role="img"
      aria-label={`Lanes, events ${from + 1} to ${to} of ${lanes.total}`}
    >
      {lanes.lanes.map((_, lane) => {
        const x = (columns.lefts[lane] ?? 0) + columns.boxWidth / 2;
        return <path key={lane} class="axis" d={`M${x} 0V${height}`} />;
      })}
      <g transform={`translate(0 ${-offset})`}>
        {crossing.map(({ message, path, tip, kind }, at_) => (
          <g
            key={at_} class={`arrow is-${kind}`} data-message={message.name}
            onClick={() => choose(otherEnd(message, at, first))}
          >
            <path class="arrow-line" d={path} />
            <path class="arrow-tip" d={tip} />
            <title>{shortened(`${message.name}: ${message.text}`, 600)}</title>
          </g>
        ))}
      </g>
      {shown.map((event) => event.time
        ? <EventTime key={`time ${event.number}`} event={event} y={topOf(event.number) - offset} /> : null)}
      {shown.map((event) => (
        <EventBox
          key={event.number}
          event={event}
          columns={columns}
          y={topOf(event.number) - offset}
          chosen={event.number === at}
          messages={messages.get(event.number)}
          choose={choose}
        />
      ))}
    </svg>
  );
}

/** When it happened and what shows it, in a line. */
function whenText(event: LaneEvent): string {
  const since = event.since ? ` (${event.since})` : "";
  return [`${event.time}${since}`, event.place, event.origin.toLowerCase()].filter(Boolean).join(" · ");
}

function EventTime({ event, y }: { event: LaneEvent; y: number }) {
  return (
    <g class="event-time" transform={`translate(8 ${y})`} data-event-time={event.number}>
      <text y={16}>{event.time}</text>
      <text y={31} class="soft-text">{event.since}</text>
    </g>
  );
}

/** The end of a message that is not looked at: a click follows the message. */
function otherEnd(message: LaneMessage, at: number, first: number): number {
  const [sent, received] = [message.sent, message.received];
  const away = sent !== null && first + sent === at ? (received ?? sent) : (sent ?? received ?? 0);
  return first + away;
}

export interface EventMessages {
  readonly received: readonly LaneMessage[];
  readonly sent: readonly LaneMessage[];
  readonly text: string;
}

/** The first change; of the election state only where it leads, as the box above had the other. */
function changeText(event: LaneEvent): string {
  const first = event.changes[0];
  if (first === undefined) return event.given || "nothing changed";
  const state = /^electionState: \S+ → (\S+)$/.exec(first);
  return state ? `→ ${state[1]}` : first;
}

function EventBox(
  { event, columns, y, chosen, messages, choose }: {
    event: LaneEvent;
    columns: Columns;
    y: number;
    chosen: boolean;
    messages: EventMessages | undefined;
    choose: (number: number) => void;
  },
) {
  const x = columns.lefts[event.lane] ?? 0;
  const width = columns.boxWidth;
  const room = Math.floor((width - 20) / CHARACTER);
  const sign = markSign(event.mark);
  const step = event.reference.split(":")[1] ?? "";
  const state = event.electionState;
  const corner = `${signOf(state)} ${step}${event.origin === "INFERRED" ? " ○" : ""}`.trim();
  const title = `${sign ? `${sign} ` : ""}${event.title}`;
  const second = event.mark === "DIVERGES" && event.remark ? event.remark : event.mark ? `${event.mark}${event.remark ? `: ${event.remark}` : ""}` : (messages?.text ?? "");
  const third = changeText(event);
  const more = event.changes.length - 1;
  return (
    <g
      class={`event is-${(event.mark ?? "plain").toLowerCase()}${chosen ? " is-chosen" : ""}${event.origin === "INFERRED" ? " is-inferred" : ""}`}
      transform={`translate(${x} ${y})`}
      data-event={event.number}
      onClick={() => choose(event.number)}
    >
      <rect width={width} height={BOX} rx={5} />
      {state ? <path class={`event-phase phase-${phaseOf(state)}`} d={`M2.5 4v${BOX - 8}`} /> : null}
      <text class="event-title" x={12} y={16}>{shortened(title, corner ? room - corner.length - 2 : room)}</text>
      <text class="event-step" x={width - 8} y={16} text-anchor="end">{corner}</text>
      <text class={event.mark ? "event-mark" : ""} x={12} y={31}>{shortened(second, room)}</text>
      <text class="event-change" x={12} y={45}>
        {shortened(third, room - (more > 0 ? 4 : 0))}{more > 0 ? ` +${more}` : ""}
      </text>
      <title>{shortened([`event ${event.number + 1}, ${event.reference}`, whenText(event), event.title, second, ...event.changes].join("\n"), 1500)}</title>
    </g>
  );
}
