// A page of runs as a table.

import type { ReportRuns } from "../api/types";
import { Empty } from "../parts/note";
import { Table } from "../parts/table";
import { formatRoute } from "../route/route";
import { VerdictWord } from "../run/verdict_badge";

export function RunsTable({ runs }: { runs: ReportRuns }) {
  if (runs.runs.length === 0) {
    return <Empty title="No run matches.">Choose another verdict above, or another text.</Empty>;
  }
  return (
    <Table class="events runs">
      <thead><tr><th>run</th><th>verdict</th><th class="number">events</th><th>reason</th><th>from</th></tr></thead>
      <tbody>
        {runs.runs.map((run) => (
          <tr key={`${run.source} ${run.runId}`}>
            <td>{run.run ? <a href={formatRoute(["run", run.run])}>{run.runId}</a> : run.runId}</td>
            <td><VerdictWord verdict={run.verdict} /></td>
            <td class="number">{run.events === null ? "" : run.events.toLocaleString("en")}</td>
            <td>{run.reason}</td>
            <td class="soft">{run.source}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}
