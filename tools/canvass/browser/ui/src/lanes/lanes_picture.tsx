// The visible rows of the lanes, as SVG.

import { useMemo } from "preact/hooks";
import type { LaneEvent, LaneMessage, Lanes } from "../api/types";
import { phaseOf, signOf } from "../words/election";
import { shortened } from "../words/visible";
import { BOX, HEAD, ROW, routesOf, topOf, type Columns, type Tracks } from "./geometry";
import { messagesOf, markSign, type EventMessages } from "./event_messages";

const CHARACTER = 6.6;

export function LanesPicture(
  { lanes, tracks, columns, at, choose, from, to, heads = false }: {
    lanes: Lanes;
    tracks: Tracks;
    columns: Columns;
    at: number;
    choose: (number: number) => void;
    /** The rows to draw, by the numbers of their events. */
    from: number;
    to: number;
    /** Whether the names of the lanes are drawn above them. */
    heads?: boolean;
  },
) {
  const head = heads ? HEAD : 0;
  const height = Math.max(0, to - from) * ROW + head;
  const offset = topOf(from);
  const first = lanes.events[0]?.number ?? 0;
  const messages = useMemo(() => messagesOf(lanes), [lanes]);
  const routes = useMemo(() => routesOf(tracks, columns), [tracks, columns]);
  // Arrows and times are drawn again only when other rows become visible.
  const around = useMemo(() => {
    const ends = (message: LaneMessage): readonly [number, number] => [
      first + (message.sent ?? message.received ?? 0), first + (message.received ?? message.sent ?? 0),
    ];
    const crossing = routes.filter(({ message }) => {
      const [start, end] = ends(message);
      return end >= from && start < to;
    });
    return (
      <g transform={`translate(0 ${-offset})`}>
        {lanes.lanes.map((_, lane) => {
          const x = (columns.lefts[lane] ?? 0) + columns.boxWidth / 2;
          return <path key={lane} class="axis" d={`M${x} ${offset}V${topOf(to)}`} />;
        })}
        {crossing.map(({ message, path, tip, kind }, key) => (
          <g
            key={key} class={`arrow is-${kind}`} data-message={message.name}
            data-sent={ends(message)[0]} data-received={ends(message)[1]}
          >
            <path class="arrow-line" d={path} />
            <path class="arrow-tip" d={tip} />
            <title>{shortened(`${message.name}: ${message.text}`, 600)}</title>
          </g>
        ))}
        {lanes.events.slice(from - first, to - first).map((event) => event.time
          ? <EventTime key={`time ${event.number}`} event={event} y={topOf(event.number)} /> : null)}
      </g>
    );
  }, [lanes, columns, routes, from, to]);
  // One listener for all: a click chooses an event, or the other end of a message.
  const clicked = (event: MouseEvent): void => {
    const { dataset } = (event.target as Element).closest<SVGElement>("[data-event], [data-message]") ?? {};
    if (dataset?.["event"] !== undefined) choose(Number(dataset["event"]));
    else if (dataset) choose(Number(Number(dataset["sent"]) === at ? dataset["received"] : dataset["sent"]));
  };
  return (
    <svg
      class="lanes"
      width={columns.width}
      height={height}
      viewBox={`0 ${-head} ${columns.width} ${height}`}
      style={{ position: "absolute", top: `${offset}px`, left: "0" }}
      role="img"
      aria-label={`Lanes, events ${from + 1} to ${to} of ${lanes.total}`}
      onClick={clicked}
    >
      {heads ? lanes.lanes.map((name, lane) => (
        <text key={`head ${lane}`} class="event-title" x={(columns.lefts[lane] ?? 0) + 12} y={-12}>{name}</text>
      )) : null}
      {around}
      {lanes.events.slice(from - first, to - first).map((event) => (
        <EventBox
          key={event.number}
          event={event}
          columns={columns}
          y={topOf(event.number) - offset}
          chosen={event.number === at}
          messages={messages.get(event.number)}
        />
      ))}
    </svg>
  );
}

/** Time and log lines of an event, in a line. */
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

/** The first change; for the election state only the new one: the box above shows the old one. */
function changeText(event: LaneEvent): string {
  const first = event.changes[0];
  if (first === undefined) return event.given || "nothing changed";
  const state = /^electionState: \S+ → (\S+)$/.exec(first);
  return state ? `→ ${state[1]}` : first;
}

interface Box {
  readonly event: LaneEvent;
  readonly columns: Columns;
  readonly y: number;
  readonly chosen: boolean;
  readonly messages: EventMessages | undefined;
}

/** A box is drawn again only if one of its properties has changed. */
function EventBox({ event, columns, y, chosen, messages }: Box) {
  return useMemo(() => <Drawn {...{ event, columns, y, chosen, messages }} />, [event, columns, y, chosen, messages]);
}

function Drawn({ event, columns, y, chosen, messages }: Box) {
  const x = columns.lefts[event.lane] ?? 0;
  const width = columns.boxWidth;
  const room = Math.floor((width - 20) / CHARACTER);
  const sign = markSign(event.mark);
  const step = event.reference.split(":")[1] ?? "";
  const state = event.electionState;
  const inferred = event.origin === "INFERRED";
  const corner = `${signOf(state)} ${step}${inferred ? " ○" : ""}`.trim();
  const title = `${sign ? `${sign} ` : ""}${event.title}`;
  const marked = event.mark === "DIVERGES" && event.remark ? event.remark : [event.mark, event.remark].filter(Boolean).join(": ");
  const second = event.mark ? marked : (messages?.text ?? "");
  const third = event.alike ? `≡ ${event.alike}` : changeText(event);
  const more = event.alike ? 0 : event.changes.length - 1;
  return (
    <g
      class={`event is-${(event.mark ?? "plain").toLowerCase()}${chosen ? " is-chosen" : ""}${inferred ? " is-inferred" : ""}`}
      transform={`translate(${x} ${y})`}
      data-event={event.number}
      {...(event.alike ? { "data-alike": event.alike } : {})}
    >
      <rect width={width} height={BOX} rx={5} />
      {state ? <path class={`event-phase phase-${phaseOf(state)}`} d={`M2.5 4v${BOX - 8}`} /> : null}
      <text class="event-title" x={12} y={16}>{shortened(title, corner ? room - corner.length - 1 : room)}</text>
      <text class="event-step" x={width - 8} y={16} text-anchor="end">{corner}</text>
      <text class={event.mark ? "event-mark" : ""} x={12} y={31}>{shortened(second, room)}</text>
      <text class="event-change" x={12} y={45}>
        {shortened(third, room - (more > 0 ? 4 : 0)) + (more > 0 ? ` +${more}` : "")}
      </text>
      <title>{shortened([`event ${event.event + 1 || event.number + 1}, ${event.reference}`, whenText(event), event.title, second, ...event.changes, event.alike].filter(Boolean).join("\n"), 1500)}</title>
    </g>
  );
}
