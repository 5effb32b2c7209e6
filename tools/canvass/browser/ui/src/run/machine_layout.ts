// The boxes and arrows of the election's state machine; the published diagram gives columns and rows.

import type { MemberAt } from "../api/types";
import type { Overview, OverviewEdge, OverviewState } from "../words/overview";

export const BOX_WIDTH = 214;
export const BOX_HEIGHT = 34;
const COLUMN_PITCH = 306;
const ROW_PITCH = 56;
const LEFT = 92;
const TOP = 24;

export interface Box {
  readonly state: OverviewState;
  readonly x: number;
  readonly y: number;
  readonly column: number;
  readonly row: number;
}

export interface Line {
  readonly edge: OverviewEdge;
  readonly path: string;
  /** The place of its label. */
  readonly label: { readonly x: number; readonly y: number };
}

export interface MachineLayout {
  readonly boxes: readonly Box[];
  readonly lines: readonly Line[];
  readonly width: number;
  readonly height: number;
}

/** A member's change of its election state. */
export interface Move {
  readonly member: number;
  readonly source: string;
  readonly target: string;
}

export function layoutOf(machine: Overview): MachineLayout {
  const columns = ranks(machine.states.map((state) => state.x));
  const rows = ranks(machine.states.map((state) => state.y));
  const boxes = machine.states.map((state): Box => {
    const column = columns.get(state.x) ?? 0;
    const row = rows.get(state.y) ?? 0;
    return { state, column, row, x: LEFT + column * COLUMN_PITCH, y: TOP + row * ROW_PITCH };
  });
  const byName = new Map(boxes.map((box) => [box.state.name, box]));
  const lines = machine.edges.flatMap((edge): Line[] => {
    const from = byName.get(edge.source);
    const to = byName.get(edge.target);
    if (!from || !to) return [];
    const backwards = machine.edges.some((one) => one.source === edge.target && one.target === edge.source);
    return [{ edge, ...routed(from, to, boxes, backwards) }];
  });
  return {
    boxes,
    lines,
    width: LEFT + Math.max(0, columns.size - 1) * COLUMN_PITCH + BOX_WIDTH + 40,
    height: TOP + Math.max(0, rows.size - 1) * ROW_PITCH + BOX_HEIGHT + 48,
  };
}

function ranks(values: readonly number[]): ReadonlyMap<number, number> {
  return new Map([...new Set(values)].sort((one, other) => one - other).map((value, rank) => [value, rank]));
}

function routed(from: Box, to: Box, boxes: readonly Box[], both: boolean): Omit<Line, "edge"> {
  if (from.column === to.column) return inColumn(from, to, boxes);
  const right = to.column > from.column;
  // Two lines between the same boxes leave and arrive at different heights.
  const shift = both ? (right ? -6 : 6) : 0;
  const x1 = right ? from.x + BOX_WIDTH : from.x;
  const x2 = right ? to.x : to.x + BOX_WIDTH;
  const y1 = from.y + BOX_HEIGHT / 2 + shift;
  const y2 = to.y + BOX_HEIGHT / 2 + shift;
  const bend = Math.max(36, Math.abs(x2 - x1) * 0.42) * (right ? 1 : -1);
  return {
    path: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
    label: { x: (x1 + x2) / 2, y: (y1 + y2) / 2 },
  };
}

function inColumn(from: Box, to: Box, boxes: readonly Box[]): Omit<Line, "edge"> {
  const down = to.row > from.row;
  const between = boxes.some(
    (box) => box.column === from.column &&
      box.row > Math.min(from.row, to.row) && box.row < Math.max(from.row, to.row),
  );
  if (down && !between) {
    const x = from.x + BOX_WIDTH / 2;
    return {
      path: `M${x} ${from.y + BOX_HEIGHT}V${to.y}`,
      label: { x, y: (from.y + BOX_HEIGHT + to.y) / 2 },
    };
  }
  // Left around the boxes between; longer arcs are wider.
  const reach = 26 + 11 * Math.abs(to.row - from.row);
  const x = from.x;
  const y1 = from.y + BOX_HEIGHT / 2 + (down ? 5 : -5);
  const y2 = to.y + BOX_HEIGHT / 2 + (down ? -5 : 5);
  // A label wider than the arc stands between two boxes, to cover neither.
  const beside = (from.row - to.row) % 2 === 0 ? ROW_PITCH / 2 : 0;
  return {
    path: `M${x} ${y1}C${x - reach} ${y1} ${x - reach} ${y2} ${x} ${y2}`,
    label: { x: x - reach * 0.75, y: (y1 + y2) / 2 + beside },
  };
}

export function moveOf(
  before: readonly MemberAt[] | undefined, now: readonly MemberAt[] | undefined, member: number | undefined,
): Move | undefined {
  const was = before?.find((one) => one.member === member);
  const is = now?.find((one) => one.member === member);
  if (!was || !is || member === undefined || was.electionState === is.electionState) return undefined;
  return { member, source: was.electionState, target: is.electionState };
}
