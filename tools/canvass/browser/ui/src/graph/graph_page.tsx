// The page of a state graph: its views, and the current state beside them.

import { useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { GraphInfo, StateView } from "../api/types";
import { useQuery } from "../api/use_query";
import type { Place } from "../route/place";
import { ExportMenu } from "../exports/export_menu";
import { useKeys } from "../keys/keys";
import { Awaited, Empty } from "../parts/note";
import { Tabs } from "../parts/tabs";
import { formatRoute, go } from "../route/route";
import { plural } from "../words/visible";
import { AroundView } from "./around_view";
import type { GraphChange, GraphContext, GraphQuery } from "./context";
import { FindView } from "./find_view";
import { PathTab } from "./path_view";
import { ProjectionView } from "./projection_view";
import { StatePane } from "./state_pane";

const VIEWS = [
  { id: "around", title: "Around" },
  { id: "find", title: "Find" },
  { id: "path", title: "Path" },
  { id: "project", title: "Projection" },
] as const;

const MANY_STATES = 200;

export function GraphPage({ source, rest, query, moved }: Place) {
  const graph = useQuery<GraphInfo>(apiPath(["graph", source.id]));
  return (
    <main class="graph">
      <Awaited answer={graph} what="the graph">
        {(data) => {
          const first = data.initial[0];
          const state = (rest[0] === "state" ? rest[1] : undefined) ?? first;
          if (state === undefined) {
            return <Empty title="The graph has no initial state.">Build it again.</Empty>;
          }
          return <Loaded graph={data} state={state} named={rest[0] === "state"} given={query} moved={moved} />;
        }}
      </Awaited>
    </main>
  );
}

function Loaded(
  { graph, state, named, given, moved }: {
    graph: GraphInfo;
    state: string;
    /** Whether the address names the state. */
    named: boolean;
    given: Place["query"];
    moved: boolean;
  },
) {
  // A link to a state shows the state. A graph of many states opens on a map of all of them.
  const first = !named && graph.mapBy !== "" && graph.states > MANY_STATES ? "project" : "around";
  const query = queryOf(given, graph.drawnStates, VIEWS.find((one) => one.id === given["view"])?.id ?? first);
  const change = (by: GraphChange, replace = true): void =>
    go(formatRoute(["graph", graph.id, "state", state], { ...given, view: query.view, ...by }), replace);
  const visit = (target: string, from?: string, view?: string, where?: string): void =>
    go(formatRoute(["graph", graph.id, "state", target], { ...given, from, ...(view ? { view } : {}), ...(where ? { where } : {}) }));
  const context: GraphContext = { graph, state, query, change, visit };
  const [focus, setFocus] = useState(0);
  const view = useQuery<StateView>(apiPath(["graph", graph.id, "state", state]));

  useKeys("Views", [
    ...VIEWS.map((one, at) => ({
      keys: [`${at + 1}`], does: one.title.toLowerCase(), run: () => change({ view: one.id }, false),
    })),
    {
      keys: ["/"], does: "find states by a predicate",
      run: () => {
        change({ view: "find" }, false);
        setFocus((before) => before + 1);
      },
    },
    { keys: ["i"], does: "the initial state", run: () => graph.initial[0] !== undefined && visit(graph.initial[0]) },
  ]);

  return (
    <>
      <div class="head">
        <div class="head-line">
          <h1>{graph.title}</h1>
          <span class="soft">
            {`${plural(graph.states, "state")} · ${plural(graph.edges, "step")}${extent(graph)}`}
          </span>
          {graph.violating[0] === undefined ? null
            : <a href={formatRoute(["graph", graph.id, "state", graph.violating[0]])}>the violating state</a>}
          {moved ? <span class="soft">The link named another build of the graph; the state is the same.</span> : null}
          <span class="bar-space" />
          <ExportMenu name={`graph-${query.view}`} />
        </div>
        <Tabs label="Views of the graph" tabs={VIEWS} chosen={query.view} choose={(id) => change({ view: id }, false)} />
      </div>
      <div class="split">
        <section class="view" data-export aria-label={`View: ${query.view}`}>
          {query.view === "find" ? <FindView context={context} focus={focus} />
            : query.view === "path" ? <PathTab context={context} />
            : query.view === "project" ? <ProjectionView context={context} />
            : <AroundView context={context} />}
        </section>
        <StatePane context={context} answer={view} />
      </div>
    </>
  );
}

function queryOf(given: Place["query"], drawnStates: number, view: string): GraphQuery {
  const count = (name: string, fallback: number, most: number): number => {
    const value = Number(given[name]);
    return Number.isInteger(value) && value >= 1 && value <= most ? value : fallback;
  };
  return {
    view,
    from: given["from"],
    pin: given["pin"],
    depth: count("depth", 2, 6),
    limit: count("limit", 24, drawnStates),
    actions: (given["actions"] ?? "").split(",").filter(Boolean),
    where: given["where"] ?? "",
    by: given["by"] ?? "",
    colour: given["colour"] ?? "",
    to: given["to"] ?? "",
  };
}

/** What TLC found violated, and whether the graph has every state. */
function extent({ complete, detail }: GraphInfo): string {
  const found = detail["message"];
  if (complete === false) return ` · not complete: ${found ?? "TLC was stopped or bounded"}`;
  return found === undefined ? "" : ` · ${found}`;
}
