// A corpus of many runs, listed page by page.

import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { CorpusView } from "../api/types";
import { forget, useQuery } from "../api/use_query";
import type { Place } from "../route/place";
import { ExportMenu } from "../exports/export_menu";
import { Awaited } from "../parts/note";
import { VerdictCounts } from "../report/counts";
import { runsQuery, RunsView, type RunsQuery } from "../report/runs_view";
import { formatRoute, go } from "../route/route";
import { plural } from "../words/visible";

const POLL_MS = 1000;

export function CorpusPage({ source, query }: Place) {
  const path = apiPath(["corpus", source.id]);
  // Each run that was opened and checked has added a verdict.
  useLayoutEffect(() => forget(path), [path]);
  const [polls, setPolls] = useState(0);
  const corpus = useQuery<CorpusView>(path, polls);
  const checking = corpus.data?.checking === true;
  useEffect(() => {
    if (!checking) return undefined;
    const timer = setTimeout(() => setPolls((before) => before + 1), POLL_MS);
    return () => clearTimeout(timer);
  }, [checking, polls]);
  return (
    <main class="report">
      <Awaited answer={corpus} what="the corpus">
        {(data) => <Loaded corpus={data} query={query} polls={polls} />}
      </Awaited>
    </main>
  );
}

function Loaded({ corpus, query, polls }: { corpus: CorpusView; query: Place["query"]; polls: number }) {
  const asked = runsQuery(query);
  const change = (by: Partial<RunsQuery>): void =>
    go(formatRoute(["corpus", corpus.id], { ...asked, ...by }), "text" in by);
  const total = Object.values(corpus.counts).reduce((sum, count) => sum + count, 0);
  const unchecked = corpus.counts["UNCHECKED"] ?? 0;
  const note = corpus.checking ? `; ${unchecked.toLocaleString("en")} still to be checked`
    : unchecked > 0 ? "; each is checked when it is opened" : "";
  return (
    <>
      <div class="head">
        <div class="head-line">
          <h1>{corpus.title}</h1>
          <span class="soft">{`${plural(total, "run")}${note}`}</span>
          <span class="bar-space" />
          <ExportMenu name="corpus" />
        </div>
        <VerdictCounts counts={corpus.counts} choose={(verdict) => change({ verdict, page: 0 })} />
      </div>
      <section class="view scroll padded" tabIndex={0} data-export aria-label="View: runs">
        <RunsView path={["corpus", corpus.id, "runs"]} query={asked} change={change} polls={polls} />
      </section>
    </>
  );
}
