// A report on a corpus: how many runs conform, which divergences are alike, what was covered.

import { useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { ReportView, Summary } from "../api/types";
import { useQuery } from "../api/use_query";
import type { Place } from "../route/place";
import { ExportMenu } from "../exports/export_menu";
import { useKeys } from "../keys/keys";
import { CoverageTable } from "../parts/coverage_table";
import { Awaited, Empty } from "../parts/note";
import { Tabs } from "../parts/tabs";
import { formatRoute, go } from "../route/route";
import { plural } from "../words/visible";
import { Clusters } from "./clusters";
import { VerdictCounts } from "./counts";
import { runsQuery, RunsView, type RunsQuery } from "./runs_view";

export function ReportPage({ source, query }: Place) {
  const report = useQuery<ReportView>(apiPath(["report", source.id]));
  return (
    <main class="report">
      <Awaited answer={report} what="the report">
        {(data) => <Loaded report={data} query={query} />}
      </Awaited>
    </main>
  );
}

function Loaded({ report, query }: { report: ReportView; query: Place["query"] }) {
  const { summary } = report;
  const view = query["view"] ?? "clusters";
  const asked = runsQuery(query);
  const change = (by: Partial<RunsQuery> & { view?: string }): void =>
    go(formatRoute(["report", report.id], { view, ...asked, ...by }), "text" in by);
  const [at, setAt] = useState(0);
  const show = (place: number): void => {
    const example = report.examples[place];
    if (example) go(formatRoute(["run", example], { view: "story" }));
  };
  useKeys("Report", [
    { keys: ["1"], does: "divergences", run: () => change({ view: "clusters" }) },
    { keys: ["2"], does: "runs", run: () => change({ view: "runs", page: 0 }) },
    { keys: ["3"], does: "coverage", run: () => change({ view: "coverage" }) },
    { keys: ["j"], does: "next divergence", run: () => setAt((one) => Math.min(summary.clusters.length - 1, one + 1)) },
    { keys: ["k"], does: "the one before", run: () => setAt((one) => Math.max(0, one - 1)) },
    { keys: ["l"], does: "open its example run", run: () => show(at) },
  ]);
  const total = Object.values(summary.verdicts).reduce((sum, count) => sum + count, 0);
  const tabs = [
    { id: "clusters", title: "Divergences", ...(summary.clusterCount > 0 ? { badge: `${summary.clusterCount}` } : {}) },
    { id: "runs", title: "Runs" },
    { id: "coverage", title: "Coverage" },
  ];
  return (
    <>
      <div class="head">
        <div class="head-line">
          <h1>{report.title}</h1>
          <span class="soft">
            {`${plural(total, "run")} · ${plural(summary.events, "event")} in ${summary.seconds.toFixed(summary.seconds < 10 ? 1 : 0)} s, ${Math.round(summary.eventsPerSecond).toLocaleString("en")} a second`}
          </span>
          <span class="bar-space" />
          <ExportMenu name="report" />
        </div>
        <VerdictCounts counts={summary.verdicts} choose={(verdict) => change({ view: "runs", verdict, page: 0 })} />
        {report.revisions.length > 0 ? (
          <ul class="revisions soft" aria-label="Revisions of the spec">
            {report.revisions.map((text) => <li key={text}>{text}</li>)}
          </ul>
        ) : null}
        {summary.checkedInPart > 0
          ? <p class="soft head-text" data-checked-in-part>{`Not a full check of ${plural(summary.checkedInPart, "run")} with the verdict CONFORMS: the list of runs has the reasons.`}</p> : null}
        <Tabs label="Views of the report" tabs={tabs} chosen={view} choose={(id) => change({ view: id, page: 0 })} />
      </div>
      <section class="view scroll padded" tabIndex={0} data-export aria-label={`View: ${view}`}>
        {view === "runs" ? <RunsView path={["report", report.id, "runs"]} query={asked} change={change} /> : view === "coverage" ? <Coverage summary={summary} />
          : summary.clusters.length === 0 ? (
            <Empty title="No run diverges.">
              <p>Each run that could be read conforms, as far as its lines go.</p>
              <button type="button" onClick={() => change({ view: "runs", verdict: "", page: 0 })}>Look at the runs</button>
            </Empty>
          ) : <Clusters report={report} at={at} setAt={setAt} show={show} list={(name) => change({ view: "runs", verdict: "DIVERGES", text: name, page: 0 })} />}
      </section>
    </>
  );
}

function Coverage({ summary }: { summary: Summary }) {
  return (
    <>
      {summary.neverTaken.length > 0 ? (
        <section>
          <h2>Never taken</h2>
          <ul class="words">{summary.neverTaken.map((name) => <li key={name}><code>{name}</code></li>)}</ul>
        </section>
      ) : null}
      {Object.keys(summary.coverage).length > 0 ? <CoverageTable coverage={summary.coverage} /> : <Empty title="The report has no coverage." />}
    </>
  );
}
