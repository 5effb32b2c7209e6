// The content of a drawing: the states near a state, a path, or a projection. Canvas, list and SVG are
// made of the same scene.

import type { Around, Edge, PathView, Projection } from "../api/types";
import { phaseOf, signOf, SIGNS, type Phase } from "../words/election";
import { OVERVIEW } from "../words/overview";
import { counted, plural } from "../words/visible";
import { layersFrom, placesOf, type Pair } from "./layers";

/** What colours a node: a part of the election, or the place of a value among the values of a field. */
export type Look = Phase | number;

export interface SceneNode {
  readonly id: string;
  readonly label: string;
  /** One or two letters in the node, to read its kind without colour. */
  readonly sign: string;
  readonly look: Look;
  /** With a field that colours the nodes: the values in these states, and how many states have each. */
  readonly shares: readonly Share[];
  readonly x: number;
  readonly y: number;
  readonly root: boolean;
  readonly initial: boolean;
  /** Whether no step leads to another state; of several states, whether this is so for some. */
  readonly terminal: boolean;
  /** Whether TLC found the property violated in the state; of several states, whether in one of them. */
  readonly violating: boolean;
  /** Steps that lead back to the same state. */
  readonly loops: readonly string[];
  /** Edges of the node that are not drawn. */
  readonly more: number;
  /** Number of states for which the node stands; 1 for a state. */
  readonly count: number;
}

export interface Share {
  readonly look: number;
  readonly value: string;
  readonly count: number;
}

export interface SceneLink {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly label: string;
  readonly actions: readonly string[];
  readonly edges: readonly number[];
  readonly lit: boolean;
}

export interface Scene {
  readonly nodes: readonly SceneNode[];
  readonly links: readonly SceneLink[];
  /** The states and edges that are not drawn, in words; empty if all are drawn. */
  readonly leftOut: string;
  /** How many states there are that could be drawn. */
  readonly statesLeftOut: number;
  /** Whether labels stand below their nodes, not beside them. */
  readonly below?: boolean;
}

/** `violating` are ids of states, `lit` is an edge to highlight. */
export function sceneOfAround(around: Around, violating: readonly string[], lit?: number): Scene {
  const number = new Map(around.nodes.map((node, at) => [node.id, at]));
  const lowest = Math.min(...around.nodes.map((node) => node.layer));
  const places = placesOf(around.nodes.map((node) => node.layer - lowest), pairsOf(around.edges, number));
  const loops = new Map<string, string[]>();
  for (const edge of around.edges) {
    if (edge.source === edge.target) loops.set(edge.source, [...(loops.get(edge.source) ?? []), edge.action]);
  }
  return {
    nodes: around.nodes.map((node, at) => ({
      id: node.id,
      label: node.label,
      sign: node.sign ?? signOf(node.electionState),
      look: phaseOf(node.electionState),
      shares: [],
      ...(places[at] ?? ORIGIN),
      root: node.id === around.root,
      initial: node.initial,
      terminal: node.terminal,
      violating: violating.includes(node.id),
      loops: loops.get(node.id) ?? [],
      more: node.more,
      count: 1,
    })),
    links: linksOf(around.edges, lit),
    leftOut: leftOutWords(around.leftOut.states, around.leftOut.edges),
    statesLeftOut: around.leftOut.states,
  };
}

const ORIGIN = { x: 0, y: 0 };

function pairsOf(
  edges: readonly { readonly source: string; readonly target: string }[], number: ReadonlyMap<string, number>,
): Pair[] {
  return edges.map(({ source, target }) => [number.get(source) ?? 0, number.get(target) ?? 0]);
}

/** Steps between the same two states are one line with all their names. */
function linksOf(edges: readonly Edge[], lit: number | undefined): SceneLink[] {
  const pairs = new Map<string, Edge[]>();
  for (const edge of edges) {
    if (edge.source === edge.target) continue;
    const pair = `${edge.source} ${edge.target}`;
    pairs.set(pair, [...(pairs.get(pair) ?? []), edge]);
  }
  return [...pairs].map(([pair, group]) => {
    const first = group[0] as Edge;
    return {
      id: pair,
      source: first.source,
      target: first.target,
      actions: [...new Set(group.map((edge) => edge.action))],
      edges: group.map((edge) => edge.id),
      label: counted(group.map((edge) => edge.words)),
      lit: group.some((edge) => edge.id === lit),
    };
  });
}

const PATH_COLUMNS = 3;

/** A path as a line that turns at the margin, like text. */
export function sceneOfPath(path: PathView, violating: readonly string[]): Scene {
  const states = [path.start, ...path.hops.map((hop) => ({ id: hop.target, label: hop.targetLabel }))];
  return {
    nodes: states.map((state, at) => {
      const row = Math.floor(at / PATH_COLUMNS);
      const column = at % PATH_COLUMNS;
      const election = electionOf(state.label);
      return {
        id: state.id,
        label: `${at}. ${state.label}`,
        sign: signOf(election),
        look: phaseOf(election),
        shares: [],
        x: (row % 2 === 0 ? column : PATH_COLUMNS - 1 - column) * 300,
        y: row * 90,
        root: at === 0,
        initial: false,
        terminal: false,
        violating: violating.includes(state.id),
        loops: [],
        more: 0,
        count: 1,
      };
    }),
    links: path.hops.map((hop) => ({
      id: `${hop.source} ${hop.target}`,
      source: hop.source,
      target: hop.target,
      label: hop.words,
      actions: [hop.action],
      edges: [hop.edge],
      lit: true,
    })),
    leftOut: "",
    statesLeftOut: 0,
    below: true,
  };
}

/** The election state that a label begins with, if it does. */
function electionOf(label: string): string | undefined {
  const first = label.split(/[\s,·|]/, 1)[0] ?? "";
  return first in SIGNS ? first : undefined;
}

const PLAIN = /^(?:"[^"]*"|-?\d+|TRUE|FALSE)$/;

/** Sign and colour for the values of some fields: the sign has all of them, if they are plain. */
function looksOf(key: string): { sign: string; look: Phase } {
  const parts = key.split(", ");
  if (!parts.every((part) => PLAIN.test(part))) return { sign: "▪", look: "outside" };
  const words = parts.map((part) => part.replaceAll('"', ""));
  const election = words.find((word) => word in SIGNS);
  // After the election, the role says what a member does.
  const role = election === "CLOSED" ? words.find((word) => word === "LEADER" || word === "FOLLOWER") : undefined;
  return {
    sign: words.map((word) => SIGNS[word] ?? shortOf(word)).join("·"),
    look: role === undefined ? phaseOf(election) : phaseOf(`${role}_`),
  };
}

function shortOf(word: string): string {
  return /^-?\d+$/.test(word) ? word.slice(0, 4) : `${word.slice(0, 1).toUpperCase()}${word.slice(1, 2).toLowerCase()}`;
}

/** With the election’s state machine, nodes get the places of its states. */
export function sceneOfProjection(projection: Projection): Scene {
  const places = new Map(OVERVIEW.states.map((state) => [`"${state.name}"`, state]));
  const placed = projection.nodes.every((node) => places.has(node.key));
  const number = new Map(projection.nodes.map((node, at) => [node.key, at]));
  const links = pairsOf(projection.edges, number);
  // The nodes are in the order of their sizes, and the first node is the largest.
  const initial = projection.nodes.flatMap((node, at) => (node.initial > 0 ? [at] : []));
  const roots = initial.length > 0 ? initial : projection.nodes.slice(0, 1).map(() => 0);
  const laidOut = placesOf(layersFrom(number.size, links, roots), links);
  const pairs = new Map<string, { actions: string[]; count: number; source: string; target: string }>();
  const loops = new Map<string, string[]>();
  for (const edge of projection.edges) {
    if (edge.source === edge.target) {
      loops.set(edge.source, [...(loops.get(edge.source) ?? []), `${edge.action} ×${edge.count}`]);
      continue;
    }
    const pair = JSON.stringify([edge.source, edge.target]);
    const known = pairs.get(pair) ?? { actions: [], count: 0, source: edge.source, target: edge.target };
    known.actions.push(edge.action);
    known.count += edge.count;
    pairs.set(pair, known);
  }
  return {
    nodes: projection.nodes.map((node, at) => ({
      id: node.key,
      label: `${node.key.replace(/^"([^"]*)"$/, "$1")} · ${node.count.toLocaleString("en")}`,
      ...looksOf(node.key),
      ...colouredBy(projection.values, node.shares),
      ...((placed ? spotOf(places.get(node.key)) : laidOut[at]) ?? ORIGIN),
      root: false,
      initial: node.initial > 0,
      terminal: node.terminal > 0,
      violating: node.violating > 0,
      loops: loops.get(node.key) ?? [],
      more: 0,
      count: node.count,
    })),
    links: [...pairs].map(([pair, { actions, count, source, target }]) => ({
      id: pair,
      source,
      target,
      label: `${actions.length > 2 ? `${actions.length} actions` : actions.join(", ")} · ${count.toLocaleString("en")}`,
      actions,
      edges: [],
      lit: false,
    })),
    leftOut: projection.leftOutClasses > 0
      ? `${plural(projection.leftOutClasses, "value")} of ${plural(projection.leftOut.states, "state")} left out`
      : "",
    statesLeftOut: projection.leftOut.states,
  };
}

function spotOf(state: { readonly x: number; readonly y: number } | undefined) {
  return state && { x: state.x, y: state.y };
}

/** The shares of the values of a field, and the most frequent one as the look; none without values. */
function colouredBy(values: readonly string[], counts: readonly number[]): { look?: number; shares: readonly Share[] } {
  const shares = values
    .map((value, look) => ({ look, value, count: counts[look] ?? 0 }))
    .filter(({ count }) => count > 0)
    .sort((one, other) => other.count - one.count || one.look - other.look);
  return shares[0] ? { look: shares[0].look, shares } : { shares };
}

function leftOutWords(states: number, edges: number): string {
  const parts = [
    ...(states > 0 ? [plural(states, "state")] : []),
    ...(edges > 0 ? [plural(edges, "step")] : []),
  ];
  if (parts.length === 0) return "";
  // All states within the steps around are drawn; only steps that lead further are not.
  if (states === 0) return `${plural(edges, "step")} lead${edges === 1 ? "s" : ""} further`;
  return `${parts.join(" and ")} left out`;
}
