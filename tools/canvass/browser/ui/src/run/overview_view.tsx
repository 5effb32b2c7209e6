// The election's state machine, lit where the members are.

import { useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { MembersAt, RunView } from "../api/types";
import { useQuery } from "../api/use_query";
import { useKeys } from "../keys/keys";
import { OVERVIEW } from "../words/overview";
import { plural } from "../words/visible";
import { useEventAt } from "./event_at";
import { Machine } from "./machine";
import { moveOf } from "./machine_layout";

export function OverviewView({ run, at }: { run: RunView; at: number }) {
  const [all, setAll] = useState(false);
  const now = useQuery<MembersAt>(apiPath(["run", run.id, "members"], { at }));
  const before = useQuery<MembersAt>(at > 0 ? apiPath(["run", run.id, "members"], { at: at - 1 }) : null);
  const { event } = useEventAt(run.id, at);
  useKeys("Election", [
    { keys: ["e"], does: "also errors and restarts, or not", run: () => setAll((was) => !was) },
  ]);

  const further = OVERVIEW.edges.filter((edge) => !edge.seeds).length;
  const member = event ? Number(event.reference.split(":")[0]) : undefined;
  return (
    <div class="overview">
      <Machine
        members={now.data?.members ?? []}
        move={now.loading || before.loading ? undefined : moveOf(before.data?.members, now.data?.members, member)}
        action={event?.title ?? ""}
        all={all}
      />
      <div class="legend-row">
        <Legend />
        <button type="button" class="quiet" aria-pressed={all} onClick={() => setAll(!all)}>
          {all ? "Hide" : "Show"} {plural(further, "further change")} <kbd>e</kbd>
        </button>
      </div>
      <MemberList now={now.data} />
    </div>
  );
}

function Legend() {
  return (
    <ul class="legend" aria-label="Legend">
      <li><span class="swatch phase-start">Ca</span> start</li>
      <li><span class="swatch phase-candidate">CB</span> candidate</li>
      <li><span class="swatch phase-leader">LR</span> leader</li>
      <li><span class="swatch phase-follower">FR</span> follower</li>
      <li><span class="swatch token">0</span> a member is here</li>
      <li><span class="swatch token is-leading">0</span> it leads</li>
      <li><span class="swatch token is-down">0</span> it is down</li>
    </ul>
  );
}

/** The same as the picture, for those who have it read out. */
function MemberList({ now }: { now: MembersAt | undefined }) {
  return (
    <ul class="hidden members-at" aria-live="polite" data-members>
      {(now?.members ?? []).map((member) => (
        <li key={member.member}>
          {`member ${member.member}: ${member.electionState || "not started"}, ${member.role || "no role"}${member.leads !== null ? `, leads term ${member.leads}` : ""}${member.status ? `, ${member.status.toLowerCase()}` : ""}`}
        </li>
      ))}
    </ul>
  );
}
