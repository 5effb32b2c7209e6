// The states of a counterexample, each with the changes of its step.

import { useEffect, useRef } from "preact/hooks";
import type { CounterexampleState, CounterexampleView } from "../api/types";
import { plural } from "../words/visible";
import { Table } from "../parts/table";

export function StatesList(
  { found, at, choose }: { found: CounterexampleView; at: number; choose: (place: number) => void },
) {
  const acting = found.states.some((state) => state.acting !== "");
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="States">
      <Table class="events">
        <thead><tr><th class="number">state</th><th>action</th>{acting ? <th>who</th> : null}<th>changes</th></tr></thead>
        <tbody>
          {found.states.map((state, place) => (
            <Row key={state.number} state={state} acting={acting} chosen={place === at} loop={state.number === found.loop} choose={() => choose(place)} />
          ))}
        </tbody>
      </Table>
      {found.statesTotal > found.states.length
        ? <p class="note">{`${plural(found.statesTotal - found.states.length, "state")} left out`}</p> : null}
    </div>
  );
}

/** The action that led to a state; the first state has none. */
export function titleOf(state: CounterexampleState): string {
  return state.action || (state.number === 1 ? "initial state" : "");
}

function Row(
  { state, acting, chosen, loop, choose }: {
    state: CounterexampleState;
    acting: boolean;
    chosen: boolean;
    loop: boolean;
    choose: () => void;
  },
) {
  const place = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (chosen) place.current?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <tr ref={place} class={chosen ? "is-chosen" : ""} data-state-number={state.number}>
      <td class="number"><button type="button" class="inline" aria-current={chosen} onClick={choose}>{state.number}</button></td>
      <td>{titleOf(state)}{loop ? <span class="tag">comes back here</span> : null}</td>
      {acting ? <td>{state.acting}</td> : null}
      <td>
        {state.number === 1 ? null : state.changes.length === 0 ? <span class="soft">nothing</span> : (
          <ul class="changes">
            {state.changes.map((change) => (
              <li key={change.field}><code>{change.field}</code>: {change.before} → {change.after}</li>
            ))}
          </ul>
        )}
      </td>
    </tr>
  );
}
