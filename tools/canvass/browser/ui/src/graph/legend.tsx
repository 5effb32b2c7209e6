// The meaning of signs and lines in a drawing.

export function GraphLegend({ elections }: { elections: boolean }) {
  return (
    <ul class="legend legend-row" aria-label="Legend">
      <li><span class="swatch root" /> this state</li>
      <li><span class="swatch initial" /> initial</li>
      {elections ? (
        <>
          <li><span class="swatch phase-start">Ca</span> start</li>
          <li><span class="swatch phase-candidate">CB</span> candidate</li>
          <li><span class="swatch phase-leader">LR</span> leader</li>
          <li><span class="swatch phase-follower">FR</span> follower</li>
        </>
      ) : null}
      <li>↻ steps to itself</li>
      <li>+ steps not drawn</li>
    </ul>
  );
}
