// The number of runs for each verdict; each leads to the list of these runs.

import { VerdictWord } from "../run/verdict_badge";

export function VerdictCounts(
  { counts, choose }: {
    counts: { readonly [verdict: string]: number };
    choose: (verdict: string) => void;
  },
) {
  return (
    <div class="counts" aria-label="Runs by verdict">
      {Object.entries(counts).map(([name, count]) => (
        <button key={name} type="button" class="count" data-verdict={name} onClick={() => choose(name)}>
          <strong>{count.toLocaleString("en")}</strong> <VerdictWord verdict={name} />
        </button>
      ))}
    </div>
  );
}
