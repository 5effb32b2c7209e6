// Places of nodes: whatever the graph is, nothing overlaps, and the same graph looks the same.

import assert from "node:assert/strict";
import { test } from "node:test";
import { HEIGHT, TALLEST, WIDTH, layersFrom, placesOf, type Pair } from "../src/graph/layers.ts";

interface Drawn {
  readonly count: number;
  readonly pairs: readonly Pair[];
  readonly roots: readonly number[];
}

/** Graphs of up to 60 nodes and 150 edges, from a generator of numbers. */
function* graphs(): Generator<Drawn> {
  for (let seed = 1; seed <= 60; seed += 1) {
    let state = seed;
    const below = (limit: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return Math.floor(state / 7) % limit;
    };
    const count = 1 + below(60);
    const pairs = Array.from({ length: below(150) }, (): Pair => [below(count), below(count)]);
    yield { count, pairs, roots: [...new Set(Array.from({ length: 1 + below(3) }, () => below(count)))] };
  }
}

test("no two nodes overlap, and later layers stand further to the right", () => {
  for (const { count, pairs, roots } of graphs()) {
    const layers = layersFrom(count, pairs, roots);
    const places = placesOf(layers, pairs);
    places.forEach((one, at) => {
      for (const [other, two] of places.entries()) {
        if (other === at) continue;
        assert.ok(Math.abs(one.x - two.x) >= WIDTH || Math.abs(one.y - two.y) >= HEIGHT - 1e-6);
        if ((layers[at] ?? 0) < (layers[other] ?? 0)) assert.ok(one.x + WIDTH <= two.x);
      }
    });
  }
});

test("the same graph has the same places, in whatever order and however often its edges come", () => {
  for (const { count, pairs, roots } of graphs()) {
    const layers = layersFrom(count, pairs, roots);
    const again = [...pairs].reverse();
    assert.deepEqual(layersFrom(count, again, roots), layers);
    assert.deepEqual(placesOf(layers, [...again, ...again]), placesOf(layers, pairs));
  }
});

test("layers are distances from the roots, and the first one is 0", () => {
  for (const { count, pairs, roots } of graphs()) {
    const layers = layersFrom(count, pairs, roots);
    const shift = layers[roots[0] ?? 0] ?? 0;
    const distance = new Map(roots.map((root) => [root, 0]));
    const waiting = [...roots];
    for (const node of waiting) {
      for (const [source, target] of pairs) {
        if (source !== node || distance.has(target)) continue;
        distance.set(target, (distance.get(node) ?? 0) + 1);
        waiting.push(target);
      }
    }
    for (const [node, far] of distance) assert.equal((layers[node] ?? 0) - shift, far);
    assert.equal(Math.min(...layers), 0);
  }
});

test("what leads to the roots stands before them", () => {
  assert.deepEqual(layersFrom(4, [[0, 1], [1, 2], [3, 1]], [1]), [0, 1, 2, 0]);
});

test("a chain is drawn in one line, and edges of a ladder do not cross", () => {
  const chain = Array.from({ length: 9 }, (_, at): Pair => [at, at + 1]);
  const places = placesOf(layersFrom(10, chain, [0]), chain);
  assert.deepEqual(new Set(places.map(({ y }) => y)), new Set([0]));
  const ladder: readonly Pair[] = [[0, 1], [0, 2], [1, 3], [2, 4], [3, 5], [4, 6]];
  const y = placesOf(layersFrom(7, ladder, [0]), ladder).map((one) => one.y);
  const above = (one: number, other: number): boolean => (y[one] ?? 0) < (y[other] ?? 0);
  assert.equal(above(3, 4), above(1, 2));
  assert.equal(above(5, 6), above(1, 2));
});

test("a wide layer takes several columns", () => {
  const fan = Array.from({ length: 200 }, (_, at): Pair => [0, at + 1]);
  const heights = new Map<number, number>();
  for (const { x } of placesOf(layersFrom(201, fan, [0]), fan)) heights.set(x, (heights.get(x) ?? 0) + 1);
  assert.ok(heights.size > 8);
  assert.ok(Math.max(...heights.values()) <= TALLEST);
});

test("nothing has no places", () => {
  assert.deepEqual(placesOf([], []), []);
});
