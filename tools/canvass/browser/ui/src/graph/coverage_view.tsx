// How much of the graph the runs that are open take.

import { apiPath } from "../api/client";
import type { GraphCoverage } from "../api/types";
import { useQuery } from "../api/use_query";
import { CoverageTable } from "../parts/coverage_table";
import { Awaited, Empty } from "../parts/note";
import { plural } from "../words/visible";
import type { GraphContext } from "./graph_page";

export function CoverageView({ context }: { context: GraphContext }) {
  const { graph, change } = context;
  const answer = useQuery<GraphCoverage>(apiPath(["graph", graph.id, "coverage"]));
  return (
    <div class="scroll padded">
      <Awaited answer={answer} what="the coverage">
        {(data) => data.runs === 0 ? (
          <Empty title="No run is open.">
            Name runs beside the graph to see which of its steps they take: <code>canvass browse GRAPH RUN …</code>
          </Empty>
        ) : (
          <>
            <p>
              {`${plural(data.runs, "run")} with ${plural(data.events, "event")} take ${data.covered.toLocaleString("en")} of ${plural(data.total, "distinct step")} of the graph.`}
              {data.outside > 0 ? ` ${plural(data.outside, "event")} are steps that the graph does not have.` : ""}
            </p>
            <button type="button" onClick={() => change({ view: "around", heat: "1" }, false)}>Show it in the drawing</button>
            <CoverageTable
              rows={data.actions}
              choose={(action) => change({ view: "around", heat: "1", actions: action }, false)}
            />
          </>
        )}
      </Awaited>
    </div>
  );
}
