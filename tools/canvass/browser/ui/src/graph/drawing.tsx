// A scene as SVG: for export, and where there is no WebGL.

import { shortened } from "../words/visible";
import type { Palette } from "./palette";
import type { Placed } from "./placing";
import type { Scene } from "./scene";

const RADIUS = 13;

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
  const left = Math.min(0, ...all.map(({ x }) => x - 110));
  const top = Math.min(0, ...all.map(({ y }) => y - 30));
  const width = Math.max(positions.width, ...all.map(({ x }) => x + 110)) - left;
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
        const line = trimmed(place(link.source), place(link.target));
        const colour = link.lit ? palette.accent
          : link.taken === undefined ? palette.line : palette.heat[link.taken > 0 ? 1 : 0];
        return (
          <g key={link.id}>
            <path d={line.path} fill="none" stroke={colour} stroke-width={link.lit ? 3 : link.taken ? 2.5 : 1.4} />
            <path d={line.tip} fill={colour} />
            <text
              x={line.x} y={line.y - 5} text-anchor="middle" font-size="10.5" fill={palette.soft}
              stroke={palette.paper} stroke-width="3" paint-order="stroke"
            >
              {shortened(link.label, 46)}{link.taken ? ` ${link.taken}` : ""}
            </text>
          </g>
        );
      })}
      {scene.nodes.map((node) => {
        const { x, y } = place(node.id);
        const colours = palette.phase[node.phase];
        return (
          <g
            key={node.id}
            transform={`translate(${x} ${y})`}
            data-node={node.id}
            {...(open ? { onClick: () => open(node.id), cursor: "pointer" } : {})}
          >
            {node.root || node.id === chosen
              ? <circle r={RADIUS + 5} fill="none" stroke={palette.accent} stroke-width="3" /> : null}
            {node.initial ? <circle r={RADIUS + 3} fill="none" stroke={colours.ink} stroke-width="1" /> : null}
            <circle r={RADIUS} fill={colours.fill} stroke={colours.ink} stroke-width="1" />
            <text y="4" text-anchor="middle" font-size="11" font-weight="600" fill={colours.ink}>{node.sign}</text>
            <text
              y={RADIUS + 16} text-anchor="middle" font-size="11.5" font-weight={node.root ? 600 : 400}
              fill={palette.ink} stroke={palette.paper} stroke-width="3" paint-order="stroke"
            >
              {shortened(node.label, 44)}{node.loops.length > 0 ? ` ↻${node.loops.length}` : ""}{node.more > 0 ? ` +${node.more}` : ""}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

/** A straight arrow from rim to rim. */
function trimmed(from: { x: number; y: number }, to: { x: number; y: number }) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const far = Math.max(1, Math.hypot(dx, dy));
  const [ux, uy] = [dx / far, dy / far];
  const [x1, y1] = [from.x + ux * RADIUS, from.y + uy * RADIUS];
  const [x2, y2] = [to.x - ux * (RADIUS + 2), to.y - uy * (RADIUS + 2)];
  const [bx, by] = [x2 - ux * 8, y2 - uy * 8];
  return {
    path: `M${x1} ${y1}L${bx} ${by}`,
    tip: `M${x2} ${y2}L${bx - uy * 4} ${by + ux * 4}L${bx + uy * 4} ${by - ux * 4}Z`,
    x: from.x + dx * 0.56,
    y: from.y + dy * 0.56,
  };
}
