// The steps that leave a state.

import { useEffect, useRef } from "preact/hooks";
import type { OutEdge, StateView } from "../api/types";
import { givenLine } from "../words/tree";
import { counted, plural, shortened } from "../words/visible";
import type { GraphContext } from "./context";

/** The steps in the order of the list: those that lead to another state come first. */
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
  const moving = view.out.filter((edge) => edge.target !== view.id);
  const loops = view.out.filter((edge) => edge.target === view.id);
  const listed = (first: number, steps: readonly OutEdge[]) => steps.map((edge, place) => (
    <Step
      key={edge.edge}
      edge={edge}
      chosen={first + place === at}
      itself={edge.target === view.id}
      take={() => visit(edge.target, view.id)}
      choose={() => setAt(first + place)}
    />
  ));
  return (
    <section>
      <h3>{`Enabled steps (${view.outTotal.toLocaleString("en")})`}</h3>
      {view.out.length === 0 ? (
        <p class="soft">{view.expanded ? "None: the behaviour ends here." : "TLC did not go on from this state."}</p>
      ) : null}
      {Object.keys(view.enabled).length > 1 ? (
        <p class="enabled soft">{Object.entries(view.enabled).map(([name, count]) => `${name}${count > 1 ? ` ×${count}` : ""}`).join(", ")}</p>
      ) : null}
      {moving.length > 0 ? <ul class="steps" aria-label="Enabled steps">{listed(0, moving)}</ul> : null}
      {loops.length > 0 ? (
        <details class="loops" data-loops={loops.length} open={moving.length === 0 || at >= moving.length}>
          <summary class="soft">{`${plural(loops.length, "step changes", "steps change")} nothing: ${counted(loops.map((edge) => edge.action))}`}</summary>
          <ul class="steps" aria-label="Steps that change nothing">{listed(moving.length, loops)}</ul>
        </details>
      ) : null}
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
  // Only a key that chooses the step scrolls to it: on a phone, the list is below the view.
  const before = useRef(chosen);
  useEffect(() => {
    if (chosen && !before.current) place.current?.scrollIntoView({ block: "nearest" });
    before.current = chosen;
  }, [chosen]);
  const given = givenLine(edge.given);
  const sends = givenLine(edge.sends);
  const changes = edge.changes.map((change) => `${change.field}: ${change.before} → ${change.after}`);
  const changed = [...new Set(edge.changes.map((change) => change.field.split(/[.[]/, 1)[0] ?? ""))];
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
