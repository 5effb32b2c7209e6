// A step of the run in the member graph: its edge among all edges that leave the state.

import { useMemo, useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { Around, FirstDivergence, InGraph, RunView, SourceInfo, StepView } from "../api/types";
import { useQuery } from "../api/use_query";
import { GraphCanvas } from "../graph/canvas";
import { GraphLegend } from "../graph/legend";
import { SceneList } from "../graph/scene_list";
import { sceneOfAround } from "../graph/scene";
import { useListChoice } from "../parts/list_choice";
import { Awaited, Empty } from "../parts/note";
import { formatRoute, go } from "../route/route";
import { DivergenceDrawing } from "./divergence_drawing";
import { useEventAt } from "./event_at";
import { useStep } from "./use_step";

const LIMIT = 40;
const MOST = 1000;
const OUTSIDE: ReadonlySet<string> = new Set(["IMPLEMENTATION_STEP", "INSTRUMENTATION_GAP"]);

export function InGraphView(
  { run, at, graphs }: { run: RunView; at: number; graphs: readonly SourceInfo[] },
) {
  const { event } = useEventAt(run.id, at);
  const step = useStep(run.id, event);
  const diverges = disallowed(run, at);
  if (graphs.length === 0 && diverges && step.data?.eventNumber === at) {
    return <Outside step={step.data} divergence={diverges} run={run} />;
  }
  if (graphs.length === 0) {
    return (
      <Empty title="No state graph is open.">
        <p>Build one, and name it beside the run:</p>
        <pre class="source">{"canvass graph build MCMemberGraph3 --out member-graph\ncanvass browse RUN member-graph"}</pre>
      </Empty>
    );
  }
  return (
    <Awaited answer={step} what="the step">
      {(data) => data.graphPending
        ? <p class="waiting" role="status">Looking the step up in the graph …</p>
        : data.graph ? <Overlaid step={data} graph={data.graph} />
        : <Outside step={data} divergence={disallowed(run, data.eventNumber)} run={run} />}
    </Awaited>
  );
}

/** The divergence at an event whose step the spec does not allow; null if only a property is violated. */
function disallowed(run: RunView, event: number): FirstDivergence | null {
  const found = run.divergence;
  if (found === null || found.eventNumber !== event) return null;
  const outside = run.divergences.some((one) =>
    one.member === found.first.member && one.step === found.first.step && OUTSIDE.has(one.kind));
  return outside ? found : null;
}

function Overlaid({ step, graph }: { step: StepView; graph: InGraph }) {
  const [list, choice] = useListChoice("In the graph");
  const [chosen, choose] = useState<string>();
  const near = (limit: number): string => apiPath(["graph", graph.id, "around", graph.source], { depth: 1, limit });
  const few = useQuery<Around>(near(LIMIT));
  // All neighbours are drawn if the step leads to none of the first ones.
  const some = few.data?.nodes.some((node) => node.id === graph.target) === false;
  const all = useQuery<Around>(some ? near(MOST) : null);
  const around = some ? all : few;
  // A drawing has one edge for all steps of an action between two states.
  const lit = around.data?.edges.find((one) => one.source === graph.source && one.target === graph.target && one.action === step.action)?.id;
  const scene = useMemo(() => around.data && sceneOfAround(around.data, [], lit), [around.data, lit]);
  const open = (id: string): void =>
    go(formatRoute(["graph", graph.id, "state", id], id === graph.source ? {} : { from: graph.source }));
  return (
    <div class="around">
      <div class="toolbar">
        {choice}
        <span role="status" data-edge={graph.edge}>
          {graph.source === graph.target
            ? `${step.action} leads member ${step.member} back to the same canonical state.`
            : `Member ${step.member} takes the thick line: ${step.action}.`}
        </span>
        {scene?.leftOut ? <span class="soft">{scene.leftOut}</span> : null}
      </div>
      <Awaited answer={around} what="the states around">
        {() => scene === undefined ? null : list
          ? <SceneList scene={scene} current={graph.source} open={open} />
          : <GraphCanvas scene={scene} chosen={chosen} choose={choose} open={open} label="The step among all possible steps" />}
      </Awaited>
      <GraphLegend elections />
    </div>
  );
}

function Outside(
  { step, divergence, run }: { step: StepView; divergence: FirstDivergence | null; run: RunView },
) {
  if (divergence) {
    return (
      <Empty title={`The spec does not allow this ${step.action}, so no graph has it.`}>
        <p>{divergence.first.text}</p>
        <DivergenceDrawing step={step} divergence={divergence} />
        <button type="button" onClick={() => go(formatRoute(["run", run.id], { at: step.eventNumber, view: "story" }))}>
          Observed against allowed <kbd>1</kbd>
        </button>
      </Empty>
    );
  }
  return (
    <Empty title={`This ${step.action} is not in a graph that is open.`}>
      <DivergenceDrawing step={step} divergence={null} />
      <p>
        A graph has the steps within its model’s bounds. TLC decides all other steps when the run is
        checked, and the verdict includes them.
      </p>
      <p>Go on to another event with <kbd>←</kbd> <kbd>→</kbd>, or open a graph of more members or steps.</p>
      <a href={formatRoute(["run", run.id], { at: step.eventNumber, view: "lanes" })}>The step in its lanes</a>
    </Empty>
  );
}
