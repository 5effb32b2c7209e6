// Where the nodes of a scene stand in the frame, in pixels: the server's layout, moved and scaled.

import type { Scene } from "./scene";

export interface Placed {
  readonly width: number;
  readonly height: number;
  readonly places: ReadonlyMap<string, { readonly x: number; readonly y: number }>;
  /** How many nodes are outside of the frame. */
  readonly outOfSight: number;
}

const MARGIN_X = 84;
const MARGIN_TOP = 34;
const MARGIN_BOTTOM = 50;
/** Below this the words of neighbouring nodes would cover each other. */
const LEAST_SCALE = 0.62;
const MOST_SCALE = 1.5;

/** Place a scene. If it is too large to be read when all of it is shown, its root comes first. */
export function placed(scene: Scene, width: number, height: number, fit: boolean): Placed {
  const xs = scene.nodes.map((node) => node.x);
  const ys = scene.nodes.map((node) => node.y);
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
  const room = { x: Math.max(80, width - 2 * MARGIN_X), y: Math.max(80, height - MARGIN_TOP - MARGIN_BOTTOM) };
  const whole = { x: room.x / Math.max(1, right - left), y: room.y / Math.max(1, bottom - top) };
  const scale = fit
    ? { x: Math.min(MOST_SCALE, whole.x), y: Math.min(MOST_SCALE, whole.y) }
    : {
        x: Math.min(MOST_SCALE, Math.max(LEAST_SCALE, whole.x)),
        y: Math.min(MOST_SCALE, Math.max(LEAST_SCALE, whole.y)),
      };
  const root = scene.nodes.find((node) => node.root) ?? scene.nodes[0];
  const centre = (
    least: number, most: number, at: number, zoom: number, space: number,
  ): number => {
    if ((most - least) * zoom <= space + 1) return (least + most) / 2;
    // Scrolled to the root, but not past the ends.
    const half = space / zoom / 2;
    return Math.min(most - half, Math.max(least + half, at));
  };
  const cx = centre(left, right, root?.x ?? 0, scale.x, room.x);
  const cy = centre(top, bottom, root?.y ?? 0, scale.y, room.y);
  const middle = { x: width / 2, y: MARGIN_TOP + room.y / 2 };
  const places = new Map(scene.nodes.map((node) => [
    node.id,
    { x: middle.x + (node.x - cx) * scale.x, y: middle.y + (node.y - cy) * scale.y },
  ]));
  const outOfSight = [...places.values()].filter(
    ({ x, y }) => x < 0 || x > width || y < 0 || y > height,
  ).length;
  return { width, height, places, outOfSight };
}
