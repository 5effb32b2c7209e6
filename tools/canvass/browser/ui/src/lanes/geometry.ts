// Where things are in lanes: rows of one height, so that a run of any length can be scrolled.
//
// Why nothing overlaps: each event has a row of its own, so the other lanes are free there. An arrow
// leaves its sender's box sideways in that row, goes down in the gutter beside the receiver's lane,
// on a track of its own, and enters the receiver's box in its row.

import type { LaneMessage, Lanes } from "../api/types";

export const ROW = 62;
export const BOX = 52;
export const HEAD = 34;
const TRACK = 3.5;
const EDGE = 14;
const TIMES = 80; // A column for what the clock showed, on the left.
const TRACKS = 12;
const LEAST_BOX = 220; // UpdateLeaderPosition and its step are read in it; narrower windows scroll.
const MOST_BOX = 320;
const GUTTER = 26 + TRACKS * TRACK;

export interface Columns {
  readonly lefts: readonly number[];
  readonly boxWidth: number;
  readonly width: number;
}

export interface Route {
  readonly message: LaneMessage;
  readonly path: string;
  readonly tip: string;
  readonly kind: "delivered" | "lost" | "unsent" | "outside";
}

export function columnsOf(count: number, room: number, times = false): Columns {
  const start = EDGE + (times ? TIMES : 0);
  const gutters = Math.max(0, count - 1) * GUTTER;
  const boxWidth = Math.min(MOST_BOX, Math.max(LEAST_BOX, (room - EDGE - start - gutters) / Math.max(1, count)));
  const lefts = Array.from({ length: count }, (_, lane) => start + lane * (boxWidth + GUTTER));
  return { lefts, boxWidth, width: EDGE + start + count * boxWidth + gutters };
}

/** Top of a row by the event's number in the run. */
export function topOf(number: number): number {
  return number * ROW;
}

/** Arrows of a window; `offset` is taken off every height. */
export function routesOf(lanes: Lanes, columns: Columns, offset: number): readonly Route[] {
  const sent = new Map<number, number>();
  const numberAt = (place: number | null): number | null =>
    place === null ? null : (lanes.events[place]?.number ?? null);
  const wanted = lanes.messages
    .filter((message) => message.sender !== message.receiver)
    .map((message) => ({ message, from: numberAt(message.sent), to: numberAt(message.received) }))
    .filter(({ from, to }) => from !== null || to !== null)
    .sort((one, other) => (one.from ?? one.to ?? 0) - (other.from ?? other.to ?? 0));
  const busy = new Map<number, number[]>();
  return wanted.map(({ message, from, to }) => {
    const gutter = message.receiver > message.sender ? message.receiver - 1 : message.receiver;
    const tracks = busy.get(gutter) ?? [];
    busy.set(gutter, tracks);
    const start = from ?? (to as number);
    const end = to !== null && to > start ? to : start;
    const free = tracks.findIndex((last) => last < start);
    const track = free >= 0 ? free : tracks.length;
    tracks[track] = end;
    const nth = from === null ? 0 : (sent.get(from) ?? 0);
    if (from !== null) sent.set(from, nth + 1);
    return routeOf(message, from, to, track % TRACKS, nth, columns, offset);
  });
}

function routeOf(
  message: LaneMessage, from: number | null, to: number | null, track: number, nth: number,
  columns: Columns, offset: number,
): Route {
  const rightwards = message.receiver > message.sender;
  const sign = rightwards ? 1 : -1;
  const left = (lane: number): number => columns.lefts[lane] ?? 0;
  const fromX = rightwards ? left(message.sender) + columns.boxWidth : left(message.sender);
  const toX = rightwards ? left(message.receiver) : left(message.receiver) + columns.boxWidth;
  // The first half of the tracks have twice the distance; the others are between them.
  const spot = (2 * track) % TRACKS + Math.floor((2 * track) / TRACKS);
  const trackX = toX - sign * (16 + spot * TRACK);
  // Messages of one step leave one below the other, in the lower part of the box.
  const startY = (from ?? 0) * ROW - offset + 18 + Math.min(nth, 5) * 6;
  const endY = (to ?? 0) * ROW - offset + 10;
  const tip = `M${toX} ${endY}l${-sign * 8} -4v8Z`;
  if (from === null) {
    const kind = message.fate === "UNSENT" ? "unsent" : "outside";
    return { message, kind, path: `M${trackX} ${endY}m0 -7v7H${toX - sign * 7}`, tip };
  }
  if (to === null || to <= from) {
    if (message.fate === "LOST") {
      return {
        message, kind: "lost", path: `M${fromX} ${startY}H${trackX}`,
        tip: `M${trackX - 4} ${startY - 4}l8 8m0 -8l-8 8`,
      };
    }
    return {
      message, kind: "outside", path: `M${fromX} ${startY}H${trackX}v8`,
      tip: `M${trackX} ${startY + 13}l-3.5 -6h7Z`,
    };
  }
  return {
    message, kind: "delivered", path: `M${fromX} ${startY}H${trackX}V${endY}H${toX - sign * 7}`, tip,
  };
}
