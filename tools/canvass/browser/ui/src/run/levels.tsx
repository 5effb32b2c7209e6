// The logs of the members after a step that violates a safety property.

import { apiPath } from "../api/client";
import type { Divergence, MemberAt, MembersAt, StepView } from "../api/types";
import { useQuery } from "../api/use_query";
import { Table } from "../parts/table";

/** The members after a step: the ends and terms of their logs, and their commit positions. */
export function Levels({ run, at, show }: { run: string; at: Divergence; show: (at: number) => void }) {
  const step = useQuery<StepView>(apiPath(["run", run, "step", `${at.member}`, `${at.step}`]));
  const number = step.data?.eventNumber;
  const found = useQuery<MembersAt>(number === undefined ? null : apiPath(["run", run, "members"], { at: number }));
  return (
    <section data-levels>
      <h3>The members at this step</h3>
      <div class="scroll-x">
        <Table class="compare">
          <thead>
            <tr>
              <th scope="col">member</th><th scope="col">state</th><th scope="col">log ends at</th>
              <th scope="col">terms of the log</th><th scope="col">commit position</th><th scope="col">last event</th>
            </tr>
          </thead>
          <tbody>
            {found.data?.members.filter((one) => one.step >= 0).map((one) => (
              <Level key={one.member} run={run} member={one} differs={one.member === at.member} show={show} />
            ))}
          </tbody>
        </Table>
      </div>
    </section>
  );
}

function Level(
  { run, member, differs, show }: { run: string; member: MemberAt; differs: boolean; show: (at: number) => void },
) {
  const step = useQuery<StepView>(apiPath(["run", run, "step", `${member.member}`, `${member.step}`]));
  if (!step.data) return null;
  const { recordedPosition, commitPosition, recordingLog } = step.data.after as unknown as Disk;
  const terms = recordingLog.map((one) => `${one.leadershipTermId} from ${one.termBaseLogPosition}`);
  const event = step.data.eventNumber;
  const state = member.status === "DOWN" ? "down" : member.status ? "no further events"
    : member.leads === null ? `${member.electionState} ${member.role}` : `leads term ${member.leads}`;
  return (
    <tr data-level={member.member} class={differs ? "differs" : ""}>
      <th scope="row">{member.member}</th>
      <td>{state}</td>
      <td class="observed">{recordedPosition}</td>
      <td>{terms.join(", ") || "none"}</td>
      <td class="observed">{commitPosition}</td>
      <td><button type="button" class="inline" onClick={() => show(event)}>{event + 1}</button></td>
    </tr>
  );
}

/** What the state of a member says about its log. */
interface Disk {
  readonly recordedPosition: number;
  readonly commitPosition: number;
  readonly recordingLog: readonly { readonly leadershipTermId: number; readonly termBaseLogPosition: number }[];
}
