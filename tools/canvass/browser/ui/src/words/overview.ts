// The election's state machine: the states of the published diagram, and the changes that the spec has.
// A test compares the changes with state graphs that TLC printed.

import diagram from "./diagram.json";
import changes from "./election.json";

const COLUMN = 340;
const ROW = 90;

export interface OverviewState {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly phase: string;
}

export interface OverviewEdge {
  readonly source: string;
  readonly target: string;
  readonly actions: readonly string[];
  /** Whether the published diagram has this change. */
  readonly seeds: boolean;
}

export interface Overview {
  readonly states: readonly OverviewState[];
  readonly edges: readonly OverviewEdge[];
}

export const OVERVIEW: Overview = {
  states: diagram.states.map(({ name, column, row, phase }) => ({ name, phase, x: column * COLUMN, y: row * ROW })),
  edges: changes.map((one) => ({
    ...one, seeds: diagram.edges.some(([source, target]) => source === one.source && target === one.target),
  })),
};
