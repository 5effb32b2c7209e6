// A behaviour of a model that violates a property, state by state.

import { useState } from "preact/hooks";
import { apiPath, saved } from "../api/client";
import type { CounterexampleView, Formula } from "../api/types";
import { useQuery } from "../api/use_query";
import type { Place } from "../route/place";
import { ExportMenu, savedPageOf } from "../exports/export_menu";
import { useKeys } from "../keys/keys";
import { LanesScroller } from "../lanes/lanes_scroller";
import { Awaited } from "../parts/note";
import { StateSection } from "../parts/state_tree";
import { Tabs } from "../parts/tabs";
import { formatRoute, go } from "../route/route";
import { clamp } from "../run/event_at";
import { whatIfAt } from "../what_if/what_if_page";
import { withWords } from "../words/tree";
import { plural } from "../words/visible";
import { Hazard } from "../parts/hazard";
import { ElectionView } from "./election_view";
import { FormulaSection } from "./formula";
import { StatesList, titleOf } from "./states_list";

const TAG = /^[A-Z]+: \w+( \(S\d+\))?\.\s+/; // The property's name before its comment: the badge has it.

export function CounterexamplePage({ source, query }: Place) {
  const answer = useQuery<CounterexampleView>(apiPath(["counterexample", source.id]));
  return (
    <main class="run">
      <Awaited answer={answer} what="the counterexample">
        {(data) => <Loaded found={data} query={query} />}
      </Awaited>
    </main>
  );
}

function Loaded({ found, query }: { found: CounterexampleView; query: Place["query"] }) {
  const [onlyDifferent, setOnlyDifferent] = useState(true);
  const last = Math.max(0, found.states.length - 1);
  // The last state is the one that violates the property.
  const asked = Number(query["at"] ?? last);
  const at = clamp(Number.isInteger(asked) ? asked : last, 0, last);
  const tabs = [
    ...(found.lanes ? [{ id: "lanes", title: "Lanes" }] : []),
    { id: "states", title: "States" },
    ...(found.lanes ? [{ id: "election", title: "Election" }] : []),
    ...(found.hazards.length > 0 ? [{ id: "story", title: "The hazard" }] : []),
  ];
  const view = (tabs.find((one) => one.id === query["view"]) ?? tabs[0])?.id ?? "states";
  const show = (change: { at?: number; view?: string }): void =>
    go(formatRoute(["counterexample", found.id], { at, view, ...change }), true);
  const move = (by: number): void => show({ at: clamp(at + by, 0, last) });
  useKeys("Along the counterexample", [
    { keys: ["ArrowRight", "ArrowDown", "l", "j"], does: "next state", run: () => move(1) },
    { keys: ["ArrowLeft", "ArrowUp", "h", "k"], does: "state before", run: () => move(-1) },
    { keys: ["Home"], does: "first state", run: () => show({ at: 0 }) },
    { keys: ["End"], does: "last state", run: () => show({ at: last }) },
    { keys: ["d"], does: "only what the step changed, or all", run: () => setOnlyDifferent((was) => !was) },
    ...(found.lanes && !saved ? [{ keys: ["w"], does: "what may come next", run: () => go(whatIfAt("counterexample", found.id, at)) }] : []),
    { keys: ["1"], does: "lanes", run: () => show({ view: "lanes" }) },
    { keys: ["2"], does: "states", run: () => show({ view: "states" }) },
    { keys: ["3"], does: "election", run: () => show({ view: "election" }) },
  ]);
  const formula = useQuery<Formula>(found.property ? apiPath(["counterexample", found.id, "formula"]) : null);
  const parts = formula.data?.parts ?? [];
  const evaluated = formula.data !== undefined && formula.data.note === "";
  const violated = evaluated ? parts.some((part) => part.state === at) : at === last;
  const state = found.states[at];
  const before = found.states[at - 1];
  // The first state is no event: event n of the lanes leads to state n + 1.
  const shift = found.lanes ? found.states.length - found.lanes.total : 0;
  return (
    <>
      <div class="head">
        <div class="head-line">
          <h1>{found.title}</h1>
          {found.claim ? <span class="verdict is-diverges"><span aria-hidden="true">✖ </span>{found.claim}</span> : null}
          <span class="soft">{plural(found.statesTotal, "state")}</span>
          <span class="bar-space" />
          <ExportMenu name="counterexample" files={savedPageOf(found.id)} />
        </div>
        {found.explanation.length > 0 ? <p class="soft head-text">{found.explanation.join(" ").replace(TAG, "")}</p> : null}
        <Tabs
          label="Views of the counterexample"
          tabs={tabs}
          chosen={view}
          choose={(id) => show({ view: id })}
        />
      </div>
      <div class="split">
        <section class="view" data-export aria-label={`View: ${view}`}>
          {view === "story" ? <div class="verdict-view">{found.hazards.map((name) => <Hazard key={name} name={name} />)}</div>
            : view === "election" && state ? <ElectionView tree={state.tree} before={before?.tree} action={state.action} />
            : view === "lanes" && found.lanes
            ? <div class="lanes-view"><LanesScroller lanes={found.lanes} at={at - shift} choose={(number) => show({ at: number + shift })} /></div>
            : <StatesList found={found} at={at} choose={(place) => show({ at: place })} />}
        </section>
        <aside class="inspector" aria-label="The state">
          {state ? (
            <div data-state-number={state.number}>
              <header class="inspector-head">
                <p class="soft">{`state ${at + 1} of ${found.states.length}${state.acting ? ` · ${state.acting}` : ""}`}</p>
                <h2>{titleOf(state)}</h2>
                {found.property && found.loop === null && !found.stuttering ? (
                  <p class={violated ? "remark is-diverges" : "soft"} data-holds={!violated}>
                    {violated ? `✖ ${found.property} is violated here.` : evaluated ? `${found.property} holds here.` : `${found.property} is not violated up to here.`}
                  </p>
                ) : null}
                {found.loop === state.number ? <p class="remark">The behaviour returns to this state for ever.</p> : null}
                {found.stuttering && at === last ? <p class="remark">No further step happens.</p> : null}
                {found.lanes && !saved ? <p><a href={whatIfAt("counterexample", found.id, at)}>What may come next <kbd>w</kbd></a></p> : null}
              </header>
              {found.property ? (
                <FormulaSection
                  name={found.property} operator={formula.data?.operator ?? found.operator}
                  parts={parts.filter((part) => part.state === at)}
                  note={formula.loading ? "TLC evaluates its parts …" : formula.data?.note ?? formula.error?.message ?? ""}
                />
              ) : null}
              <StateSection
                tree={withWords(state.tree)} before={before && withWords(before.tree)}
                onlyDifferent={onlyDifferent} choose={setOnlyDifferent}
              />
            </div>
          ) : null}
        </aside>
      </div>
      <footer class="timeline">
        <div class="timeline-buttons">
          <button type="button" onClick={() => move(-1)} disabled={at === 0} aria-label="State before">◀</button>
          <button type="button" onClick={() => move(1)} disabled={at >= last} aria-label="Next state">▶</button>
          <output class="place" data-place={at}>{`state ${at + 1} of ${found.states.length}`}</output>
        </div>
        <div class="timeline-track">
          <input type="range" min={0} max={last} value={at} aria-label="State" onInput={(event) => show({ at: Number(event.currentTarget.value) })} />
        </div>
      </footer>
    </>
  );
}
