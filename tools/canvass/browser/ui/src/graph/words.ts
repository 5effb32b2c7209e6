// All words of a drawing: signs in the nodes, labels beside them, actions on the lines.

import type Sigma from "sigma";
import { shortened } from "../words/visible";
import { along } from "./geometry";
import { Labels } from "./labels";
import { coloursOf, concerns, type Palette } from "./palette";
import { violatingReach } from "./placing";
import type { Scene, SceneLink, SceneNode } from "./scene";

const LABEL = 11.5;
const ACTION = 10.5;
const MOST_ACTION = 46;
const FEW = 16; // With at most so many lines, all lines have their words.

interface Spot {
  readonly node: SceneNode;
  readonly x: number;
  readonly y: number;
  readonly size: number;
}

export class Words {
  chosen: string | undefined;
  hovered: string | undefined;
  private readonly canvas: HTMLCanvasElement;
  private readonly sigma: Sigma;
  private labels: Labels;
  private scene: Scene = { nodes: [], links: [], leftOut: "", statesLeftOut: 0 };
  private palette: Palette;
  private bend: ReadonlyMap<string, number> = new Map();

  constructor(sigma: Sigma, palette: Palette) {
    this.sigma = sigma;
    this.palette = palette;
    this.labels = new Labels(palette);
    this.canvas = sigma.createCanvas("words", { beforeLayer: "mouse" });
    this.canvas.dataset["words"] = "";
  }

  /** Set the scene for the next drawings. */
  show(scene: Scene, palette: Palette, bend: ReadonlyMap<string, number>): void {
    this.scene = scene;
    this.palette = palette;
    this.bend = bend;
    this.hovered = undefined;
    this.labels = new Labels(palette);
  }

  /** Draw the words; give the number of words without room. */
  draw(): number {
    const { width, height } = this.sigma.getDimensions();
    const ratio = window.devicePixelRatio || 1;
    if (this.canvas.width !== width * ratio || this.canvas.height !== height * ratio) {
      this.canvas.width = width * ratio;
      this.canvas.height = height * ratio;
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext("2d");
    if (!context) return 0;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const spots = this.spots().filter(
      ({ x, y }) => x > -20 && x < width + 20 && y > -20 && y < height + 20,
    );
    this.labels.begin(spots);
    for (const spot of spots) this.sign(context, spot);
    for (const spot of spots) this.label(context, spot, width);
    const bySpot = new Map(spots.map((spot) => [spot.node.id, spot]));
    // Lines that touch the current state first, then the others as far as there is room.
    const root = this.scene.nodes.find((node) => node.root)?.id;
    const links = [...this.scene.links].sort(
      (one, other) => Number(this.concerned(other, root)) - Number(this.concerned(one, root)),
    );
    for (const link of links) {
      if (links.length > FEW && !this.concerned(link, root)) continue;
      const [from, to] = [bySpot.get(link.source), bySpot.get(link.target)];
      if (from && to) this.action(context, link, from, to, width);
    }
    return this.labels.hidden;
  }

  private concerned(link: SceneLink, root: string | undefined): boolean {
    return concerns(link, root) || [link.source, link.target].some(
      (id) => id === this.hovered || id === this.chosen,
    );
  }

  private spots(): Spot[] {
    const graph = this.sigma.getGraph();
    const seen = new Set<string>();
    const found: Spot[] = [];
    for (const node of this.scene.nodes) {
      if (seen.has(node.id) || !graph.hasNode(node.id)) continue;
      seen.add(node.id);
      const data = this.sigma.getNodeDisplayData(node.id);
      const place = graph.getNodeAttributes(node.id) as { x: number; y: number };
      const { x, y } = this.sigma.graphToViewport(place);
      found.push({ node, x, y, size: this.sigma.scaleSize(data?.size ?? 10) });
    }
    // The highlighted node, the root and the initial states get their words first.
    const rank = ({ node }: Spot): number =>
      node.id === this.chosen || node.id === this.hovered ? 0 : node.root ? 1 : node.initial ? 2 : 3;
    return found.sort((one, other) => rank(one) - rank(other));
  }

  private sign(context: CanvasRenderingContext2D, { node, x, y, size }: Spot): void {
    const colours = coloursOf(this.palette, node.look);
    const ring = (radius: number, colour: string, width: number): void => {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke();
    };
    if (node.shares.length > 1) {
      let from = -Math.PI / 2;
      for (const { look, count } of node.shares) {
        const to = from + (2 * Math.PI * count) / node.count;
        context.beginPath();
        context.moveTo(x, y);
        context.arc(x, y, size, from, to);
        context.fillStyle = coloursOf(this.palette, look).fill;
        context.fill();
        from = to;
      }
    }
    ring(size, colours.ink, 1);
    if (node.violating) ring(size + violatingReach(node), this.palette.bad, 3);
    if (node.initial) ring(size + 3.5, colours.ink, 1.2);
    if (node.terminal) {
      context.fillStyle = colours.ink;
      context.fillRect(x - size, y + size + (node.initial ? 6 : 2), 2 * size, 3);
    }
    if (node.root) ring(size + (node.initial ? 7 : 4), this.palette.accent, 3);
    if (node.id === this.chosen) ring(size + 7, this.palette.ink, 2.5);
    if (size < 6.5) return; // Too small to read.
    context.font = `600 ${Math.min(12.5, size * 0.95, (3 * size) / node.sign.length)}px ${this.palette.font}`;
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    context.fillStyle = colours.ink;
    context.fillText(node.sign, x, y + size * 0.32);
    context.textAlign = "left";
  }

  private label(context: CanvasRenderingContext2D, spot: Spot, room: number): void {
    const { node, x, y, size } = spot;
    const bold = node.root || node.id === this.chosen;
    const marks = bold || node.id === this.hovered || node.violating ? [
      node.violating ? "✖" : "",
      node.loops.length > 0 ? `↻${node.loops.length}` : "",
      node.more > 0 ? `+${node.more}` : "",
    ].filter(Boolean) : [];
    const text = [shortened(node.label, 44), ...marks].join("  ");
    context.font = `${bold ? "600 " : ""}${LABEL}px ${this.palette.font}`;
    const width = context.measureText(text).width;
    const ring = node.root || node.initial || node.violating ? 8 : 3;
    const reach = size + ring;
    // Beside the node if there is room, else below, above, or on its other side.
    const middle = Math.max(4, Math.min(room - 4 - width, x - width / 2));
    const below = [middle, y + reach + 8] as const;
    const spots: readonly (readonly [number, number])[] = [
      [x + reach + 3, y],
      below,
      [middle, y - reach - 8],
      [x - reach - 3 - width, y],
    ];
    const inside = spots.filter(([left]) => left >= 4 && left + width <= room - 4);
    // Lines leave the current state sideways, so its words stand below.
    const order = this.scene.below || node.root ? [below, ...inside] : inside;
    const always = node.id === this.chosen || node.id === this.hovered || node.root;
    const hidden = this.labels.hidden;
    for (const [left, top] of order) {
      if (this.labels.set(context, text, left, top, LABEL, this.palette.ink, bold)) {
        this.labels.hidden = hidden;
        return;
      }
    }
    this.labels.hidden = hidden + 1;
    if (!always) return;
    this.labels.hidden = hidden;
    const [left, top] = order[0] ?? below;
    this.labels.set(context, text, left, top, LABEL, this.palette.ink, bold, true);
  }

  private action(context: CanvasRenderingContext2D, link: SceneLink, from: Spot, to: Spot, room: number): void {
    const near = [link.source, link.target].some((id) => id === this.hovered || id === this.chosen);
    const text = shortened(link.label, MOST_ACTION);
    context.font = `${ACTION}px ${this.palette.font}`;
    const width = context.measureText(text).width;
    const colour = link.lit ? this.palette.accent : near ? this.palette.ink : this.palette.soft;
    // Somewhat nearer to the target, where lines from one state have parted.
    for (const share of [0.56, 0.42, 0.7]) {
      const middle = along(from, to, this.bend.get(link.id) ?? 0, share);
      const x = Math.max(4, Math.min(room - 4 - width, middle.x - width / 2));
      const y = middle.y - 8;
      const last = share === 0.7;
      const hidden = this.labels.hidden;
      if (this.labels.set(context, text, x, y, ACTION, colour, link.lit, last && link.lit)) return;
      if (!last) this.labels.hidden = hidden;
    }
  }
}
