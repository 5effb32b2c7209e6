// A divergence, drawn: the state before, the steps that the spec allows there, and the observed step as
// a red stub. A step that no graph has is drawn in the same way, without alternatives.

import { useRef } from "preact/hooks";
import type { Difference, FirstDivergence, Json, StepView } from "../api/types";
import { useSize } from "../parts/use_size";
import { phaseOf, signOf } from "../words/election";
import { shortened } from "../words/visible";

const NODE = 17;
const CHARACTER = 7.1;

/** In a narrow window, the words stand in lines right of the nodes. */
const SIZES = {
  wide: { left: 120, right: 470, width: 860, row: 58, lines: 1 },
  narrow: { left: 26, right: 112, width: 362, row: 84, lines: 3 },
};
const NARROW = 600;
const MOST_ENABLED = 5;

interface Branch {
  readonly kind: "allowed" | "observed" | "enabled";
  readonly action: string;
  readonly text: string;
  readonly state: string;
}

export function DivergenceDrawing({ step, divergence }: { step: StepView; divergence: FirstDivergence | null }) {
  const observed = field(step.after, "electionState");
  const before = field(step.before, "electionState");
  const expected = divergence?.expected ?? [];
  const branches: Branch[] = [
    {
      kind: divergence ? "observed" : "allowed",
      action: step.action,
      text: divergence ? `observed: ${observedOf(divergence)}` : labelOf(step.after),
      state: observed,
    },
    ...(expected.length > 0 ? [{
      kind: "allowed" as const,
      action: step.action,
      text: `allowed: ${linesOf(expected, "allowed")}`,
      state: expected.find((row) => row.field === "electionState")?.allowed ?? observed,
    }] : []),
    ...(divergence?.enabled ?? []).filter((name) => name !== step.action).slice(0, MOST_ENABLED).map((name): Branch => ({
      kind: "enabled", action: name, text: "enabled on the same input", state: "",
    })),
  ];
  const holder = useRef<HTMLDivElement>(null);
  const narrow = useSize(holder).width < NARROW;
  const size = SIZES[narrow ? "narrow" : "wide"];
  const height = branches.length * size.row + (narrow ? 44 : 24);
  const middle = height / 2;
  return (
    <div class="scroll-x" ref={holder}><svg
      class="divergence-drawing" viewBox={`0 0 ${size.width} ${height}`} role="img" data-branches={branches.length}
      aria-label="The state before, the steps that the spec allows, and the observed one"
    >
      {branches.map((branch, at) => {
        const y = 12 + size.row / 2 + at * size.row;
        const bend = (size.right - size.left) * 0.45;
        const beside = size.right + (branch.kind === "enabled" && !narrow ? 2 : NODE + 10);
        const lines = wrapped(branch.text, Math.floor((size.width - beside) / CHARACTER), size.lines);
        return (
          <g key={at} class={`branch is-${branch.kind}`} data-branch={branch.kind}>
            <path d={`M${size.left + NODE} ${middle}C${size.left + bend} ${middle} ${size.right - bend} ${y} ${size.right - NODE} ${y}`} />
            <text
              class="branch-action" text-anchor={narrow ? "start" : "end"}
              x={narrow ? beside : size.right - NODE - 8} y={narrow ? y - 12 : y - 7}
            >{branch.action}</text>
            {branch.kind === "enabled" ? null : (
              <g class={`node phase-${phaseOf(branch.state)}`}>
                <circle cx={size.right} cy={y} r={NODE} />
                <text x={size.right} y={y + 4} text-anchor="middle">{branch.kind === "observed" ? "✖" : signOf(branch.state)}</text>
              </g>
            )}
            {lines.map((line, row) => (
              <text key={row} x={beside} y={y + 4 + row * 15}>{line}<title>{branch.text}</title></text>
            ))}
          </g>
        );
      })}
      <g class={`node phase-${phaseOf(before)}`}>
        <circle cx={size.left} cy={middle} r={NODE} />
        <text x={size.left} y={middle + 4} text-anchor="middle">{signOf(before)}</text>
      </g>
      <text
        text-anchor={narrow ? "start" : "middle"}
        x={narrow ? size.left - NODE : size.left} y={narrow ? height - 8 : middle + NODE + 16}
      >{step.before ? `${narrow ? "before: " : ""}${labelOf(step.before)}` : "nothing recorded before"}</text>
    </svg></div>
  );
}

/** A text in lines of whole words; the last line has the rest. */
function wrapped(text: string, characters: number, most: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && (last.length + 1 + word.length <= characters || lines.length === most)) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else lines.push(word);
  }
  return lines.map((line) => shortened(line, characters));
}

function observedOf({ expected, changed }: FirstDivergence): string {
  const rows = expected.length > 0 ? expected : changed;
  return rows.length > 0 ? linesOf(rows, "observed") : "no change";
}

function linesOf(rows: readonly Difference[], side: "observed" | "allowed"): string {
  const parts = rows.slice(0, 2).map((row) => `${row.field} ${row[side]}`);
  return [...parts, ...(rows.length > 2 ? [`and ${rows.length - 2} more`] : [])].join(", ");
}

function labelOf(state: { readonly [name: string]: Json } | null): string {
  return [field(state, "electionState"), field(state, "electionState") === "CLOSED" ? field(state, "role") : ""].filter(Boolean).join(" ");
}

function field(state: { readonly [name: string]: Json } | null, name: string): string {
  const value = state?.[name];
  return typeof value === "string" ? value : "";
}
