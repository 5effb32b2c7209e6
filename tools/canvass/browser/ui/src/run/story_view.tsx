// The front page of a run: the verdict, the divergence if there is one, and the explanation.

import { apiPath } from "../api/client";
import type { ExplanationView, FirstDivergence, Receipt, RiskReport, RunView } from "../api/types";
import { useQuery } from "../api/use_query";
import { Copied } from "../parts/copied";
import { FieldTable } from "../parts/field_table";
import { Hazard } from "../parts/hazard";
import { plural } from "../words/visible";
import { Explained, Line, type Linked } from "./explained";
import { Levels } from "./levels";
import type { Milestone } from "./milestones";
import { VerdictBadge } from "./verdict_badge";

const MOST_LINES = 200;

export function StoryView(
  { run, milestones, show, watch }: {
    run: RunView;
    milestones: readonly Milestone[];
    show: (at: number) => void;
    /** Show the members of the cluster at an event. */
    watch: (at: number) => void;
  },
) {
  // Without a check: the lines say much before the verdict is there.
  const explained = useQuery<ExplanationView>(apiPath(["run", run.id, "explanation"]));
  const hazards = explained.data?.hazards ?? [];
  return (
    <div class="verdict-view story">
      <p class="verdict-line"><VerdictBadge run={run} /> <span>{sentenceOf(run)}</span></p>
      {run.note ? <p class="soft">{run.note}</p> : null}
      {run.checking || run.divergence ? <Shown hazards={hazards} places={explained.data?.places ?? {}} show={show} /> : null}
      <Limits run={run} />
      {run.divergence ? <Diverged run={run} divergence={run.divergence} hazards={hazards} show={show} /> : null}
      {run.divergences.length + run.facts.length > 0 ? <Findings run={run} /> : null}
      <Marks title="Two leaders at once" milestones={milestones.filter((one) => one.kind === "leaders")} show={watch} />
      <Explained run={run} show={show} />
      <Marks title="Restarts and faults" milestones={milestones.filter((one) => one.kind === "mark")} show={show} />
    </div>
  );
}

/** The hazards that lines show, those that cost most first. */
function Shown({ hazards, ...linked }: Linked & { hazards: readonly RiskReport[] }) {
  if (hazards.length === 0) return null;
  return (
    <section data-shown-hazards>
      <h2>What the lines show</h2>
      <ul>
        {hazards.map(({ page, kind, sentences }) => (
          <li key={page} data-shown-hazard={page}><strong>{`${page}, ${kind}: `}</strong>{sentences.slice(0, 1).map((one) => <Line key={one.text} line={one} {...linked} />)}</li>
        ))}
      </ul>
    </section>
  );
}

/** The verdict in a sentence. */
function sentenceOf(run: RunView): string {
  if (run.checking) return "The run is being checked against the spec. This takes some seconds.";
  if (run.divergence) {
    const { kind, name, member, step, text } = run.divergence.first;
    switch (kind) {
      case "SAFETY_PROPERTY": return `${name} is violated at step ${step} of member ${member}: ${text}.`;
      case "CAUSALITY": return `Step ${step} of member ${member} has no cause: ${text}.`;
      default: return `Member ${member} leaves the spec at its step ${step}: ${text}.`;
    }
  }
  switch (run.verdict) {
    case "CONFORMS": {
      const held = isFullCheck(run) ? "every safety property holds" : "every safety property that was checked holds";
      return `The spec allows every step; each message was sent before it was received; ${held}.`;
    }
    case "INCOMPLETE": return "Lines are missing. The steps that are there conform.";
    case "MALFORMED": return "This is not a trace.";
    default: return "There is no verdict on this run.";
  }
}

function isFullCheck(run: RunView): boolean {
  return run.notChecked.length + run.checkedInPart.length === 0;
}

/** The safety properties that the verdict does not cover, or covers for a part of the logs only. */
function Limits({ run }: { run: RunView }) {
  if (isFullCheck(run)) return null;
  return (
    <section data-limits>
      <h3>Not a full check</h3>
      <Names title="Not checked: " names={run.notChecked} />
      <Names title="Checked only on the known part of the logs: " names={run.checkedInPart} />
    </section>
  );
}

function Names({ title, names }: { title: string; names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <p>{title}{names.map((name, at) => <span key={name}>{at > 0 ? ", " : ""}<code>{name}</code></span>)}</p>
  );
}

function Diverged(
  { run, divergence, hazards, show }: {
    run: RunView;
    divergence: FirstDivergence;
    hazards: readonly RiskReport[];
    show: (at: number) => void;
  },
) {
  const { first } = divergence;
  const seen = hazards.map(({ page }) => page);
  const broken = run.divergences.find((one) => one.kind === "SAFETY_PROPERTY");
  const further = divergence.hazards.filter((name) => !seen.includes(name));
  return (
    <>
      <section class="divergence">
        <h2>
          <span class="sign" aria-hidden="true">✖</span>{" "}
          {`${first.name}: member ${first.member}, step ${first.step}`}
        </h2>
        <p class="soft" title={first.kind}>{divergence.about}</p>
        <button type="button" onClick={() => show(divergence.eventNumber)}>Go to this event</button>
      </section>
      {divergence.receipt ? <Unsent receipt={divergence.receipt} show={show} /> : null}
      {broken ? <Levels run={run.id} at={broken} show={show} /> : null}
      {seen.map((name) => <Hazard key={name} name={name} />)}
      {further.length === 0 ? null : seen.length === 0 ? further.map((name) => <Hazard key={name} name={name} />) : (
        <details data-further-hazards>
          <summary class="soft">{`The rules of this revision also permit ${further.join(", ")}; no line shows ${further.length === 1 ? "it" : "them"}.`}</summary>
          {further.map((name) => <Hazard key={name} name={name} />)}
        </details>
      )}
      {divergence.expected.length > 0 ? (
        <section>
          <h3>Observed, and what the spec allows</h3>
          <FieldTable
            heads={["before", "observed", "allowed"]} kinds={["", "observed", "allowed"]}
            rows={divergence.expected.map(({ field, before, observed, allowed }) => (
              { field, differs: allowed !== observed, cells: [before, observed, allowed] }))}
          />
        </section>
      ) : divergence.changed.length > 0 ? (
        <section>
          <h3>What the step changed</h3>
          <FieldTable
            heads={["before", "after"]} kinds={["", "observed"]}
            rows={divergence.changed.map(({ field, before, allowed }) => ({ field, cells: [before, allowed] }))}
          />
        </section>
      ) : null}
      {divergence.failing.length > 0 ? (
        <section>
          <h3>Why the action is not enabled</h3>
          <ul class="code-list">{divergence.failing.map((part) => <li key={part}><code>{part}</code></li>)}</ul>
        </section>
      ) : null}
      {divergence.enabled.length > 0 ? (
        <section>
          <h3>Actions that were enabled</h3>
          <ul class="words">{divergence.enabled.map((name) => <li key={name}><code>{name}</code></li>)}</ul>
        </section>
      ) : null}
      {divergence.note ? <p class="soft">{divergence.note}</p> : null}
      {divergence.operator ? (
        <section>
          <h3>{`In the spec: ${divergence.operator.module}, line ${divergence.operator.line}`}</h3>
          <pre class="source" tabIndex={0}>{divergence.operator.lines.join("\n")}</pre>
        </section>
      ) : null}
      {divergence.commands.length > 0 ? (
        <section>
          <h3>On the command line</h3>
          <Copied text={divergence.commands.join("\n")} />
        </section>
      ) : null}
    </>
  );
}

/** A received message that no member sent, and the nearest message that was sent. */
function Unsent({ receipt, show }: { receipt: Receipt; show: (at: number) => void }) {
  const { nearestEvent } = receipt;
  return (
    <section data-receipt>
      <h3>Received, but never sent</h3>
      <p>{receipt.received}</p>
      <p>
        {receipt.nearest}{" "}
        {nearestEvent === null ? null
          : <button type="button" class="inline" onClick={() => show(nearestEvent)}>{`event ${nearestEvent + 1}`}</button>}
      </p>
      {receipt.rows.length > 0 ? (
        <FieldTable
          heads={["as received", "as sent"]} kinds={["observed", "allowed"]}
          rows={receipt.rows.map(({ field, observed, allowed }) => ({ field, differs: true, cells: [observed, allowed] }))}
        />
      ) : null}
    </section>
  );
}

function Findings({ run }: { run: RunView }) {
  return (
    <section>
      <h3>All findings</h3>
      <ul class="findings">
        {[
          ...run.divergences.map(({ name, kind, member, step, text }) => ({ name: name || kind, member, step, text })),
          ...run.facts.map(({ kind, memberId, step, detail }) => ({ name: kind, member: memberId, step, text: detail })),
        ].map((finding, at) => (
          <li key={at}>
            <strong>{finding.name}</strong>{" "}
            <span class="soft">{`member ${finding.member}, step ${finding.step}`}</span>
            <p>{finding.text}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Milestones of a kind; each leads to its event. */
function Marks(
  { title, milestones, show }: { title: string; milestones: readonly Milestone[]; show: (at: number) => void },
) {
  if (milestones.length === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <ol class="milestones" aria-label={title}>
        {milestones.slice(0, MOST_LINES).map((one) => (
          <li key={`${one.number} ${one.text}`}>
            <button type="button" class="inline" onClick={() => show(one.number)}>{`event ${(one.number + 1).toLocaleString("en")}`}</button>{" "}
            {one.text}
          </li>
        ))}
      </ol>
      {milestones.length > MOST_LINES
        ? <p class="soft">{`${plural(milestones.length - MOST_LINES, "line")} left out`}</p> : null}
    </section>
  );
}
