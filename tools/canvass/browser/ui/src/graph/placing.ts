// The places of the nodes in the frame, in pixels: the server's layout, moved and scaled.

import type { Scene, SceneNode } from "./scene";

export interface Placed {
  readonly width: number;
  readonly height: number;
  readonly places: ReadonlyMap<string, { readonly x: number; readonly y: number }>;
  /** Radius of the nodes: as large as the distances in the columns permit. */
  readonly radius: number;
  /** Radius of the node with the most states. */
  readonly largest: number;
  /** How many nodes are outside of the frame. */
  readonly outOfSight: number;
}

const MARGIN_LEFT = 34;
const MARGIN_BELOW = 100; // Half a label, where labels stand below.
const CHARACTER = 6.7; // Average width of a character of a label, rounded up.
const MOST_LABEL = 280;
const MOST_BEND = 60;
const MARGIN_TOP = 30;
const MARGIN_BOTTOM = 62; // Room for the hint.
/** At a smaller scale, words of neighbouring nodes would cover each other. */
const LEAST_SCALE = { x: 0.62, y: 0.4 };
const MOST_SCALE = 1.5;
const MOST_RADIUS = 24;

/** Place a scene. If the whole scene would be too small to read, its root is in the middle. */
export function placed(scene: Scene, width: number, height: number, fit: boolean): Placed {
  const xs = scene.nodes.map((node) => node.x);
  const ys = scene.nodes.map((node) => node.y);
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
  // The words of the last column stand right of it.
  const longest = Math.max(0, ...scene.nodes.filter((node) => node.x > right - 150).map((node) => node.label.length));
  const words = Math.min(MOST_LABEL, width / 3, longest * CHARACTER) / (scene.below ? 2 : 1) + 34;
  const margin = scene.below ? MARGIN_BELOW
    : MARGIN_LEFT + (bendsLeft(scene) ? Math.min(MOST_BEND, width / 12) : 0);
  const room = { x: Math.max(80, width - margin - words), y: Math.max(80, height - MARGIN_TOP - MARGIN_BOTTOM) };
  const whole = { x: room.x / Math.max(1, right - left), y: room.y / Math.max(1, bottom - top) };
  const root = scene.nodes.find((node) => node.root);
  // Without a root, the whole scene is shown.
  const scale = fit || root === undefined
    ? { x: Math.min(MOST_SCALE, whole.x), y: Math.min(MOST_SCALE, whole.y) }
    : {
        x: Math.min(MOST_SCALE, Math.max(LEAST_SCALE.x, whole.x)),
        y: Math.min(MOST_SCALE, Math.max(LEAST_SCALE.y, whole.y)),
      };
  const centre = (
    least: number, most: number, at: number, zoom: number, space: number,
  ): number => {
    if ((most - least) * zoom <= space + 1) return (least + most) / 2;
    // Centred on the root, but not beyond the ends.
    const half = space / zoom / 2;
    return Math.min(most - half, Math.max(least + half, at));
  };
  const cx = centre(left, right, root?.x ?? 0, scale.x, room.x);
  const cy = centre(top, bottom, root?.y ?? 0, scale.y, room.y);
  const middle = { x: margin + room.x / 2, y: MARGIN_TOP + room.y / 2 };
  const places = new Map(scene.nodes.map((node) => [
    node.id,
    { x: middle.x + (node.x - cx) * scale.x, y: middle.y + (node.y - cy) * scale.y },
  ]));
  const outOfSight = [...places.values()].filter(
    ({ x, y }) => x < 0 || x > width || y < 0 || y > height,
  ).length;
  const free = spaceOf(places);
  const radius = Math.max(5, Math.min(13, free));
  return { width, height, places, outOfSight, radius, largest: Math.max(radius, Math.min(MOST_RADIUS, free)) };
}

/** Whether a line leads up in the first column: such a line bends to the left. */
function bendsLeft(scene: Scene): boolean {
  const left = Math.min(...scene.nodes.map((node) => node.x));
  const first = new Map(scene.nodes.filter((node) => node.x === left).map((node) => [node.id, node.y]));
  return scene.links.some(({ source, target }) => (first.get(source) ?? -Infinity) > (first.get(target) ?? Infinity));
}

/** The largest radius with which no node touches another one in its column. */
function spaceOf(places: Placed["places"]): number {
  const columns = new Map<number, number[]>();
  for (const { x, y } of places.values()) {
    const column = Math.round(x);
    columns.set(column, [...(columns.get(column) ?? []), y]);
  }
  let least = Infinity;
  for (const ys of columns.values()) {
    ys.sort((one, other) => one - other);
    ys.forEach((y, at) => {
      if (at > 0) least = Math.min(least, y - (ys[at - 1] ?? 0));
    });
  }
  return least / 2 - 2;
}

/** The distance of the mark of a violating state from its node: around the other rings. */
export function violatingReach(node: SceneNode): number {
  return 3.5 + (node.initial ? 3.5 : 0) + (node.root ? 4.5 : 0);
}

/** The radius of a node: it grows with the logarithm of the number of states. */
export function radiusOf(node: SceneNode, scene: Scene, positions: Placed): number {
  const most = Math.max(...scene.nodes.map((one) => one.count));
  if (most <= 1) return positions.radius;
  const least = 0.6 * positions.radius;
  return least + (positions.largest - least) * (Math.log(node.count) / Math.log(most));
}
