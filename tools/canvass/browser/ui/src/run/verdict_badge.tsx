// The verdict as one word with a sign.

import type { RunView } from "../api/types";

const SIGN: { readonly [verdict: string]: string } = {
  CONFORMS: "✓", DIVERGES: "✖", INCOMPLETE: "…", MALFORMED: "!",
};

export function VerdictWord({ verdict }: { verdict: string }) {
  return (
    <span class={`verdict is-${verdict.toLowerCase()}`}>
      <span aria-hidden="true">{SIGN[verdict] ?? "·"}</span> {verdict}
    </span>
  );
}

export function VerdictBadge({ run }: { run: RunView }) {
  if (run.checking) return <span class="verdict is-open" role="status">being checked …</span>;
  if (run.verdict === null) return <span class="verdict is-open" title={run.note}>not checked</span>;
  return <VerdictWord verdict={run.verdict} />;
}
