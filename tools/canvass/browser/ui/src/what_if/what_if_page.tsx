// What if: from one state, steps that the spec allows next are taken, taken back, and others tried.

import { useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { Json, WhatIf } from "../api/types";
import { useQuery } from "../api/use_query";
import { ElectionView, membersOf } from "../counterexample/election_view";
import { StatesList } from "../counterexample/states_list";
import { ExportMenu } from "../exports/export_menu";
import { Expression } from "../graph/find_view";
import { useKeys } from "../keys/keys";
import { LanesScroller } from "../lanes/lanes_scroller";
import { CopyButton } from "../parts/copied";
import { Failed } from "../parts/note";
import { StateSection } from "../parts/state_tree";
import { Tabs } from "../parts/tabs";
import type { Place } from "../route/place";
import { formatRoute, go } from "../route/route";
import { plural } from "../words/visible";
import { AskTlc } from "./ask_tlc";
import { ChoiceList } from "./choice_list";
import { readPath, treeOf, withPath, wordsOf, writePath, type Tried } from "./tried";
import { WhyNotForm } from "./why_not";

const VIEWS = [{ id: "lanes", title: "Lanes" }, { id: "election", title: "Election" }, { id: "states", title: "States" }];

export function WhatIfPage({ source, rest, query }: Place) {
  const at = rest[1] ?? "";
  const path = readPath(query["path"]);
  const watch = query["watch"] ?? "";
  const view = VIEWS.find((one) => one.id === query["view"])?.id ?? (path.length > 0 ? "lanes" : "election");
  const [onlyDifferent, setOnlyDifferent] = useState(true);
  const place = ["what-if", source.kind, source.id, at];
  const taken = writePath(path);
  const answer = useQuery<WhatIf>(apiPath(place, { path: taken, watch }));
  const here = [source.kind, source.id, "what-if", at];
  const show = (change: { [name in "path" | "tried" | "watch" | "view"]?: string }, replace = false): void =>
    go(formatRoute(here, { path: taken, tried: query["tried"], watch, view: query["view"], ...change }), replace);
  const visit = (to: readonly string[]): void => show({ path: writePath(to), tried: withPath(query["tried"], to) });
  const back = (): void => { if (path.length > 0) visit(path.slice(0, -1)); };
  const focus = (by: number): void => {
    const buttons = [...document.querySelectorAll<HTMLElement>("[data-choice]")].filter((one) => one.offsetParent !== null);
    const now = buttons.findIndex((one) => one === document.activeElement);
    buttons[Math.max(0, Math.min(buttons.length - 1, now + by))]?.focus();
  };
  useKeys("What if", [
    { keys: ["h", "ArrowLeft"], does: "take the last step back", run: back },
    { keys: ["j", "ArrowDown"], does: "next possible step; Enter takes it", run: () => focus(1) },
    { keys: ["k", "ArrowUp"], does: "possible step before", run: () => focus(-1) },
    { keys: ["u"], does: "leave", run: () => go(originOf(source.kind, source.id, at)) },
  ]);

  const data = answer.data;
  if (answer.error && !watch) return <main class="run"><Failed error={answer.error} /><p class="note"><a href={originOf(source.kind, source.id, at)}>Back to where this began</a>{path.length > 0 ? <>{" · "}<button type="button" class="inline" onClick={back}>take the last step back</button></> : null}</p></main>;
  if (!data && !answer.error) return <main class="run"><p class="waiting" role="status">Loading what may come next …</p></main>;
  const states = data?.behaviour.states ?? [];
  const state = states.at(-1);
  const before = states.at(-2);
  const members = state ? membersOf(state.tree) : [];
  const value = data?.values.at(-1);
  return (
    <main class="run">
      <div class="head">
        <div class="head-line">
          <h1>{data?.behaviour.title ?? "What if"}</h1>
          <span class="soft">{data ? `${data.rules} · ${plural(path.length, "step")} tried from here` : ""}</span>
          <span class="bar-space" />
          <a href={originOf(source.kind, source.id, at)}>Back to where this began</a>
          <CopyButton text={`${location.origin}/${location.hash}`} title="Copy the link" />
          <ExportMenu
            name="what-if"
            files={[
              { title: "Page", about: "these steps in one file, which a colleague can walk through without canvass", path: apiPath([...place, "page"], { path: taken }) },
              ...(path.length > 0 ? [{ title: "Script", about: "these steps as a model with its configuration, for canvass check in the folder of the spec", path: apiPath([...place, "script"], { path: taken }) }] : []),
              ...(source.kind === "run" ? [
                { title: "Trace", about: "the run up to its event and these steps, for canvass verify", path: apiPath([...place, "trace"], { path: taken }) },
                { title: "Scenario", about: "the same as commands, for tests/scenarios", path: apiPath([...place, "scenario"], { path: taken }) },
              ] : []),
            ]}
          />
        </div>
        <Tabs label="Views of the tried steps" tabs={VIEWS} chosen={view} choose={(id) => show({ view: id }, true)} />
      </div>
      <div class="split">
        <section class="view" data-export aria-label={`View: ${view}`}>
          {!data || !state ? null
            : view === "election" ? <ElectionView tree={state.tree} before={before?.tree} action={state.action} />
            : view === "states" ? <StatesList found={data.behaviour} at={states.length - 1} choose={(number) => visit(path.slice(0, number))} />
            : data.behaviour.lanes && path.length > 0
            ? <div class="lanes-view"><LanesScroller lanes={data.behaviour.lanes} at={path.length - 1} choose={(number) => visit(path.slice(0, number + 1))} /></div>
            : <div class="empty"><p class="empty-title">Nothing is tried yet.</p><p class="soft">Press a step on the right. The lanes show the steps that you take; every step is one that the spec allows.</p></div>}
        </section>
        <aside class="inspector" aria-label="What may come next">
          <header class="inspector-head" data-taken={taken}>
            <h2>{path.length > 0 ? wordsOf(path.at(-1) ?? "") : "The start"}</h2>
            <button type="button" onClick={back} disabled={path.length === 0}>◀ Take back <kbd>h</kbd></button>
          </header>
          {treeOf(query["tried"]).length > 0 ? (
            <section>
              <h3>Tried</h3>
              <ul class="tried">
                <li><button type="button" class="inline" aria-current={path.length === 0} onClick={() => visit([])}>the start</button></li>
                <TriedSteps steps={treeOf(query["tried"])} current={taken} visit={visit} />
              </ul>
            </section>
          ) : null}
          {data ? <WhyNotForm place={place} path={taken} members={members.length} actions={data.actions} /> : null}
          {data ? <ChoiceList choices={data.choices} members={members.map(wordsOfMember)} waiting={answer.loading} take={(name) => visit([...path, name])} /> : null}
          {data ? (
            <AskTlc
              place={place} path={taken} question="nearest" title="How near is a loss?" button="Search from here"
              about="TLC searches for a committed entry that no quorum has, in up to 12 steps with one crash."
            />
          ) : null}
          {data && path.length > 0 ? (
            <AskTlc
              place={place} path={taken} question="confirmed" title="Does TLC agree?" button="Confirm these steps"
              about="TLC takes them by Cluster.tla, with ranks for positions, and compares the state that they lead to."
            />
          ) : null}
          <section class="watch">
            <h3>Watch</h3>
            <Expression
              label="Expression"
              value={watch}
              fields={state ? Object.keys(state.tree) : ["member", "channel", "log"]}
              values={{}}
              compares={false}
              error={answer.error}
              placeholder={'member[1].electionState, or count(m in member: member[m].role = "LEADER")'}
              submit={(text) => show({ watch: text }, true)}
            />
            {value !== undefined ? (
              <>
                <p data-watched>{`Here: ${value}`}</p>
                {states.length > 1 ? <p class="soft">{`From the start on: ${data?.values.join(" · ")}`}</p> : null}
              </>
            ) : null}
          </section>
          {state ? (
            <StateSection
              tree={state.tree as Json} before={before?.tree} onlyDifferent={onlyDifferent} choose={setOnlyDifferent}
            />
          ) : null}
        </aside>
      </div>
    </main>
  );
}

/** The place where the tried steps begin. */
function originOf(kind: string, id: string, at: string): string {
  return kind === "graph" ? formatRoute([kind, id, "state", at]) : formatRoute([kind, id], { at });
}

/** The place that tries steps from a state of a run, of a counterexample or of a graph. */
export function whatIfAt(kind: "run" | "counterexample" | "graph", id: string, at: string | number): string {
  return formatRoute([kind, id, "what-if", `${at}`]);
}

function wordsOfMember(one: { electionState: string; leads: number | null; status: string }): string {
  if (one.status) return "not running";
  return one.leads === null ? one.electionState === "CLOSED" ? "follows" : one.electionState : `leads term ${one.leads}`;
}

/** Steps in a row are one list; where several were tried, each further one is a list in it. */
function TriedSteps(
  { steps, current, visit }: { steps: readonly Tried[]; current: string; visit: (path: readonly string[]) => void },
) {
  const listed = (one: Tried) => (
    <>
      <li>
        <button type="button" class="inline" aria-current={writePath(one.path) === current} onClick={() => visit(one.path)}>{wordsOf(one.path.at(-1) ?? "")}</button>
      </li>
      <TriedSteps steps={one.next} current={current} visit={visit} />
    </>
  );
  if (steps.length === 1 && steps[0]) return listed(steps[0]);
  return <>{steps.map((one) => <li key={one.path.at(-1)}><ul class="tried">{listed(one)}</ul></li>)}</>;
}
