// The states in which a predicate holds.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { apiPath, ApiError } from "../api/client";
import type { Found, Json, StateView } from "../api/types";
import { settled, useQuery } from "../api/use_query";
import { Empty } from "../parts/note";
import { SIGNS } from "../words/election";
import { plural } from "../words/visible";
import type { GraphContext } from "./context";

const SHOWN = 200;
export const VALUES: { readonly [field: string]: readonly string[] } = {
  electionState: Object.keys(SIGNS),
  role: ["LEADER", "FOLLOWER", "CANDIDATE"],
  moduleState: ["ACTIVE", "CLOSED"],
};

export function FindView({ context, focus }: { context: GraphContext; focus: number }) {
  const { graph, query, change, visit, state } = context;
  const shown = useQuery<StateView>(apiPath(["graph", graph.id, "state", state]));
  const names = useMemo(() => namesIn(graph.fields, shown.data?.tree), [graph, shown.data]);
  const found = settled(useQuery<Found>(
    query.where ? apiPath(["graph", graph.id, "find"], { where: query.where, limit: SHOWN }) : null,
  ));
  return (
    <div class="find">
      <ul class="words questions" aria-label="Ready questions">
        {questionsOf(graph.fields).map(([name, text]) => (
          <li key={name}><button type="button" class="chip" title={text} aria-pressed={query.where === text} onClick={() => change({ where: text, view: "find" }, false)}>{name}</button></li>
        ))}
      </ul>
      <Expression
        label="States in which"
        value={query.where}
        fields={names}
        error={found.error}
        focus={focus}
        placeholder={exampleOf(graph.fields)}
        submit={(where) => change({ where, view: "find" }, false)}
      />
      <div class="scroll">
        {query.where === "" ? <Help />
          : found.data ? (
            <>
              <p class="note" role="status">
                {found.data.count === 0 ? "No state" : found.data.count === graph.states ? "Every state" : found.data.count.toLocaleString("en")}
                {` of ${plural(graph.states, "state")}${graph.complete === true ? "" : " that TLC has seen"}`}
                {found.data.count > found.data.shown.length
                  ? `; the first ${found.data.shown.length} are shown, ${(found.data.count - found.data.shown.length).toLocaleString("en")} left out` : ""}
                {found.data.count > 0 && found.data.count < graph.states ? (
                  <>{" · "}<button type="button" class="inline" onClick={() => change({ where: `not (${query.where})` }, false)}>the other states</button></>
                ) : null}
                {found.data.count > 0 ? (
                  <>{" · "}<button type="button" class="inline" onClick={() => change({ view: "path", to: query.where }, false)}>shortest path to one of them</button></>
                ) : null}
              </p>
              <ul class="scene-list">
                {found.data.shown.map((one) => (
                  <li key={one.id} class={one.id === state ? "is-current" : ""}>
                    <button type="button" class="state-link" onClick={() => visit(one.id, undefined, "around")}>{one.label}</button>{" "}
                    <code class="soft">{one.id.slice(0, 10)}</code>
                  </li>
                ))}
              </ul>
            </>
          ) : found.loading ? <p class="waiting" role="status">Looking through the states …</p> : null}
      </div>
    </div>
  );
}

/** The fields of a graph, and those within their values as a state has them. */
function namesIn(fields: readonly string[], tree: Json | undefined): readonly string[] {
  const found = new Set(fields);
  const look = (value: Json | undefined): void => {
    if (value === null || typeof value !== "object") return;
    for (const [name, inner] of Object.entries(value)) {
      if (!Array.isArray(value) && /^[A-Za-z_]\w*$/.test(name)) found.add(name);
      look(inner as Json);
    }
  };
  look(tree);
  return [...found];
}

function exampleOf(fields: readonly string[]): string {
  return fields.includes("electionState") ? 'electionState = "CANDIDATE_BALLOT"' : `${fields[0] ?? "field"} = 1`;
}

/** Ready questions, by the fields of the graph. */
function questionsOf(fields: readonly string[]): readonly (readonly [string, string])[] {
  if (fields.includes("member") && fields.includes("channel")) {
    const count = (what: string, least: number): string => `count(m in member: ${what}) >= ${least}`;
    const leads = 'member[m].role = "LEADER" and member[m].electionState = "CLOSED"';
    return [
      ["two leaders", count(leads, 2)],
      ["a leader", count(leads, 1)],
      ["no leader", `not any(m in member: ${leads})`],
      ["split vote", count('member[m].electionState = "CANDIDATE_BALLOT"', 2)],
      ["a member that is not running", count('member[m].moduleState = "CLOSED"', 1)],
    ];
  }
  if (!fields.includes("electionState")) return [];
  return [
    ["leads", 'role = "LEADER" and electionState = "CLOSED"'],
    ["follows", 'role = "FOLLOWER" and electionState = "CLOSED"'],
    ["is a candidate", 'electionState = "CANDIDATE_BALLOT"'],
    ["has a vote against it", "any(m in members: members[m].vote = 0)"],
    ["must catch up", 'electionState = "FOLLOWER_CATCHUP"'],
  ];
}

function Help() {
  return (
    <Empty title="Find states by a condition.">
      <p>Compare fields with <code>=</code> <code>!=</code> <code>&lt;</code> <code>&lt;=</code> <code>&gt;</code> <code>&gt;=</code> <code>in</code>; join with <code>and</code>, <code>or</code>, <code>not</code>.</p>
      <p>The whole language is in the guide, <code>docs/guide/graph.md</code>.</p>
    </Empty>
  );
}

/** An input for an expression; its error is shown below the column of the mistake. */
export function Expression(
  { label, value, fields, values: known = VALUES, compares = true, error, focus = 0, placeholder, submit }: {
    label: string;
    value: string;
    fields: readonly string[];
    /** The values of fields that have few. */
    values?: { readonly [field: string]: readonly string[] };
    /** Whether a field is compared with a value. */
    compares?: boolean;
    error: Error | undefined;
    focus?: number;
    placeholder: string;
    submit: (text: string) => void;
  },
) {
  const [text, setText] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  // Before the next key event: text typed right after `/` must stay in the field.
  useLayoutEffect(() => setText(value), [value]);
  useLayoutEffect(() => {
    if (focus > 0) input.current?.focus();
  }, [focus]);
  // The word being typed, for the list of fields.
  const begun = /[A-Za-z_]\w*$/.exec(text)?.[0] ?? "";
  // After a field with few values and a comparison, those values.
  const compared = /\b(\w+)\s*(?:=|!=|in\s*\{)\s*"?(\w*)$/.exec(text);
  const offered = text === "" ? fields.slice(0, 32)
    : compared ? (known[compared[1] ?? ""] ?? []).filter((one) => one.startsWith(compared[2] ?? "")).slice(0, 32)
    : fields.filter((field) => begun && field !== begun && field.toLowerCase().includes(begun.toLowerCase())).slice(0, 8);
  const complete = (one: string): void => {
    setText(compared ? `${text.replace(/"?\w*$/, "")}"${one}" ` : `${text.slice(0, text.length - begun.length)}${one}${compares ? " = " : ""}`);
    input.current?.focus();
  };
  return (
    <form
      class="expression"
      onSubmit={(event) => {
        event.preventDefault();
        submit(text.trim());
      }}
    >
      <label>
        <span>{label}</span>
        <input
          ref={input}
          type="text"
          value={text}
          placeholder={placeholder}
          spellcheck={false}
          autocomplete="off"
          aria-invalid={error !== undefined && text === value}
          aria-describedby="expression-error"
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            const [best] = offered;
            if (event.key !== "Tab" || event.shiftKey || text === value || best === undefined || !(begun || compared)) return;
            event.preventDefault();
            complete(best);
          }}
        />
      </label>
      <button type="submit">Show</button>
      <div id="expression-error" class="expression-error" role="alert">
        {error && text === value ? <Mistake error={error} /> : null}
      </div>
      {(text !== "" && text === value) || offered.length === 0 ? null : (
        <div class="fitting" aria-label={compared ? "Values" : "Fields"}>
          {offered.map((one) => (
            <button
              key={one}
              type="button"
              class="chip"
              onClick={() => complete(one)}
            >
              {one}
            </button>
          ))}
          {begun || compared ? <span class="soft"><kbd>Tab</kbd> takes the first</span> : null}
        </div>
      )}
    </form>
  );
}

/** What is wrong with the expression above, with a sign below its column. */
export function Mistake({ error }: { error: Error }) {
  const column = error instanceof ApiError ? error.column : undefined;
  return (
    <>
      {column === undefined ? null : <pre aria-hidden="true">{`${" ".repeat(Math.max(0, column - 1))}▲`}</pre>}
      <p>{column === undefined || error.message.startsWith("column ") ? error.message : `column ${column}: ${error.message}`}</p>
    </>
  );
}
