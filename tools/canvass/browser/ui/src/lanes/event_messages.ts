// The messages that an event received and sent, in a line.

import type { LaneMessage, Lanes } from "../api/types";

const SIGNS: { readonly [mark: string]: string } = {
  DIVERGES: "✖", RESTART: "↻", ERROR: "!", ENDS: "■", GAP: "…",
};

export interface EventMessages {
  readonly received: readonly LaneMessage[];
  readonly sent: readonly LaneMessage[];
  readonly text: string;
}

export function markSign(mark: string | null): string {
  return mark === null ? "" : (SIGNS[mark] ?? "•");
}

export function messagesOf(lanes: Lanes): ReadonlyMap<number, EventMessages> {
  const received = new Map<number, LaneMessage[]>();
  const sent = new Map<number, LaneMessage[]>();
  const add = (to: Map<number, LaneMessage[]>, place: number | null, message: LaneMessage): void => {
    const number = place === null ? undefined : lanes.events[place]?.number;
    if (number !== undefined) to.set(number, [...(to.get(number) ?? []), message]);
  };
  for (const message of lanes.messages) {
    add(received, message.received, message);
    add(sent, message.sent, message);
  }
  return new Map(lanes.events.map(({ number, aside }) => {
    const [given, given_] = [received.get(number) ?? [], sent.get(number) ?? []];
    const parts = [
      ...given.map((one) => `← ${shortLane(lanes, one.sender)} ${one.name}`),
      ...grouped(lanes, given_),
      ...aside,
    ];
    return [number, { received: given, sent: given_, text: parts.join("  ") }];
  }));
}

function grouped(lanes: Lanes, messages: readonly LaneMessage[]): string[] {
  const names = new Map<string, string[]>();
  for (const message of messages) {
    const lane = shortLane(lanes, message.receiver) + (message.fate === "LOST" ? " (lost)" : "");
    names.set(message.name, [...(names.get(message.name) ?? []), lane]);
  }
  return [...names].map(([name, to]) => `→ ${to.join(", ")} ${name}`);
}

function shortLane(lanes: Lanes, lane: number): string {
  return (lanes.lanes[lane] ?? String(lane)).split(" ").at(-1) ?? "";
}
