// The runs of a report or corpus: filtered by verdict and text, page by page.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { ReportRuns } from "../api/types";
import { settled, useQuery } from "../api/use_query";
import type { Place } from "../route/place";
import { useKeys } from "../keys/keys";
import { Awaited } from "../parts/note";
import { VerdictWord } from "../run/verdict_badge";
import { plural } from "../words/visible";
import { RunsTable } from "./runs_table";

export interface RunsQuery {
  readonly verdict: string;
  readonly text: string;
  readonly page: number;
}

/** The filter and page that the address names. */
export function runsQuery(query: Place["query"]): RunsQuery {
  return {
    verdict: query["verdict"] ?? "",
    text: query["text"] ?? "",
    page: Math.max(0, Math.trunc(Number(query["page"])) || 0),
  };
}

export function RunsView(
  { path, query, change, polls = 0 }: {
    path: readonly string[];
    query: RunsQuery;
    change: (by: Partial<RunsQuery>) => void;
    /** A new value requests the runs again. */
    polls?: number;
  },
) {
  const asked = apiPath(path, { ...query });
  const answer = useQuery<ReportRuns>(asked, polls);
  // Rows stay while the same page is requested again.
  const runs = answer.path === asked ? answer : settled(answer);
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(query.text);
  useLayoutEffect(() => setText(query.text), [query.text]);
  const found = runs.data;
  const turn = (by: number): void => {
    const page = query.page + by;
    if (found && page >= 0 && page < found.pages) change({ page });
  };
  useKeys("Runs", [
    { keys: ["]"], does: "next page", run: () => turn(1) },
    { keys: ["["], does: "page before", run: () => turn(-1) },
    { keys: ["/"], does: "find runs by their name", run: () => field.current?.focus() },
  ]);
  return (
    <>
      <div class="toolbar">
        <label class="runs-filter">
          <span class="hidden">Text in name, place or reason</span>
          <input
            ref={field}
            type="text"
            value={text}
            placeholder="text in name, place or reason"
            spellcheck={false}
            autocomplete="off"
            onInput={(event) => {
              setText(event.currentTarget.value);
              change({ text: event.currentTarget.value, page: 0 });
            }}
          />
        </label>
        <span role="status" data-total={found?.total}>
          {found ? plural(found.total, "run") : ""}
          {query.verdict ? <>{" "}with the verdict <VerdictWord verdict={query.verdict} /></> : null}
        </span>
        {query.verdict || query.text
          ? <button type="button" onClick={() => change({ verdict: "", text: "", page: 0 })}>all runs</button> : null}
        {found && found.pages > 1 ? (
          <span class="stepper">
            <button type="button" disabled={found.page <= 0} onClick={() => turn(-1)} aria-label="Page before" title="[">◀</button>
            <span>{`page ${(found.page + 1).toLocaleString("en")} of ${found.pages.toLocaleString("en")}`}</span>
            <button type="button" disabled={found.page >= found.pages - 1} onClick={() => turn(1)} aria-label="Next page" title="]">▶</button>
          </span>
        ) : null}
      </div>
      <Awaited answer={runs} what="the runs">{(data) => <RunsTable runs={data} />}</Awaited>
    </>
  );
}
