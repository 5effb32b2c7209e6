// A scene as SVG: for export, and for browsers without WebGL.

import { shortened } from "../words/visible";
import { anchorOf, along, bends, type Point } from "./geometry";
import { coloursOf, lineColour, type Palette } from "./palette";
import { radiusOf, violatingReach, type Placed } from "./placing";
import type { Scene, SceneNode } from "./scene";

export function GraphDrawing(
  { scene, positions, palette, chosen, open }: {
    scene: Scene;
    positions: Placed;
    palette: Palette;
    chosen?: string | undefined;
    open?: (id: string) => void;
  },
) {
  const place = (id: string): { x: number; y: number } => positions.places.get(id) ?? { x: 0, y: 0 };
  const all = [...positions.places.values()];
  const bend = bends(scene, positions);
  const radii = new Map(scene.nodes.map((node) => [node.id, radiusOf(node, scene, positions)]));
  const root = scene.nodes.find((node) => node.root)?.id;
  const left = Math.min(0, ...all.map(({ x }) => x - 30));
  const top = Math.min(0, ...all.map(({ y }) => y - 30));
  const width = Math.max(positions.width, ...all.map(({ x }) => x + 200)) - left;
  const height = Math.max(positions.height, ...all.map(({ y }) => y + 40)) - top;
  return (
    <svg
      class="drawing"
      width={width}
      height={height}
      viewBox={`${left} ${top} ${width} ${height}`}
      font-family={palette.font}
      role="img"
      aria-label="State graph"
    >
      <rect x={left} y={top} width={width} height={height} fill={palette.paper} />
      {scene.links.map((link) => {
        const line = trimmed(place(link.source), place(link.target), bend.get(link.id) ?? 0, radii.get(link.source) ?? 0, radii.get(link.target) ?? 0);
        const colour = lineColour(link, root, palette);
        return (
          <g key={link.id}>
            <path d={line.path} fill="none" stroke={colour} stroke-width={link.lit ? 3 : 1.4} />
            <path d={line.tip} fill={colour} />
            <text
              x={line.x} y={line.y - 5} text-anchor="middle" font-size="10.5" fill={palette.soft}
              stroke={palette.paper} stroke-width="3" paint-order="stroke"
            >
              {shortened(link.label, 46)}
            </text>
          </g>
        );
      })}
      {scene.nodes.map((node) => {
        const { x, y } = place(node.id);
        const colours = coloursOf(palette, node.look);
        const radius = radii.get(node.id) ?? positions.radius;
        return (
          <g
            key={node.id}
            transform={`translate(${x} ${y})`}
            data-node={node.id}
            {...(open ? { onClick: () => open(node.id), cursor: "pointer" } : {})}
          >
            {node.root || node.id === chosen
              ? <circle r={radius + 5} fill="none" stroke={palette.accent} stroke-width="3" /> : null}
            {node.initial ? <circle r={radius + 3} fill="none" stroke={colours.ink} stroke-width="1" /> : null}
            {node.terminal
              ? <rect x={-radius} y={radius + (node.initial ? 6 : 2)} width={2 * radius} height="3" fill={colours.ink} />
              : null}
            {node.violating ? <circle r={radius + violatingReach(node)} fill="none" stroke={palette.bad} stroke-width="3" /> : null}
            <circle r={radius} fill={colours.fill} stroke={colours.ink} stroke-width="1" />
            {sectors(node, radius).map(({ look, path }) => <path key={look} d={path} fill={coloursOf(palette, look).fill} />)}
            <text y="4" text-anchor="middle" font-size={Math.min(11, (3 * radius) / node.sign.length)} font-weight="600" fill={colours.ink}>{node.sign}</text>
            <text
              {...(scene.below
                ? { x: 0, y: radius + 18, "text-anchor": "middle" }
                : { x: radius + (node.root || node.initial ? 9 : 5), y: 4 })} font-size="11.5" font-weight={node.root ? 600 : 400}
              fill={palette.ink} stroke={palette.paper} stroke-width="3" paint-order="stroke"
            >
              {shortened(node.label, 44)}{node.loops.length > 0 ? ` ↻${node.loops.length}` : ""}{node.more > 0 ? ` +${node.more}` : ""}{node.violating ? " ✖" : ""}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

/** The sectors of a node whose states have several values. */
function sectors(node: SceneNode, radius: number): readonly { look: number; path: string }[] {
  if (node.shares.length < 2) return [];
  let from = 0;
  return node.shares.map(({ look, count }) => {
    const to = from + count / node.count;
    const [begin, end] = [from, to].map((share) => `${radius * Math.sin(2 * Math.PI * share)} ${-radius * Math.cos(2 * Math.PI * share)}`);
    const path = `M0 0L${begin}A${radius} ${radius} 0 ${to - from > 0.5 ? 1 : 0} 1 ${end}Z`;
    from = to;
    return { look, path };
  });
}

/** An arrow from rim to rim. */
function trimmed(from: Point, to: Point, bend: number, leaving: number, radius: number) {
  const anchor = anchorOf(from, to, bend);
  const start = towards(from, anchor, leaving);
  const tip = towards(to, anchor, radius + 2);
  const back = towards(to, anchor, radius + 10);
  const [ux, uy] = [(tip.x - back.x) / 8, (tip.y - back.y) / 8];
  const middle = along(from, to, bend, 0.56);
  return {
    path: `M${start.x} ${start.y}Q${anchor.x} ${anchor.y} ${back.x} ${back.y}`,
    tip: `M${tip.x} ${tip.y}L${back.x - uy * 4} ${back.y + ux * 4}L${back.x + uy * 4} ${back.y - ux * 4}Z`,
    x: middle.x,
    y: middle.y,
  };
}

function towards(from: Point, to: Point, far: number): Point {
  const length = Math.max(1, Math.hypot(to.x - from.x, to.y - from.y));
  return { x: from.x + ((to.x - from.x) * far) / length, y: from.y + ((to.y - from.y) * far) / length };
}
