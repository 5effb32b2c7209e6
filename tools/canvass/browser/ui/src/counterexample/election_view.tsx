// The election's state machine with the members of a state of the counterexample.

import type { Json, MemberAt } from "../api/types";
import { Machine } from "../run/machine";
import { moveOf } from "../run/machine_layout";

type Tree = { readonly [name: string]: Json };

export function ElectionView(
  { tree, before, action }: { tree: Tree; before: Tree | undefined; action: string },
) {
  const now = membersOf(tree);
  const was = before && membersOf(before);
  const moved = now.find((one) => was?.find((other) => other.member === one.member)?.electionState !== one.electionState);
  return (
    <div class="overview">
      <Machine members={now} move={moveOf(was, now, moved?.member)} action={action} all={false} />
    </div>
  );
}

/** The members in a state of the cluster. */
export function membersOf(tree: Tree): readonly MemberAt[] {
  const members = tree["member"];
  if (members === null || typeof members !== "object" || Array.isArray(members)) return [];
  return Object.entries(members as Tree).map(([name, value]) => {
    const fields = (value !== null && typeof value === "object" && !Array.isArray(value) ? value : {}) as Tree;
    const electionState = String(fields["electionState"] ?? "");
    const role = String(fields["role"] ?? "");
    const term = fields["moduleLeadershipTermId"];
    const stopped = fields["moduleState"] === "CLOSED";
    const leads = !stopped && electionState === "CLOSED" && role === "LEADER" && typeof term === "number";
    return {
      member: Number(name), electionState, role, step: 0,
      status: stopped ? "ENDED" : "", leads: leads ? (term as number) : null,
    };
  });
}
