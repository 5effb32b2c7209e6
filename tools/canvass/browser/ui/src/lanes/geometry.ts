// Places in the lanes: all rows have one height, so a run of any length can be scrolled.
//
// Nothing overlaps: each event has a row of its own, so the other lanes are free there. An arrow
// leaves its sender's box sideways in that row, goes down on a track of its own in the gutter beside
// the receiver's lane, and enters the receiver's box in its row. A gutter is as wide as its tracks.

import type { LaneMessage, Lanes } from "../api/types";

export const ROW = 62;
export const BOX = 52;
export const HEAD = 34;
const TRACK = 3.5;
const EDGE = 14;
const TIMES = 80; // Width of the column with the times, on the left.
const LEAST_TRACKS = 6; // To each side. More are rare, so gutters rarely change width during scrolling.
const MOST_TRACKS = 280; // Pixels for all tracks: many tracks get closer together.
const BESIDE_TRACKS = 26;
const LEAST_BOX = 220; // Wide enough for UpdateLeaderPosition and its step; narrower windows scroll.
const MOST_BOX = 320;

export interface Columns {
  readonly lefts: readonly number[];
  readonly boxWidth: number;
  readonly width: number;
}

/** A message with the rows of its ends, and its track between them. */
interface Tracked {
  readonly message: LaneMessage;
  readonly from: number | null;
  readonly to: number | null;
  readonly track: number;
  /** Its place among the messages that leave the box on the same side. */
  readonly nth: number;
}

export interface Tracks {
  readonly messages: readonly Tracked[];
  /** How many tracks lead into each lane from each side, by `sideOf`. */
  readonly counts: ReadonlyMap<string, number>;
  /** How many messages leave each box on each side, by `sideOf`. */
  readonly exits: ReadonlyMap<string, number>;
}

export interface Route {
  readonly message: LaneMessage;
  readonly path: string;
  readonly tip: string;
  readonly kind: "delivered" | "lost" | "unsent" | "outside";
}

export function columnsOf(count: number, room: number, tracks: Tracks, times = false): Columns {
  const start = EDGE + (times ? TIMES : 0);
  const gutters = Array.from({ length: Math.max(0, count - 1) }, (_, lane) => {
    const needed = tracksTo(tracks, lane, false) + tracksTo(tracks, lane + 1, true);
    return BESIDE_TRACKS + needed * spaceOf(needed);
  });
  const between = gutters.reduce((sum, gutter) => sum + gutter, 0);
  const boxWidth = Math.min(MOST_BOX, Math.max(LEAST_BOX, (room - EDGE - start - between) / Math.max(1, count)));
  const lefts = [start];
  for (const gutter of gutters) lefts.push((lefts.at(-1) ?? 0) + boxWidth + gutter);
  return { lefts, boxWidth, width: EDGE + start + count * boxWidth + between };
}

/** The number of tracks, made even: every second track is used first. */
function tracksTo(tracks: Tracks, lane: number, rightwards: boolean): number {
  return 2 * Math.ceil(Math.max(LEAST_TRACKS, tracks.counts.get(sideOf(lane, rightwards)) ?? 0) / 2);
}

function spaceOf(tracks: number): number {
  return Math.min(TRACK, MOST_TRACKS / tracks);
}

/** Top of a row by the event's number in the run. */
export function topOf(number: number): number {
  return number * ROW;
}

/** A key for one side of a lane or of an event. */
function sideOf(number: number, rightwards: boolean): string {
  return `${number} ${rightwards}`;
}

/** Gives each message a track that no other message uses in any row between its ends. */
export function tracksOf(lanes: Lanes): Tracks {
  const exits = new Map<string, number>();
  const numberAt = (place: number | null): number | null =>
    place === null ? null : (lanes.events[place]?.number ?? null);
  const wanted = lanes.messages
    .filter((message) => message.sender !== message.receiver)
    .map((message) => ({ message, from: numberAt(message.sent), to: numberAt(message.received) }))
    .filter(({ from, to }) => from !== null || to !== null)
    .sort((one, other) => (one.from ?? one.to ?? 0) - (other.from ?? other.to ?? 0));
  const busy = new Map<string, number[]>();
  const messages = wanted.map(({ message, from, to }) => {
    const rightwards = message.receiver > message.sender;
    const side = sideOf(message.receiver, rightwards);
    const tracks = busy.get(side) ?? [];
    busy.set(side, tracks);
    const start = from ?? (to as number);
    const end = to !== null && to > start ? to : start;
    const free = tracks.findIndex((last) => last < start);
    const track = free >= 0 ? free : tracks.length;
    tracks[track] = end;
    const exit = sideOf(from ?? -1, rightwards);
    const nth = exits.get(exit) ?? 0;
    exits.set(exit, nth + 1);
    return { message, from, to, track, nth };
  });
  return { messages, counts: new Map([...busy].map(([side, tracks]) => [side, tracks.length])), exits };
}

/** Arrows of a window. */
export function routesOf(tracks: Tracks, columns: Columns): readonly Route[] {
  return tracks.messages.map((tracked) => {
    const { from, message: { sender, receiver }, track, nth } = tracked;
    const rightwards = receiver > sender;
    const count = tracksTo(tracks, receiver, rightwards);
    const against = tracksTo(tracks, rightwards ? receiver - 1 : receiver + 1, !rightwards);
    // The first half of the tracks have twice the distance; the others are between them.
    const spot = (2 * track) % count + Math.floor((2 * track) / count);
    const beside = BESIDE_TRACKS / 2 + spot * spaceOf(count + against);
    // Messages of one step leave one below the other, in the lower part of the box.
    const leaving = tracks.exits.get(sideOf(from ?? -1, rightwards)) ?? 1;
    return routeOf(tracked, beside, 18 + nth * Math.min(6, (BOX - 22) / leaving), columns);
  });
}

function routeOf(
  { message, from, to }: Tracked, beside: number, below: number, columns: Columns,
): Route {
  const rightwards = message.receiver > message.sender;
  const sign = rightwards ? 1 : -1;
  const left = (lane: number): number => columns.lefts[lane] ?? 0;
  const fromX = rightwards ? left(message.sender) + columns.boxWidth : left(message.sender);
  const toX = rightwards ? left(message.receiver) : left(message.receiver) + columns.boxWidth;
  const trackX = toX - sign * beside;
  const startY = topOf(from ?? 0) + below;
  const endY = topOf(to ?? 0) + 10;
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
