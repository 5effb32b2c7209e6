// The states around a state, as a drawing or as a list.

import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { Around } from "../api/types";
import { useQuery } from "../api/use_query";
import { useKeys } from "../keys/keys";
import { useListChoice } from "../parts/list_choice";
import { isOfElections } from "../words/election";
import { Awaited } from "../parts/note";
import { ActionChips } from "./action_chips";
import { GraphCanvas } from "./canvas";
import type { GraphContext } from "./context";
import { GraphLegend, violatedIn } from "./legend";
import { SceneList } from "./scene_list";
import { sceneOfAround } from "./scene";

export function AroundView({ context }: { context: GraphContext }) {
  const { graph, state, query, change, visit } = context;
  const [list, choice] = useListChoice("Around a state");
  const [chosen, choose] = useState<string>();
  const [chips, setChips] = useState(false);
  useLayoutEffect(() => choose(undefined), [state]);
  const asked = { depth: query.depth, limit: query.limit, actions: query.actions.join(",") };
  const around = useQuery<Around>(apiPath(["graph", graph.id, "around", state], asked));
  const deeper = (by: number): void => change({ depth: Math.min(6, Math.max(1, query.depth + by)) });
  const more = (): void => change({ limit: Math.min(graph.drawnStates, query.limit * 2) });
  useKeys("Around a state", [
    { keys: ["]"], does: "one step further around", run: () => deeper(1) },
    { keys: ["["], does: "one step fewer around", run: () => deeper(-1) },
    { keys: ["m"], does: "draw twice as many states", run: more },
    { keys: ["f"], does: "choose actions", run: () => setChips((was) => !was) },
  ]);
  const scene = useMemo(() => around.data && sceneOfAround(around.data, graph.violating), [around.data, graph]);
  const open = (id: string): void => {
    const step = around.data?.edges.find((edge) => edge.source === state && edge.target === id);
    visit(id, step ? state : undefined);
  };

  return (
    <div class="around">
      <div class="toolbar">
        {choice}
        <div class="stepper" role="group" aria-label="Steps around">
          <button type="button" onClick={() => deeper(-1)} disabled={query.depth <= 1} aria-label="Fewer steps around">−</button>
          <span>{`${query.depth} ${query.depth === 1 ? "step" : "steps"} around`}</span>
          <button type="button" onClick={() => deeper(1)} disabled={query.depth >= 6} aria-label="More steps around">+</button>
        </div>
        <button type="button" aria-pressed={chips} aria-expanded={chips} onClick={() => setChips(!chips)}>
          {query.actions.length === 0 ? "All actions" : `${query.actions.length} of ${Object.keys(graph.actions).length} actions`} <kbd>f</kbd>
        </button>
        {scene === undefined || scene.leftOut === "" ? null : scene.statesLeftOut > 0 && query.limit < graph.drawnStates
          ? <button type="button" class="warn" onClick={more} title="Draw twice as many">{`${scene.leftOut}: more`} <kbd>m</kbd></button>
          : <span class="soft">{scene.leftOut}</span>}
      </div>
      {chips ? <ActionChips actions={graph.actions} chosen={query.actions} choose={(actions) => change({ actions: actions.join(",") })} /> : null}
      <Awaited answer={around} what="the states around">
        {() => scene === undefined ? null : list
          ? <SceneList scene={scene} current={state} open={open} />
          : <GraphCanvas scene={scene} chosen={chosen} choose={choose} open={open} label={`${scene.nodes.length} states near the current one`} />}
      </Awaited>
      <GraphLegend elections={isOfElections(graph.fields)} violated={violatedIn(graph)} />
    </div>
  );
}
