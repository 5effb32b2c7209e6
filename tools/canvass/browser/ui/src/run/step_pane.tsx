// One step of a member: its input, its sends, and the changes of the state.

import { useState } from "preact/hooks";
import { saved } from "../api/client";
import type { LaneEvent, RunView, SourceLine, StepView } from "../api/types";
import { CopyButton } from "../parts/copied";
import { Awaited, Failed } from "../parts/note";
import { StateSection } from "../parts/state_tree";
import { Parts } from "../parts/parts";
import { formatRoute, linkTo } from "../route/route";
import { whatIfAt } from "../what_if/what_if_page";
import { plural } from "../words/visible";
import { eventsOf, isKept, stepOf, useEventAt } from "./event_at";
import { useStep } from "./use_step";

export function StepPane(
  { run, at, said, toChange }: {
    run: RunView;
    at: number;
    /** An answer to the last question about this step. */
    said: string;
    toChange: (member: number, field: string) => void;
  },
) {
  const { event, next, error } = useEventAt(run.id, at);
  const place = event ? stepOf(event) : null;
  const step = useStep(run.id, event, next);
  return (
    <aside class="inspector" aria-label="The step">
      {!isKept(run, at) ? <p class="remark" role="status" data-beyond>{`This file has only ${eventsOf(run)}.`}</p>
        : error ? <Failed error={error} />
        : event && !place ? <Unstepped event={event} />
        : <Awaited answer={step} what="the step">{(data) => <Step run={run} step={data} said={said} toChange={toChange} event={event?.reference === `${data.member}:${data.step}` ? event : undefined} />}</Awaited>}
    </aside>
  );
}

const ORIGINS: { readonly [origin: string]: string } = {
  OBSERVED: "lines of the log show this step",
  INFERRED: "no line shows this step: it was inferred, and is checked like all others",
};

/** The lines of the log, and the fields of the step that they show. */
function SourceOf({ source }: { source: SourceLine }) {
  return (
    <section data-source>
      <h3>{`In the log: ${source.place}`}</h3>
      {source.lines.length > 0
        ? (
          <>
            <pre class="source is-log" tabIndex={0}>{source.lines.join("\n")}</pre>
            <CopyButton text={source.lines.join("\n")} title={source.lines.length > 1 ? "Copy the lines" : "Copy the line"} />
          </>
        )
        : <p class="soft">The log itself is not here. Browse the folder of the logs to read the line.</p>}
      {source.leftOut > 0 ? <p class="soft">{`${plural(source.leftOut, "line")} left out`}</p> : null}
      <p class="soft">{`Observed: ${source.observed.map((name) => name.replace(/^state\./, "")).join(", ") || "only the action"}. Everything else is inferred.`}</p>
    </section>
  );
}

function Unstepped({ event }: { event: LaneEvent }) {
  return (
    <>
      <h2>{event.title}</h2>
      <p>{event.remark}</p>
      <ul>{event.changes.map((change) => <li key={change}>{change}</li>)}</ul>
    </>
  );
}

function Step(
  { run, step, event, said, toChange }: {
    run: RunView;
    step: StepView;
    event: LaneEvent | undefined;
    said: string;
    toChange: (member: number, field: string) => void;
  },
) {
  const [onlyDifferent, setOnlyDifferent] = useState(true);
  const before = step.before ?? undefined;
  return (
    <div data-step={`${step.member}:${step.step}`}>
      <header class="inspector-head">
        <div class="section-line">
          <p class="soft">{`member ${step.member} · step ${step.step}`}</p>
          <CopyButton text={linkTo(["run", run.id, "step", `${step.member}`, `${step.step}`])} title="Copy the link" />
        </div>
        <h2>{step.action}</h2>
        <p class="when" data-when>
          <span>{step.since ? `${step.time} (${step.since})` : step.time}</span>
          {step.source ? <> · <code>{step.source.place}</code></> : null}
          {step.origin ? <span class={`tag is-${step.origin.toLowerCase()}`} title={ORIGINS[step.origin]}>{step.origin.toLowerCase()}</span> : null}
        </p>
        {event?.mark && !(event.mark === "DIVERGES" && step.divergence) ? <p class={`remark is-${event.mark.toLowerCase()}`}>{`${event.mark}${event.remark ? `: ${event.remark}` : ""}`}</p> : null}
        {step.divergence ? <p class="remark is-diverges"><span aria-hidden="true">✖ </span>{step.divergence}</p> : null}
        {saved ? null : (
          <p class="row">
            <a href={whatIfAt("run", run.id, step.eventNumber)} title="The steps that may come after this one">What next? <kbd>w</kbd></a>
            {step.eventNumber > 0 ? <a href={whatIfAt("run", run.id, step.eventNumber - 1)} title="The steps that could have come instead">What else? <kbd>W</kbd></a> : null}
          </p>
        )}
      </header>
      {step.source ? <SourceOf source={step.source} /> : null}
      <section>
        <h3>Given</h3>
        <Parts value={step.input} none="Nothing: the member does this by itself." />
      </section>
      <section>
        <h3>Sent</h3>
        <Parts value={step.sends} none="Nothing." />
      </section>
      <StateSection
        tree={step.after} before={before} onlyDifferent={onlyDifferent} choose={setOnlyDifferent}
        first="the first recorded state" said={said} next={(path) => toChange(step.member, path)}
      />
      <section>
        <h3>In the state graph</h3>
        {step.graphPending ? <p class="soft" data-pending>Looking it up …</p> : step.graph ? (
          <p>
            <a href={formatRoute(["graph", step.graph.id, "state", step.graph.target], { from: step.graph.source })}>
              Open the state after this step
            </a>
          </p>
        ) : <p class="soft">Not in a graph that is open. <a href={formatRoute(["run", run.id], { at: step.eventNumber, view: "graph" })}>Why?</a></p>}
      </section>
    </div>
  );
}
