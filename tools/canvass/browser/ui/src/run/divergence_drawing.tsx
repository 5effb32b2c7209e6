// Where a run leaves the spec, drawn: the state before, the steps that the spec allows there, and the
// observed one as a red stub. A step that is in no graph is drawn in the same way, without alternatives.

import type { Difference, Divergence, Json, StepView } from "../api/types";
import { phaseOf, signOf } from "../words/election";
import { shortened } from "../words/visible";

const LEFT = 120;
const RIGHT = 470;
const WIDTH = 860;
const ROW = 58;
const NODE = 17;
const MOST_OUTCOMES = 4;
const MOST_ENABLED = 5;
const CHARACTERS = 52;

interface Branch {
  readonly kind: "allowed" | "observed" | "enabled";
  readonly action: string;
  readonly text: string;
  readonly state: string;
}

export function DivergenceDrawing({ step, divergence }: { step: StepView; divergence: Divergence | null }) {
  const observed = field(step.after, "electionState");
  const before = field(step.before, "electionState");
  const branches: Branch[] = [
    {
      kind: divergence ? "observed" : "allowed",
      action: step.action,
      text: divergence ? `observed: ${linesOf(divergence.expected[0] ?? divergence.changed, "observed")}` : labelOf(step.after),
      state: observed,
    },
    ...(divergence?.expected ?? []).slice(0, MOST_OUTCOMES).map((rows): Branch => ({
      kind: "allowed",
      action: step.action,
      text: `allowed: ${linesOf(rows, "allowed")}`,
      state: rows.find((row) => row.field === "electionState")?.allowed ?? observed,
    })),
    ...(divergence?.enabled ?? []).filter((name) => name !== step.action).slice(0, MOST_ENABLED).map((name): Branch => ({
      kind: "enabled", action: name, text: "enabled on the same input", state: "",
    })),
  ];
  const height = branches.length * ROW + 24;
  const middle = height / 2;
  return (
    <div class="scroll-x"><svg
      class="divergence-drawing" viewBox={`0 0 ${WIDTH} ${height}`} role="img" data-branches={branches.length}
      aria-label="The state before, the steps that the spec allows, and the observed one"
    >
      {branches.map((branch, at) => {
        const y = 12 + ROW / 2 + at * ROW;
        const bend = (RIGHT - LEFT) * 0.45;
        return (
          <g key={at} class={`branch is-${branch.kind}`} data-branch={branch.kind}>
            <path d={`M${LEFT + NODE} ${middle}C${LEFT + bend} ${middle} ${RIGHT - bend} ${y} ${RIGHT - NODE} ${y}`} />
            <text class="branch-action" x={RIGHT - NODE - 8} y={y - 7} text-anchor="end">{branch.action}</text>
            {branch.kind === "enabled" ? null : (
              <g class={`node phase-${phaseOf(branch.state)}`}>
                <circle cx={RIGHT} cy={y} r={NODE} />
                <text x={RIGHT} y={y + 4} text-anchor="middle">{branch.kind === "observed" ? "✖" : signOf(branch.state)}</text>
              </g>
            )}
            <text x={RIGHT + (branch.kind === "enabled" ? 2 : NODE + 10)} y={y + 4}>{shortened(branch.text, CHARACTERS)}<title>{branch.text}</title></text>
          </g>
        );
      })}
      <g class={`node phase-${phaseOf(before)}`}>
        <circle cx={LEFT} cy={middle} r={NODE} />
        <text x={LEFT} y={middle + 4} text-anchor="middle">{signOf(before)}</text>
      </g>
      <text x={LEFT} y={middle + NODE + 16} text-anchor="middle">{step.before ? labelOf(step.before) : "nothing recorded before"}</text>
    </svg></div>
  );
}

function linesOf(rows: readonly Difference[], side: "observed" | "allowed"): string {
  const parts = rows.slice(0, 2).map((row) => `${row.field} ${row[side]}`);
  return [...parts, ...(rows.length > 2 ? [`and ${rows.length - 2} more`] : [])].join(", ") || "the same fields";
}

function labelOf(state: { readonly [name: string]: Json } | null): string {
  return [field(state, "electionState"), field(state, "electionState") === "CLOSED" ? field(state, "role") : ""].filter(Boolean).join(" ");
}

function field(state: { readonly [name: string]: Json } | null, name: string): string {
  const value = state?.[name];
  return typeof value === "string" ? value : "";
}
