// The steps that can be taken from a state.

import { useEffect, useRef } from "preact/hooks";
import type { OutEdge, StateView } from "../api/types";
import { givenLine } from "../words/tree";
import { shortened } from "../words/visible";
import type { GraphContext } from "./graph_page";

/** The steps in the order in which they are listed: those that lead elsewhere first. */
export function orderedSteps(view: StateView): readonly OutEdge[] {
  return [
    ...view.out.filter((edge) => edge.target !== view.id),
    ...view.out.filter((edge) => edge.target === view.id),
  ];
}

export function StepList(
  { view, at, setAt, visit }: {
    view: StateView;
    at: number;
    setAt: (at: number) => void;
    visit: GraphContext["visit"];
  },
) {
  const steps = orderedSteps(view);
  const loops = steps.filter((edge) => edge.target === view.id).length;
  return (
    <section>
      <h3>{`Enabled steps (${view.outTotal.toLocaleString("en")})`}</h3>
      {view.out.length === 0 ? (
        <p class="soft">{view.expanded ? "None: nothing can happen here." : "TLC did not go on from this state."}</p>
      ) : null}
      {view.enabled.length > 1 ? (
        <p class="enabled soft">{view.enabled.map((one) => `${one.name}${one.count > 1 ? ` ×${one.count}` : ""}`).join(", ")}</p>
      ) : null}
      <ul class="steps" aria-label="Enabled steps">
        {steps.map((edge, place) => (
          <Step
            key={edge.edge}
            edge={edge}
            chosen={place === at}
            itself={edge.target === view.id}
            take={() => visit(edge.target, view.id)}
            choose={() => setAt(place)}
          />
        ))}
      </ul>
      {loops > 0 ? <p class="soft">{`${loops} of these lead back to this state; they come last.`}</p> : null}
      {view.outTotal > view.out.length
        ? <p class="soft">{`${(view.outTotal - view.out.length).toLocaleString("en")} left out`}</p> : null}
    </section>
  );
}

function Step(
  { edge, chosen, itself, take, choose }: {
    edge: OutEdge;
    chosen: boolean;
    itself: boolean;
    take: () => void;
    choose: () => void;
  },
) {
  const place = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (chosen) place.current?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  const given = givenLine(edge.given);
  const sends = givenLine(edge.sends);
  const changes = edge.changes.map((change) => `${change.path}: ${change.before} → ${change.after}`);
  const changed = [...new Set(edge.changes.map((change) => change.path.split(/[.[]/, 1)[0] ?? ""))];
  return (
    <li ref={place} class={chosen ? "is-chosen" : ""}>
      <button type="button" class="state-link" data-edge={edge.edge} data-target={edge.target} onClick={take} onFocus={choose} title={changes.join("\n")}>
        <span class="step-name">{edge.words}</span>{" "}
        <span class="soft">→</span> {itself ? "itself" : edge.targetLabel}
        {given && given !== "empty" ? <span class="step-detail">{`given ${shortened(given, 140)}`}</span> : null}
        {sends && sends !== "none" && sends !== "empty" ? <span class="step-detail">{`sends ${shortened(sends, 140)}`}</span> : null}
        {changed.length > 0 ? <span class="step-detail">{`changes ${shortened(changed.join(", "), 120)}`}</span> : null}
      </button>
    </li>
  );
}
