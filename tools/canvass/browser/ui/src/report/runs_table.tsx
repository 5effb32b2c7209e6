// A page of runs as a table. If all runs are on it, a click on a head sorts them.

import { useState } from "preact/hooks";
import type { ReportRun, ReportRuns } from "../api/types";
import { Empty } from "../parts/note";
import { Table } from "../parts/table";
import { formatRoute } from "../route/route";
import { VerdictWord } from "../run/verdict_badge";

interface Column {
  readonly head: string;
  readonly value: (run: ReportRun) => string | number | null;
}

const number = (value: number | null): string => (value === null ? "" : value.toLocaleString("en"));
const COLUMNS: readonly Column[] = [
  { head: "run", value: (run) => run.runId },
  { head: "verdict", value: (run) => run.verdict },
  { head: "members", value: (run) => run.members },
  { head: "events", value: (run) => run.events },
  { head: "elections", value: (run) => run.elections },
  { head: "without a leader", value: (run) => run.withoutLeaderMs },
  { head: "reason", value: (run) => run.reason },
  { head: "from", value: (run) => run.source },
];
const NUMBERS = ["members", "events", "elections", "without a leader"];
/** Runs of a report do not have these. */
const OF_CORPUS = ["members", "elections", "without a leader"];

export function RunsTable({ runs }: { runs: ReportRuns }) {
  const [sorted, setSorted] = useState<{ head: string; down: boolean }>();
  if (runs.runs.length === 0) {
    return <Empty title="No run matches.">Choose another verdict above, or another text.</Empty>;
  }
  const known = runs.runs.some((run) => run.members !== null);
  const columns = COLUMNS.filter(({ head }) => known || !OF_CORPUS.includes(head));
  const by = COLUMNS.find(({ head }) => head === sorted?.head);
  const rows = by ? [...runs.runs].sort((one, other) => compared(by.value(one), by.value(other), sorted?.down === true)) : runs.runs;
  const sort = (head: string): void => setSorted({ head, down: sorted?.head === head ? !sorted.down : NUMBERS.includes(head) });
  return (
    <Table class="events runs">
      <thead>
        <tr>
          {columns.map(({ head }) => (
            <th key={head} class={NUMBERS.includes(head) ? "number" : ""} aria-sort={sorted?.head !== head ? "none" : sorted.down ? "descending" : "ascending"}>
              {runs.pages === 1 ? <button type="button" class="inline" onClick={() => sort(head)}>{head}</button> : head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((run) => (
          <tr key={`${run.source} ${run.runId}`}>
            <td>{run.run ? <a href={formatRoute(["run", run.run])}>{run.runId}</a> : run.runId}</td>
            <td><VerdictWord verdict={run.verdict} /></td>
            {known ? <td class="number">{number(run.members)}</td> : null}
            <td class="number">{number(run.events)}</td>
            {known ? <td class="number">{number(run.elections)}</td> : null}
            {known ? <td class="number">{run.withoutLeaderMs === null ? "" : `${(run.withoutLeaderMs / 1000).toFixed(1)} s`}</td> : null}
            <td>{run.reason}</td>
            <td class="soft">{run.source}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

/** What is not known comes last. Numbers within a name count as numbers: run 2 comes before run 10. */
function compared(one: string | number | null, other: string | number | null, down: boolean): number {
  if (one === null || other === null) return one === other ? 0 : one === null ? 1 : -1;
  const order = typeof one === "number" && typeof other === "number"
    ? one - other : String(one).localeCompare(String(other), "en", { numeric: true });
  return down ? -order : order;
}
