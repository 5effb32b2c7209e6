// The meaning of signs and lines in a drawing.

import type { GraphInfo } from "../api/types";
import { shortened } from "../words/visible";

/**
 * Of a projection, `states` is false: a node has the states with one value. `values` are those of the
 * field that colours the nodes.
 */
export function GraphLegend(
  { elections, violated, states = true, values = [] }: {
    elections: boolean;
    /** The property that some states violate. */
    violated?: string | undefined;
    states?: boolean;
    values?: readonly string[];
  },
) {
  return (
    <ul class="legend legend-row" aria-label="Legend">
      {states ? <li><span class="swatch root" /> this state</li> : null}
      <li><span class="swatch initial" /> {states ? "initial" : "has initial states"}</li>
      <li><span class="swatch terminal" /> {states ? "no step leads on" : "has states from which no step leads on"}</li>
      {violated === undefined ? null : <li><span class="swatch violating" /> {states ? "" : "has states that violate "}{violated}{states ? " is violated" : ""}</li>}
      {values.length > 0
        ? values.map((value, at) => <li key={value}><span class={`swatch phase-${at}`} /> {shortened(value.replace(/^"([^"]*)"$/, "$1"), 24)}</li>)
        : elections ? (
          <>
            <li><span class="swatch phase-start">Ca</span> start</li>
            <li><span class="swatch phase-candidate">CB</span> candidate</li>
            <li><span class="swatch phase-leader">LR</span> leader</li>
            <li><span class="swatch phase-follower">FR</span> follower</li>
          </>
        ) : null}
      <li>↻ steps to itself</li>
      {states ? <li>+ steps not drawn</li> : null}
    </ul>
  );
}

/** The property that TLC found violated in a graph, if it names the states. */
export function violatedIn({ violating, detail }: GraphInfo): string | undefined {
  return violating.length > 0 ? detail["violated"] ?? "a property" : undefined;
}
