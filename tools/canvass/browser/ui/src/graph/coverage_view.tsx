// The coverage of the graph by the open runs.

import { useEffect, useRef, useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { GraphCoverage, Untaken } from "../api/types";
import { useQuery } from "../api/use_query";
import { Copied } from "../parts/copied";
import { CoverageTable } from "../parts/coverage_table";
import { Awaited, Empty } from "../parts/note";
import { Table } from "../parts/table";
import { formatRoute } from "../route/route";
import { givenLine } from "../words/tree";
import { plural, shortened } from "../words/visible";
import type { GraphContext } from "./context";

export function CoverageView({ context }: { context: GraphContext }) {
  const { graph, change } = context;
  const [action, setAction] = useState("");
  const answer = useQuery<GraphCoverage>(apiPath(["graph", graph.id, "coverage"]));
  return (
    <div class="scroll padded">
      <Awaited answer={answer} what="the coverage">
        {(data) => data.runs === 0 ? (
          <Empty title="No open run fits this graph.">
            To see which steps of the graph runs take, open runs with the same number of members and the same rules: <code>canvass browse GRAPH RUN …</code>
          </Empty>
        ) : (
          <>
            <p>
              {`${plural(data.runs, "run")} with ${plural(data.events, "event")} take ${data.covered.toLocaleString("en")} of ${plural(data.total, "distinct step")} of the graph.`}
              {data.outside > 0 ? ` The steps of ${plural(data.outside, "event")} are not in the graph.` : ""}
            </p>
            <button type="button" onClick={() => change({ view: "around", heat: "1" }, false)}>Show it in the drawing</button>
            <CoverageTable
              rows={data.actions}
              choose={(action) => change({ view: "around", heat: "1", actions: action }, false)}
              untaken={setAction}
            />
            {action ? <UntakenSteps key={action} context={context} action={action} /> : null}
          </>
        )}
      </Awaited>
    </div>
  );
}

const POLL_MS = 1000;

/** The steps of an action that no run takes, each with a path there and a simulated run that takes it. */
function UntakenSteps({ context, action }: { context: GraphContext; action: string }) {
  const { graph } = context;
  const [simulate, setSimulate] = useState(0);
  const [polls, setPolls] = useState(0);
  const answer = useQuery<Untaken>(apiPath(["graph", graph.id, "untaken"], { action, limit: 50, simulate }), polls);
  const section = useRef<HTMLElement>(null);
  const listed = answer.data !== undefined;
  // Below a long table it would be invisible.
  useEffect(() => section.current?.scrollIntoView({ block: "start" }), [listed]);
  const searching = answer.data?.searching === true;
  useEffect(() => {
    if (!searching) return undefined;
    const timer = setTimeout(() => setPolls((before) => before + 1), POLL_MS);
    return () => clearTimeout(timer);
  }, [searching, polls]);
  return (
    <section ref={section} data-untaken={action}>
      <h2>{`Steps of ${action} that no run takes`}</h2>
      <Awaited answer={answer} what="the steps">
        {(data) => (
          <>
            <p class="soft">{`${plural(data.count, "step")}${data.count > data.shown.length ? `, the nearest ${data.shown.length}` : ""}`}</p>
            {simulate === 0 ? <button type="button" onClick={() => setSimulate(1)}>Search simulated runs for them</button>
              : <p role="status" data-searched={data.searching ? undefined : data.simulatedRuns}>{searchedWords(data)}</p>}
            <Table class="events">
              <thead><tr><th>from</th><th>given</th><th>to</th><th>shortest path there</th><th>simulated run</th></tr></thead>
              <tbody>
                {data.shown.map((step) => (
                  <tr key={step.edge} data-untaken-step={step.edge}>
                    <td><a href={formatRoute(["graph", graph.id, "state", step.source])}>{step.sourceLabel}</a></td>
                    <td>{shortened(givenLine(step.given), 160)}</td>
                    <td><a href={formatRoute(["graph", graph.id, "state", step.target], { from: step.source })}>{step.targetLabel}</a></td>
                    <td>{step.away < 0 ? "none from an initial state"
                      : <a href={formatRoute(["graph", graph.id, "state", step.source], { view: "path" })}>{plural(step.away, "step")}</a>}</td>
                    <td data-simulated={step.simulated?.seed}>
                      {step.simulated ? (
                        <>{`seed ${step.simulated.seed}, member ${step.simulated.member}, step ${step.simulated.step}`}<Copied text={step.simulated.command} /></>
                      ) : simulate === 0 ? "not searched" : data.searching ? "not yet" : `none in ${plural(data.simulatedRuns, "run")}`}
                    </td>
                  </tr>
                ))}
              </tbody>
            </Table>
          </>
        )}
      </Awaited>
    </section>
  );
}

function searchedWords(data: Untaken): string {
  const searched = plural(data.simulatedRuns, "simulated run");
  if (data.searching) return `Searching: ${searched} so far …`;
  if (data.simulatedRuns === 0) return "Members with the rules of this graph are not simulated.";
  const found = data.shown.filter((step) => step.simulated !== null).length;
  return found === 0 ? `${searched} take none of them.` : `Steps that one of ${searched} takes come first, with the command that repeats the run.`;
}
