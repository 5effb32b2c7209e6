// The shortest path to a state, or to the nearest state in which a predicate holds.

import { useMemo, useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { PathView } from "../api/types";
import { settled, useQuery } from "../api/use_query";
import { useListChoice } from "../parts/list_choice";
import { Empty } from "../parts/note";
import { plural } from "../words/visible";
import { GraphCanvas } from "./canvas";
import { Expression } from "./find_view";
import type { GraphContext } from "./context";
import { sceneOfPath } from "./scene";

export function PathTab({ context }: { context: GraphContext }) {
  const { graph, state, query, change, visit } = context;
  const [start, setStart] = useState<"initial" | "pin">("initial");
  const [list, choice] = useListChoice("Path");
  const [chosen, choose] = useState<string>();
  const from = start === "pin" && query.pin !== undefined ? query.pin : "initial";
  const asked = query.to === "" ? { from, to: state } : { from, where: query.to };
  const path = settled(useQuery<PathView>(
    apiPath(["graph", graph.id, "path"], { ...asked, actions: query.actions.join(",") }),
  ));
  const scene = useMemo(() => path.data && sceneOfPath(path.data, graph.violating), [path.data, graph]);
  const none = path.error !== undefined && "code" in path.error && path.error.code === "no-path";
  return (
    <div class="around">
      <Expression
        label="Shortest path to the nearest state in which"
        value={query.to}
        fields={graph.fields}
        error={none ? undefined : path.error}
        placeholder="empty: to the state on the right"
        submit={(to) => change({ to }, false)}
      />
      <div class="toolbar">
        {choice}
        <div class="choice" role="group" aria-label="From">
          <button type="button" aria-pressed={from === "initial"} onClick={() => setStart("initial")}>from an initial state</button>
          <button type="button" aria-pressed={from !== "initial"} disabled={query.pin === undefined} title={query.pin === undefined ? "Pin a state first: p" : ""} onClick={() => setStart("pin")}>from the pinned state</button>
        </div>
        {path.data ? <span role="status" data-hops={path.data.hops.length}>{plural(path.data.hops.length, "step")}</span> : null}
      </div>
      {none ? <Empty title="No path leads there.">{path.error?.message}</Empty>
        : scene === undefined || path.data === undefined ? <p class="waiting" role="status">{path.error ? "" : "Looking for a path …"}</p>
        : path.data.hops.length === 0 ? (
          <Empty title="The path has no steps.">
            <p>{query.to === "" ? `${path.data.start.label}: the path begins in this state.` : `The condition holds where the path begins: ${path.data.start.label}.`}</p>
            <p>Choose another state, or write a condition above: the path leads to the nearest state in which it holds.</p>
          </Empty>
        )
        : list ? <HopList path={path.data} visit={visit} />
        : <GraphCanvas scene={scene} chosen={chosen} choose={choose} open={(id) => visit(id)} label={`path of ${plural(path.data.hops.length, "step")}`} />}
    </div>
  );
}

function HopList({ path, visit }: { path: PathView; visit: GraphContext["visit"] }) {
  return (
    <div class="scroll">
      <ol class="hops" start={0}>
        <li><button type="button" class="state-link" onClick={() => visit(path.start.id)}>{path.start.label}</button></li>
        {path.hops.map((hop, at) => (
          <li key={at}>
            <span class="step-name">{hop.words}</span>{" → "}
            <button type="button" class="state-link" onClick={() => visit(hop.target, hop.source)}>{hop.targetLabel}</button>
          </li>
        ))}
      </ol>
    </div>
  );
}
