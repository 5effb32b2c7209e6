// Places of the timeline, the lanes and the words of a graph: what is drawn where, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { LaneEvent, LaneMessage, Lanes, RunFound, RunTimeline, RunView } from "../src/api/types.ts";
import { Labels } from "../src/graph/labels.ts";
import type { Palette } from "../src/graph/palette.ts";
import { columnsOf, routesOf, tracksOf } from "../src/lanes/geometry.ts";
import { milestonesOf, startOf } from "../src/run/milestones.ts";
import { barAt, barsOf } from "../src/run/pinned_bars.ts";
import { timeScale } from "../src/run/time_scale.ts";

const timeline = {
  total: 10_000,
  members: [
    { id: 0, segments: [{ start: 0, electionState: "INIT" }, { start: 40, electionState: "LEADER_READY" }] },
    { id: 1, segments: [{ start: 9_960, electionState: "CANVASS" }] },
  ],
  marks: [{ number: 9_950, member: 0, kind: "RESTART", text: "" }],
} as unknown as RunTimeline;

test("each event has its place, in order, and each place leads back", () => {
  const scale = timeScale(timeline, 10_000, 800);
  let last = -1;
  for (let number = 0; number <= 10_000; number += 1) {
    const place = scale.place(number);
    assert.ok(place > last && place <= 800 + 1e-9);
    assert.ok(Math.abs(scale.number(place) - number) < 1e-6);
    last = place;
  }
  assert.deepEqual([scale.place(0), Math.round(scale.place(10_000))], [0, 800]);
});

test("a stretch of quiet is shortened, so that an election is seen", () => {
  const scale = timeScale(timeline, 10_000, 800);
  assert.ok(scale.place(40) > (40 / 10_000) * 800 * 4);
});

test("a run without events has a scale", () => {
  const scale = timeScale(undefined, 0, 800);
  assert.deepEqual([scale.place(0), scale.number(0)], [0, 0]);
});

test("a pinned condition has its bars in the rows of the members, or in one row of the cluster", () => {
  const scale = timeScale(timeline, 10_000, 800);
  const shown = [{ member: 2, event: 0, lastEvent: 39 }, { member: 1, event: 5_000, lastEvent: 5_000 }];
  const found = { ofCluster: false, shown } as unknown as RunFound;
  const bars = barsOf(found, [1, 2], scale);
  assert.deepEqual(bars.map(({ row, event }) => [row, event]), [[1, 0], [0, 5_000]]);
  assert.equal(bars[0]?.width, scale.place(40));
  assert.equal(bars[1]?.width, 2); // One event of many is still seen.
  const { x } = bars[1] ?? { x: 0 };
  assert.equal(barAt(bars, 0, x + 8)?.event, 5_000);
  assert.deepEqual([barAt(bars, 0, x + 40), barAt(bars, 1, x)], [undefined, undefined]);
  assert.deepEqual(barsOf({ ...found, ofCluster: true }, [1, 2], scale).map(({ row }) => row), [0, 0]);
});

test("milestones are in order, and a page opens at the first divergence, else at the first leader", () => {
  const run = { divergence: null } as unknown as RunView;
  const wrong = { divergence: { eventNumber: 7, name: "Canvass", member: 2 } } as unknown as RunView;
  assert.deepEqual(milestonesOf(run, timeline), [
    { number: 40, text: "member 0 becomes leader", kind: "leader" },
    { number: 9_950, text: "restart of member 0", kind: "mark" },
  ]);
  assert.equal(startOf(run, timeline), 40);
  assert.equal(startOf(wrong, timeline), 7);
  assert.equal(startOf(run, undefined), 0);
});

/** Messages between members, from a generator of numbers. */
function lanesOf(members: number, count: number, seed: number): Lanes {
  let state = seed;
  const below = (limit: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor(state / 7) % limit;
  };
  const events = Array.from({ length: count }, (_, number) => ({ number }) as LaneEvent);
  const messages = Array.from({ length: count }, (): LaneMessage => {
    const sent = below(count);
    const received = sent + 1 + below(30);
    const one = { name: "Vote", sender: below(members), receiver: below(members), text: "", sent };
    return received < count
      ? { ...one, received, fate: "DELIVERED" }
      : { ...one, received: null, fate: "LOST" };
  });
  return { lanes: [], events, messages, before: 0, after: 0, total: count, chosen: 0, hidden: 0 };
}

test("no two messages to one side of a lane share a track in any row", () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const { messages, counts } = tracksOf(lanesOf(2 + (seed % 4), 60, seed));
    const taken = new Set<string>();
    for (const { message, from, to, track } of messages) {
      const start = from ?? to ?? 0;
      const side = `${message.receiver} ${message.receiver > message.sender}`;
      assert.ok(track < (counts.get(side) ?? 0));
      for (let row = start; row <= (to ?? start); row += 1) {
        const place = `${side} ${track} ${row}`;
        assert.ok(!taken.has(place), place);
        taken.add(place);
      }
    }
  }
});

test("every arrow stays in the gutter beside the lane of its receiver", () => {
  const tracks = tracksOf(lanesOf(3, 60, 5));
  const columns = columnsOf(3, 1_200, tracks);
  const routes = routesOf(tracks, columns);
  assert.equal(routes.length, tracks.messages.length);
  for (const { message, path } of routes) {
    const turn = Number(/^M\S+ \S+?H([\d.]+)/.exec(path)?.[1]);
    const left = columns.lefts[message.receiver] ?? 0;
    const right = left + columns.boxWidth;
    if (message.receiver > message.sender) {
      assert.ok(turn < left && turn > (columns.lefts[message.receiver - 1] ?? 0) + columns.boxWidth, path);
    } else assert.ok(turn > right && turn < (columns.lefts[message.receiver + 1] ?? 0), path);
  }
});

test("a word that would cover another or a node is left out and counted", () => {
  const context = {
    measureText: (text: string) => ({ width: 6 * text.length }),
    strokeText: () => {},
    fillText: () => {},
  } as unknown as CanvasRenderingContext2D;
  const labels = new Labels({ font: "sans-serif", paper: "#fff" } as Palette);
  labels.begin([{ x: 100, y: 100, size: 10 }]);
  assert.equal(labels.set(context, "CANVASS", 0, 0, 12, "#000"), true);
  assert.equal(labels.set(context, "CLOSED", 20, 4, 12, "#000"), false);
  assert.equal(labels.set(context, "CLOSED", 95, 100, 12, "#000"), false);
  assert.equal(labels.set(context, "INIT", 95, 100, 12, "#000", false, true), true);
  assert.equal(labels.hidden, 2);
});
