// The current state: its fields, its differences from another state, and its steps.

import { useLayoutEffect, useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { StateView } from "../api/types";
import { useQuery, type Answer } from "../api/use_query";
import { useKeys } from "../keys/keys";
import { CopyButton } from "../parts/copied";
import { Awaited } from "../parts/note";
import { StateTree } from "../parts/state_tree";
import { linkTo } from "../route/route";
import { whatIfAt } from "../what_if/what_if_page";
import type { GraphContext } from "./context";
import { orderedSteps, StepList } from "./step_list";

export function StatePane({ context, answer }: { context: GraphContext; answer: Answer<StateView> }) {
  return (
    <aside class="inspector" aria-label="The state">
      <Awaited answer={answer} what="the state">
        {(view) => <Inspected context={context} view={view} late={answer.loading} />}
      </Awaited>
    </aside>
  );
}

/** `late`: another state is requested, and this one is still shown; its steps are disabled. */
function Inspected(
  { context, view, late }: { context: GraphContext; view: StateView; late: boolean },
) {
  const { graph, query, change, visit } = context;
  const [onlyDifferent, setOnlyDifferent] = useState(false);
  const [at, setAt] = useState(0);
  useLayoutEffect(() => setAt(0), [view.id]);
  // The pinned state, else the previous state; without either, the state is compared with none.
  const base = query.pin ?? query.from;
  const other = useQuery<StateView>(
    base !== undefined && base !== view.id ? apiPath(["graph", graph.id, "state", base]) : null,
  );
  const pinned = query.pin === view.id;
  const isCluster = ["member", "channel", "log"].every((name) => graph.fields.includes(name));
  const step = (): void => {
    const chosen = orderedSteps(view)[at];
    if (chosen && !late) visit(chosen.target, view.id);
  };
  const back = (): void => {
    const source = query.from ?? view.in.find((edge) => edge.source !== view.id)?.source;
    if (source !== undefined && !late) visit(source);
  };
  const pin = (): void => change({ pin: pinned ? undefined : view.id });
  useKeys("The state", [
    { keys: ["j"], does: "choose the next step", run: () => setAt((one) => Math.min(view.out.length - 1, one + 1)) },
    { keys: ["k"], does: "choose the previous step", run: () => setAt((one) => Math.max(0, one - 1)) },
    { keys: ["l"], does: "take the chosen step", run: step },
    { keys: ["h"], does: "back to a state that leads here", run: back },
    { keys: ["p"], does: "pin this state: others are compared with it", run: pin },
    { keys: ["d"], does: "only what differs, or all", run: () => setOnlyDifferent((was) => !was) },
    { keys: ["s"], does: "shortest path to this state", run: () => change({ view: "path", to: undefined }, false) },
  ]);

  return (
    <div data-state-shown={view.id}>
      <header class="inspector-head">
        <div class="section-line">
        <p class="soft">
          <code title={view.id}>{view.id.slice(0, 16)}</code>
          {view.initial ? <span class="tag">initial</span> : null}
          {graph.violating.includes(view.id) ? <span class="tag is-bad">violates</span> : null}
          {view.expanded ? null : <span class="tag" title="TLC did not go on from here">not expanded</span>}
        </p>
          <CopyButton text={linkTo(["graph", graph.id, "state", view.id])} title="Copy the link" />
        </div>
        <h2>{view.label}</h2>
        <div class="row">
          <button type="button" onClick={back} disabled={query.from === undefined && view.in.length === 0}>◀ Back <kbd>h</kbd></button>
          <button type="button" onClick={step} disabled={view.out.length === 0}>Step ▶ <kbd>l</kbd></button>
          <button type="button" aria-pressed={pinned} onClick={pin}>{pinned ? "Pinned" : "Pin"} <kbd>p</kbd></button>
          {isCluster ? <a href={whatIfAt("graph", graph.id, view.id)}>Beyond the graph</a> : null}
          {query.pin !== undefined && !pinned ? <button type="button" class="quiet" onClick={() => change({ pin: undefined })}>unpin</button> : null}
        </div>
      </header>
      <StepList view={view} at={at} setAt={setAt} visit={visit} />
      <section>
        <div class="section-line">
          <h3>State</h3>
          {other.data ? (
            <label class="check">
              <input type="checkbox" checked={onlyDifferent} onChange={(event) => setOnlyDifferent(event.currentTarget.checked)} />
              only differences
            </label>
          ) : null}
        </div>
        {other.data ? (
          <p class="soft">
            {"compared with "}
            <button type="button" class="inline" onClick={() => visit(other.data?.id ?? view.id)}>{other.data.label}</button>
            {query.pin !== undefined ? " (pinned)" : " (the state before)"}
          </p>
        ) : null}
        <StateTree tree={view.tree} base={other.data?.tree} onlyDifferent={onlyDifferent && other.data !== undefined} />
      </section>
      <section>
        <h3>{`Steps that lead here (${view.inTotal.toLocaleString("en")})`}</h3>
        {view.in.length === 0 ? <p class="soft">{view.initial ? "None: the graph begins here." : "None."}</p> : null}
        <ul class="steps">
          {view.in.map((edge) => (
            <li key={edge.edge}>
              <button type="button" class="state-link" onClick={() => visit(edge.source)}>
                <span class="step-name">{edge.words}</span> <span class="soft">from</span> {edge.source === view.id ? "itself" : edge.sourceLabel}
              </button>
            </li>
          ))}
        </ul>
        {view.inTotal > view.in.length ? <p class="soft">{`${(view.inTotal - view.in.length).toLocaleString("en")} left out`}</p> : null}
      </section>
    </div>
  );
}
