// Places for the nodes of a drawing, in layers from left to right, as labels are wide and low.
//
// The order within a layer comes from sweeps over barycentres. The heights come from moving nodes
// towards their neighbours as far as the order permits. A layer of many nodes takes several columns.
// The same graph always gets the same places.

export const WIDTH = 190;
export const HEIGHT = 44; // WIDTH and HEIGHT are the room of a node with its label.
const COLUMN_GAP = 90;
const LAYER_GAP = 160;
const ROW_GAP = 18;
const SWEEPS = 8;
export const TALLEST = 26; // Most nodes of one column, except in graphs that would become much wider than high.

/** An edge by the numbers of its nodes. */
export type Pair = readonly [source: number, target: number];

/**
 * The distance of each node from the roots along edges, or else against edges, from 0.
 *
 * Nodes without a connection to the roots are in the first layer.
 */
export function layersFrom(count: number, pairs: readonly Pair[], roots: readonly number[]): number[] {
  const layer = new Map<number, number>(roots.map((root) => [root, 0]));
  spread(layer, linked(count, pairs), 1);
  // A node from which edges only lead into the reached part stands before it.
  spread(layer, linked(count, pairs.map(([source, target]) => [target, source])), -1);
  const lowest = Math.min(0, ...layer.values());
  return Array.from({ length: count }, (_, node) => (layer.get(node) ?? lowest) - lowest);
}

function spread(layer: Map<number, number>, links: readonly (readonly number[])[], by: number): void {
  const waiting = [...layer.keys()].sort((one, other) => one - other);
  for (const node of waiting) {
    for (const other of links[node] ?? []) {
      if (layer.has(other)) continue;
      layer.set(other, (layer.get(node) ?? 0) + by);
      waiting.push(other);
    }
  }
}

function linked(count: number, pairs: readonly Pair[]): number[][] {
  const found: number[][] = Array.from({ length: count }, () => []);
  for (const [source, target] of pairs) found[source]?.push(target);
  return found;
}

/** The centre of each node, for the layer of each node from 0; loops and repeated pairs have no effect. */
export function placesOf(layer: readonly number[], pairs: readonly Pair[]): readonly { readonly x: number; readonly y: number }[] {
  const near = neighbours(layer.length, pairs);
  const rows: number[][] = Array.from({ length: Math.max(-1, ...layer) + 1 }, () => []);
  layer.forEach((row, node) => {
    rows[row]?.push(node);
  });
  order(rows, near, layer);
  const tallest = Math.max(TALLEST, Math.floor(Math.sqrt(2 * layer.length)));
  const places = layer.map(() => ({ x: 0, y: 0 }));
  const columns: number[][] = [];
  let left = 0;
  for (const row of rows) {
    const count = Math.ceil(row.length / tallest);
    for (let number = 0; number < count; number += 1) {
      // The nodes of a layer go to its columns in turn.
      const column = row.filter((_, at) => at % count === number);
      column.forEach((node, at) => {
        places[node] = { x: left + number * (WIDTH + COLUMN_GAP), y: (at - (column.length - 1) / 2) * (HEIGHT + ROW_GAP) };
      });
      columns.push(column);
    }
    left += Math.max(1, count) * (WIDTH + COLUMN_GAP) - COLUMN_GAP + LAYER_GAP;
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const column of sweep % 2 === 0 ? columns : [...columns].reverse()) straighten(column, near, places);
  }
  const top = Math.min(...places.map(({ y }) => y));
  return places.map(({ x, y }) => ({ x, y: y - top }));
}

function neighbours(count: number, pairs: readonly Pair[]): readonly (readonly number[])[] {
  const near = Array.from({ length: count }, () => new Set<number>());
  for (const [one, two] of pairs) {
    if (one === two) continue;
    near[one]?.add(two);
    near[two]?.add(one);
  }
  return near.map((each) => [...each].sort((one, other) => one - other));
}

/** Sweep over the layers, forwards and back, and put each in the order of its barycentres. */
function order(rows: number[][], near: readonly (readonly number[])[], layer: readonly number[]): void {
  const position = new Map<number, number>();
  const settle = (row: readonly number[]): void => {
    // Relative to the middle of the layer: layers differ in size.
    row.forEach((node, at) => {
      position.set(node, at - (row.length - 1) / 2);
    });
  };
  rows.forEach(settle);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const down = sweep % 2 === 0;
    for (const row of down ? rows : [...rows].reverse()) {
      const wanted = new Map(row.map((node) => {
        const here = layer[node] ?? 0;
        const beside = (near[node] ?? []).filter((other) => (down ? (layer[other] ?? 0) < here : (layer[other] ?? 0) > here));
        return [node, mean(beside.map((other) => position.get(other) ?? 0)) ?? position.get(node) ?? 0];
      }));
      row.sort((one, other) => (wanted.get(one) ?? 0) - (wanted.get(other) ?? 0) || one - other);
      settle(row);
    }
  }
}

/**
 * Move the nodes of a column towards their neighbours, in their order and not too close.
 *
 * This is isotonic regression: nodes that would have to pass each other move as one block.
 */
function straighten(column: number[], near: readonly (readonly number[])[], places: { x: number; y: number }[]): void {
  const heightOf = (node: number): number => places[node]?.y ?? 0;
  column.sort((one, other) => heightOf(one) - heightOf(other) || one - other);
  const step = HEIGHT + ROW_GAP;
  const blocks: { total: number; count: number }[] = [];
  column.forEach((node, number) => {
    const wanted = mean((near[node] ?? []).map(heightOf)) ?? heightOf(node);
    const block = { total: wanted - number * step, count: 1 };
    for (let before = blocks.at(-1); before && before.total / before.count > block.total / block.count; before = blocks.at(-1)) {
      block.total += before.total;
      block.count += before.count;
      blocks.pop();
    }
    blocks.push(block);
  });
  const tops = blocks.flatMap(({ total, count }) => Array.from({ length: count }, () => total / count));
  column.forEach((node, number) => {
    const place = places[node];
    if (place) place.y = (tops[number] ?? 0) + number * step;
  });
}

function mean(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((sum, one) => sum + one, 0) / values.length;
}
