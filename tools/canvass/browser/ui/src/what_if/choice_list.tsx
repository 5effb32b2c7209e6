// The steps that may come next, by member; faults and operations of each member are folded.

import type { StepChoice } from "../api/types";
import { plural } from "../words/visible";
import { givenOf } from "./tried";

const UNUSUAL: ReadonlySet<string> = new Set([
  "lost", "ElectionError", "Restart", "EnterElection", "TakeSnapshot", "InitiateTermination", "Terminate",
]);

export function ChoiceList(
  { choices, members, waiting, take }: {
    choices: readonly StepChoice[];
    /** A word on the state of each member. */
    members: readonly string[];
    waiting: boolean;
    take: (name: string) => void;
  },
) {
  return (
    <section data-choices={choices.length}>
      <h3>What may come next</h3>
      {members.map((state, member) => {
        const own = choices.filter((one) => one.member === member);
        const usual = own.filter((one) => !UNUSUAL.has(one.action));
        const unusual = own.filter((one) => UNUSUAL.has(one.action));
        const listed = (some: readonly StepChoice[]) => (
          <ul class="steps">
            {some.map((one) => (
              <li key={one.name}>
                <button type="button" class="state-link choice-step" data-choice={one.name} disabled={waiting} onClick={() => take(one.name)}>
                  <span class="step-name">{one.words.replace(/^\d+ /, "")}</span>
                  {givenOf(one.name) ? <span class="soft">{` · ${givenOf(one.name)}`}</span> : null}
                  {one.changes.map((change) => <span class="step-detail" key={change}>{change}</span>)}
                </button>
              </li>
            ))}
          </ul>
        );
        return (
          <div key={member} data-member={member}>
            <h4>{`Member ${member} · ${state}`}</h4>
            {usual.length > 0 ? listed(usual) : <p class="soft">Nothing but what is folded below.</p>}
            {unusual.length > 0 ? (
              <details class="loops" open={usual.length === 0 && own.length === 1}>
                <summary class="soft">{plural(unusual.length, "fault or operation", "faults and operations")}</summary>
                {listed(unusual)}
              </details>
            ) : null}
          </div>
        );
      })}
    </section>
  );
}
