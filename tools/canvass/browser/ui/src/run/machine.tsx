// The picture of the election's state machine.

import { useMemo } from "preact/hooks";
import type { MemberAt } from "../api/types";
import { phaseOf, signOf } from "../words/election";
import { OVERVIEW } from "../words/overview";
import { BOX_HEIGHT, BOX_WIDTH, layoutOf, type Box, type Line, type Move } from "./machine_layout";

export function Machine(
  { members, move, action, all }: {
    members: readonly MemberAt[];
    move: Move | undefined;
    action: string;
    all: boolean;
  },
) {
  const layout = useMemo(() => layoutOf(OVERVIEW), []);
  const isMove = (line: Line): boolean =>
    move !== undefined && line.edge.source === move.source && line.edge.target === move.target;
  const known = new Set(OVERVIEW.states.map((state) => state.name));
  const away = (member: MemberAt): boolean => member.status !== "" || !known.has(member.electionState);
  const elsewhere = members.filter(away);
  return (
    <svg
      class="machine"
      viewBox={`0 0 ${layout.width} ${layout.height}`}
      role="img"
      aria-label="The election's state machine with the members"
    >
      <defs>
        <marker id="tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0 0.8L8 4L0 7.2Z" class="tip" />
        </marker>
        <marker id="tip-lit" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="4.5" markerHeight="4.5" orient="auto">
          <path d="M0 0.5L8 4L0 7.5Z" class="tip-lit" />
        </marker>
      </defs>
      {layout.lines.filter((line) => (all || line.edge.seeds) && !isMove(line)).map((line) => (
        <path
          key={`${line.edge.source} ${line.edge.target}`}
          class={line.edge.seeds ? "line" : "line further"}
          d={line.path}
          marker-end="url(#tip)"
        >
          <title>{`${line.edge.source} → ${line.edge.target}: ${line.edge.actions.join(", ")}`}</title>
        </path>
      ))}
      {layout.lines.filter(isMove).map((line) => (
        <path key="move" class="line lit" d={line.path} marker-end="url(#tip-lit)" data-move />
      ))}
      {layout.boxes.map((box) => (
        <StateBox
          key={box.state.name}
          box={box}
          members={members.filter((member) => member.electionState === box.state.name && !away(member))}
          moved={move?.target === box.state.name ? move.member : undefined}
        />
      ))}
      {layout.lines.filter(isMove).map((line) => <MoveLabel key="label" line={line} text={action} />)}
      {elsewhere.length > 0 ? (
        <g transform={`translate(${layout.width - BOX_WIDTH - 40} 24)`}>
          {elsewhere.map((member, at) => (
            <g key={member.member} transform={`translate(0 ${at * 26})`}>
              <Token member={member} x={12} y={0} moved={false} />
              <text class="soft-text" x={30} y={4}>{AWAY[member.status]}</text>
            </g>
          ))}
        </g>
      ) : null}
    </svg>
  );
}

function StateBox(
  { box, members, moved }: { box: Box; members: readonly MemberAt[]; moved: number | undefined },
) {
  const lit = members.length > 0;
  // Terms of leaders side by side alternate between two lines.
  const leading = members.filter((member) => member.leads !== null);
  return (
    <g
      class={`state phase-${phaseOf(box.state.name)}${lit ? " is-lit" : ""}`}
      transform={`translate(${box.x} ${box.y})`}
      data-state={box.state.name}
    >
      <rect width={BOX_WIDTH} height={BOX_HEIGHT} rx={6} />
      <text class="state-sign" x={10} y={BOX_HEIGHT / 2 + 4}>{signOf(box.state.name)}</text>
      <text class="state-name" x={34} y={BOX_HEIGHT / 2 + 4}>{box.state.name}</text>
      {members.map((member, at) => (
        <Token
          key={member.member}
          member={member}
          below={28 + 12 * (leading.indexOf(member) % 2)}
          x={BOX_WIDTH - 14 - (members.length - 1 - at) * 24}
          y={BOX_HEIGHT + 1}
          moved={member.member === moved}
        />
      ))}
    </g>
  );
}

const AWAY: { readonly [status: string]: string } = {
  "": "not started", DOWN: "down until its restart", ENDED: "no further events",
};

function Token(
  { member, x, y, moved, below = 28 }: { member: MemberAt; x: number; y: number; moved: boolean; below?: number },
) {
  return (
    <g class={`token${moved ? " is-moved" : ""}${member.status ? " is-down" : ""}${member.leads !== null ? " is-leading" : ""}`} transform={`translate(${x} ${y})`} data-member={member.member}>
      {member.leads !== null ? <circle class="token-ring" r={14.5} /> : null}
      <circle r={10.5} />
      {member.leads !== null ? <text class="token-term" y={below} text-anchor="middle">{`leads t${member.leads}`}</text> : null}
      {member.status === "DOWN" ? <path class="token-cross" d="M-9 -9L9 9M9 -9L-9 9" /> : null}
      <text y={4} text-anchor="middle">{member.member}</text>
      <title>{`member ${member.member}, ${member.role || "no role"}${member.leads !== null ? `, leads term ${member.leads}` : ""}${member.status ? `, ${AWAY[member.status]}` : ""}, step ${member.step}`}</title>
    </g>
  );
}

const CHARACTER = 6.7;

function MoveLabel({ line, text }: { line: Line; text: string }) {
  const width = text.length * CHARACTER + 14;
  const x = Math.max(width / 2 + 2, line.label.x);
  return (
    <g class="move-label" transform={`translate(${x} ${line.label.y})`}>
      <rect x={-width / 2} y={-10} width={width} height={20} rx={10} />
      <text y={4} text-anchor="middle">{text}</text>
    </g>
  );
}
