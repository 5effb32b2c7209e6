// The runs of a report, page by page.

import type { ReportRuns } from "../api/types";
import { Empty } from "../parts/note";
import { formatRoute } from "../route/route";
import { VerdictWord } from "../run/verdict_badge";
import { plural } from "../words/visible";

export function RunsTable(
  { runs, verdict, change }: {
    runs: ReportRuns;
    verdict: string;
    change: (by: { verdict?: string; page?: number }) => void;
  },
) {
  return (
    <>
      <div class="toolbar">
        <span role="status">
          {verdict ? <>{plural(runs.total, "run")} with the verdict <VerdictWord verdict={verdict} /></> : plural(runs.total, "run")}
        </span>
        {verdict ? <button type="button" onClick={() => change({ verdict: "", page: 0 })}>all verdicts</button> : null}
        {runs.pages > 1 ? (
          <span class="stepper">
            <button type="button" disabled={runs.page <= 0} onClick={() => change({ page: runs.page - 1 })} aria-label="Page before">◀</button>
            <span>{`page ${runs.page + 1} of ${runs.pages}`}</span>
            <button type="button" disabled={runs.page >= runs.pages - 1} onClick={() => change({ page: runs.page + 1 })} aria-label="Next page">▶</button>
          </span>
        ) : null}
      </div>
      {runs.runs.length === 0 ? <Empty title="No run has this verdict.">Choose another one above.</Empty> : (
        <table class="events">
          <thead><tr><th>run</th><th>verdict</th><th class="number">events</th><th>reason</th><th>from</th></tr></thead>
          <tbody>
            {runs.runs.map((run) => (
              <tr key={`${run.source} ${run.runId}`}>
                <td>{run.run ? <a href={formatRoute(["run", run.run])}>{run.runId}</a> : run.runId}</td>
                <td><VerdictWord verdict={run.verdict} /></td>
                <td class="number">{run.events.toLocaleString("en")}</td>
                <td>{run.reason}</td>
                <td class="soft">{run.source}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
