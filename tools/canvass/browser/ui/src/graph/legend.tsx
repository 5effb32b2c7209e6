// The meaning of signs and lines in a drawing.

/** Of a projection, `states` is false: a node has the states with one value. */
export function GraphLegend({ elections, states = true }: { elections: boolean; states?: boolean }) {
  return (
    <ul class="legend legend-row" aria-label="Legend">
      {states ? <li><span class="swatch root" /> this state</li> : null}
      <li><span class="swatch initial" /> {states ? "initial" : "has initial states"}</li>
      <li><span class="swatch terminal" /> {states ? "no step leads on" : "has states from which no step leads on"}</li>
      {elections ? (
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
