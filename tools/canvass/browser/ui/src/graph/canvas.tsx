// A scene drawn by sigma, with words on a canvas of our own above it that do not cover each other.

import { createEdgeCurveProgram } from "@sigma/edge-curve";
import { MultiDirectedGraph } from "graphology";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import Sigma from "sigma";
import { createEdgeArrowProgram } from "sigma/rendering";
import { offerDrawing } from "../exports/drawn";
import { useKeys } from "../keys/keys";
import { useSize } from "../parts/use_size";
import { useColoursChanged } from "../session/theme";
import { GraphDrawing } from "./drawing";
import { plural } from "../words/visible";
import { beside, bends } from "./geometry";
import { coloursOf, concerns, lineColour, readPalette, type Palette } from "./palette";
import { placed, radiusOf, type Placed } from "./placing";
import type { Scene } from "./scene";
import { Words } from "./words";

export function GraphCanvas(
  { scene, chosen, choose, open, label }: {
    scene: Scene;
    chosen: string | undefined;
    /** Highlight a node. */
    choose: (id: string | undefined) => void;
    /** Go to a node. */
    open: (id: string) => void;
    label: string;
  },
) {
  const holder = useRef<HTMLDivElement>(null);
  const size = useSize(holder);
  const colours = useColoursChanged();
  const [hidden, setHidden] = useState(0);
  const [fit, setFit] = useState(false);
  const live = useRef<Live | null>(null);
  const handlers = useRef({ choose, open });
  handlers.current = { choose, open };
  const drawn = useMemo(canDraw, []);
  const positions = useMemo(
    () => (size.width > 0 ? placed(scene, size.width, size.height, fit) : null),
    [scene, size.width, size.height, fit],
  );

  useEffect(() => {
    if (!drawn || !holder.current || !positions) return undefined;
    // Kept from scene to scene: starting WebGL takes longer than drawing.
    live.current ??= startDrawing(holder.current, handlers, setHidden);
    live.current.draw(scene, positions);
    return undefined;
  }, [scene, positions, colours, drawn]);
  useEffect(() => () => {
    live.current?.sigma.kill();
    live.current = null;
  }, []);
  useEffect(() => live.current?.mark(chosen), [chosen, scene, positions, colours]);
  useEffect(() => {
    if (!positions) return undefined;
    offerDrawing(() => ({
      element: <GraphDrawing scene={scene} positions={positions} palette={readPalette()} chosen={chosen} />,
    }));
    return () => offerDrawing(null);
  }, [scene, positions, chosen]);

  const move = (dx: number, dy: number): void => {
    if (!positions) return;
    const from = chosen ?? scene.nodes.find((node) => node.root)?.id ?? scene.nodes[0]?.id;
    if (from !== undefined) choose(beside(positions, from, dx, dy) ?? from);
  };
  const zoom = (factor: number): void => {
    const camera = live.current?.sigma.getCamera();
    if (camera) void camera.animate({ ratio: camera.ratio * factor }, { duration: 0 });
  };
  useKeys("Drawing", [
    { keys: ["ArrowRight"], does: "highlight the node to the right", run: () => move(1, 0) },
    { keys: ["ArrowLeft"], does: "highlight the node to the left", run: () => move(-1, 0) },
    { keys: ["ArrowUp"], does: "highlight the node above", run: () => move(0, -1) },
    { keys: ["ArrowDown"], does: "highlight the node below", run: () => move(0, 1) },
    { keys: ["Enter"], does: "go to the highlighted node", run: () => chosen !== undefined && open(chosen) },
    { keys: ["+", "="], does: "zoom in", run: () => zoom(0.8) },
    { keys: ["-"], does: "zoom out", run: () => zoom(1.25) },
    { keys: ["0"], does: "whole drawing, or readable size", run: () => setFit((was) => !was) },
  ]);

  const out = positions?.outOfSight ?? 0;
  const hints = [
    out > 0 ? `${out} out of sight: drag, or 0 for all` : "",
    hidden > 0 ? `${plural(hidden, "word")} hidden at this size: + to see them, or the list` : "",
  ].filter(Boolean);
  return (
    <div class="graph-frame">
      <div
        ref={holder}
        class="graph-canvas"
        role="img"
        aria-label={`${label}; the list has the same in words`}
        data-nodes={scene.nodes.length}
        data-links={scene.links.length}
      >
        {drawn || !positions ? null : (
          <GraphDrawing scene={scene} positions={positions} palette={readPalette()} chosen={chosen} open={open} />
        )}
      </div>
      {hints.length > 0 ? <p class="graph-hint" role="status">{hints.join(" · ")}</p> : null}
    </div>
  );
}

/** Without WebGL the same scene is drawn as SVG. */
function canDraw(): boolean {
  return document.createElement("canvas").getContext("webgl2") !== null;
}

/** Of an arrowhead, as multiples of the line's width: a thin line has a visible head, too. */
const HEAD = { lengthToThicknessRatio: 6, widenessToThicknessRatio: 4.5 };

interface Live {
  readonly sigma: Sigma;
  readonly draw: (scene: Scene, positions: Placed) => void;
  readonly mark: (id: string | undefined) => void;
}

function startDrawing(
  element: HTMLDivElement,
  handlers: { current: { choose: (id: string | undefined) => void; open: (id: string) => void } },
  onHidden: (hidden: number) => void,
): Live {
  const sigma = new Sigma(new MultiDirectedGraph(), element, {
    renderLabels: false,
    renderEdgeLabels: false,
    allowInvalidContainer: true,
    stagePadding: 0,
    defaultEdgeType: "arrow",
    edgeProgramClasses: { arrow: createEdgeArrowProgram(HEAD), curved: createEdgeCurveProgram({ arrowHead: { extremity: "target", ...HEAD } }) },
    minEdgeThickness: 1.2,
    minCameraRatio: 0.1,
    maxCameraRatio: 12,
    zIndex: true,
    // `Words` draws the node under the pointer.
    defaultDrawNodeHover: () => undefined,
    zoomDuration: 0,
    inertiaDuration: 0,
  });
  const words = new Words(sigma, readPalette());
  let before = -1;
  sigma.on("afterRender", () => {
    const hidden = words.draw();
    if (hidden !== before) onHidden(hidden);
    before = hidden;
  });
  sigma.on("clickNode", ({ node }) => handlers.current.open(node));
  sigma.on("enterNode", ({ node }) => {
    element.style.cursor = "pointer";
    words.hovered = node;
    sigma.refresh({ skipIndexation: true });
  });
  sigma.on("leaveNode", () => {
    element.style.cursor = "";
    words.hovered = undefined;
    sigma.refresh({ skipIndexation: true });
  });
  return {
    sigma,
    draw: (scene, positions) => {
      const palette = readPalette();
      words.show(scene, palette, bends(scene, positions));
      // Places are in pixels, so words and nodes keep their distances.
      sigma.setCustomBBox({ x: [0, positions.width], y: [0, positions.height] });
      sigma.getCamera().setState({ x: 0.5, y: 0.5, ratio: 1, angle: 0 });
      sigma.setGraph(graphOf(scene, positions, palette));
    },
    mark: (id) => {
      if (words.chosen === id) return;
      words.chosen = id;
      sigma.refresh({ skipIndexation: true });
    },
  };
}

function graphOf(scene: Scene, positions: Placed, palette: Palette): MultiDirectedGraph {
  const graph = new MultiDirectedGraph();
  for (const node of scene.nodes) {
    if (graph.hasNode(node.id)) continue; // A path may come back to a state.
    const { x, y } = positions.places.get(node.id) ?? { x: 0, y: 0 };
    graph.addNode(node.id, {
      x,
      y: positions.height - y,
      size: node.root ? Math.max(13, positions.radius + 2) : radiusOf(node, scene, positions),
      color: coloursOf(palette, node.look).fill,
    });
  }
  const bend = bends(scene, positions);
  const root = scene.nodes.find((node) => node.root)?.id;
  for (const link of scene.links) {
    if (!graph.hasNode(link.source) || !graph.hasNode(link.target)) continue;
    graph.addDirectedEdge(link.source, link.target, {
      type: bend.get(link.id) ? "curved" : "arrow",
      curvature: bend.get(link.id) ?? 0,
      size: link.lit ? 4 : 1.6,
      color: lineColour(link, root, palette),
      zIndex: link.lit ? 3 : concerns(link, root) ? 1 : 0,
    });
  }
  return graph;
}
