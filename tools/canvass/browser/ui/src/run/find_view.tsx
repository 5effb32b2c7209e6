// The events of a run for which a predicate holds, and ready questions.

import { apiPath } from "../api/client";
import type { RunFound, RunView } from "../api/types";
import { settled, useQuery } from "../api/use_query";
import { Expression, VALUES } from "../graph/find_view";
import { plural } from "../words/visible";
import { Table } from "../parts/table";

const SHOWN = 200;

/** Questions of an on-call engineer, in words and as a predicate. */
const QUESTIONS: readonly (readonly [string, string])[] = [
  ["two leaders", "leaders >= 2"],
  ["no leader", "leaders = 0"],
  ["split vote", "candidates >= 2"],
  ["who leads", 'role = "LEADER" and electionState = "CLOSED"'],
  ["who is a candidate", 'electionState = "CANDIDATE_BALLOT"'],
  ["who waits for a leader", 'electionState in {"CANVASS", "NOMINATE", "FOLLOWER_BALLOT"}'],
  ["who catches up", 'electionState in {"FOLLOWER_CATCHUP_INIT", "FOLLOWER_CATCHUP_AWAIT", "FOLLOWER_CATCHUP", "FOLLOWER_LOG_REPLICATION"}'],
  ["restarts", 'action = "Restart"'],
  ["errors", 'action = "ElectionError"'],
  ["votes", 'action = "OnVote" or action = "OnRequestVote"'],
];

export function RunFindView(
  { run, where, pin, setPin, ask, show }: {
    run: RunView;
    where: string;
    /** The condition under the timeline; empty if there is none. */
    pin: string;
    setPin: (condition: string) => void;
    ask: (where: string) => void;
    show: (at: number) => void;
  },
) {
  const found = settled(useQuery<RunFound>(apiPath(["run", run.id, "find"], { where, limit: SHOWN })));
  const data = found.data;
  return (
    <div class="find">
      <ul class="words questions" aria-label="Ready questions">
        {QUESTIONS.map(([name, text]) => (
          <li key={name}><button type="button" class="chip" title={text} aria-pressed={where === text} onClick={() => ask(text)}>{name}</button></li>
        ))}
      </ul>
      <Expression
        label="Events after which"
        value={where}
        fields={data?.fields ?? []}
        values={{ ...VALUES, action: data?.actions ?? [] }}
        error={found.error}
        placeholder='role = "LEADER" and electionState = "CLOSED"'
        submit={ask}
      />
      <div class="scroll">
        {where === "" ? <p class="note">Write a condition on the member’s state after a step, in the language of state graphs. Consecutive steps for which it holds are one line. The fields leaders and candidates count members of the whole cluster.</p>
          : data ? <Answer found={data} pinned={pin === where} setPinned={(pinned) => setPin(pinned ? where : "")} show={show} /> : found.loading ? <p class="waiting" role="status">Looking through the events …</p> : null}
      </div>
    </div>
  );
}

/** How often a condition holds. */
export function countOf(found: RunFound): string {
  if (found.count === 0) return "No event.";
  const left = found.count > found.shown.length ? `; the first ${found.shown.length.toLocaleString("en")} are shown` : "";
  return `${plural(found.count, "time")}, ${plural(found.events, "event")}${left}`;
}

function Answer(
  { found, pinned, setPinned, show }: {
    found: RunFound;
    pinned: boolean;
    setPinned: (pinned: boolean) => void;
    show: (at: number) => void;
  },
) {
  return (
    <>
      <p class="note">
        <span role="status">{countOf(found)}</span>{" · "}
        <button type="button" class="inline" onClick={() => setPinned(!pinned)}>{pinned ? "Unpin" : "Pin under the timeline"}</button>
      </p>
      {found.hints.map((hint) => <p key={hint} class="note">{hint}</p>)}
      {found.shown.length > 0 ? (
        <Table class="events found">
          <thead>
            <tr><th class="number">event</th><th class="number">member</th><th>since</th><th>for</th><th class="number">events</th><th>begins with</th><th>state</th></tr>
          </thead>
          <tbody>
            {found.shown.map((one) => (
              <tr key={one.event} data-found={one.event}>
                <td class="number"><button type="button" class="inline" onClick={() => show(one.event)}>{(one.event + 1).toLocaleString("en")}</button></td>
                <td class="number">{one.member}</td>
                <td>{one.time}</td>
                <td><button type="button" class="inline" title="to the last event for which it holds" onClick={() => show(one.lastEvent)}>{one.lasted}</button></td>
                <td class="number">{one.events.toLocaleString("en")}</td>
                <td>{one.action}</td>
                <td>{one.label}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      ) : null}
    </>
  );
}
