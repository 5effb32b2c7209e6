// Why a member cannot take an action: the parts of the action's guard, each with the values it reads.

import { useEffect, useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { WhyNot } from "../api/types";
import { useQuery } from "../api/use_query";
import { Awaited } from "../parts/note";

export function WhyNotForm(
  { place, path, members, actions }: {
    /** The start, as parts of a path of the API. */
    place: readonly string[];
    path: string;
    members: number;
    actions: readonly string[];
  },
) {
  const [member, setMember] = useState(0);
  const [action, setAction] = useState("");
  useEffect(() => setAction(""), [path]);
  const answer = useQuery<WhyNot>(action ? apiPath([...place, "why-not"], { path, member, action }) : null);
  return (
    <section class="why-not">
      <h3>Why not?</h3>
      <p class="row">
        <label>
          <span class="hidden">Member</span>
          <select value={member} onChange={(event) => setMember(Number(event.currentTarget.value))}>
            {Array.from({ length: members }, (_, one) => <option key={one} value={one}>{`member ${one}`}</option>)}
          </select>
        </label>
        <label>
          <span class="hidden">Action</span>
          <select value={action} data-why-action onChange={(event) => setAction(event.currentTarget.value)}>
            <option value="">cannot take …</option>
            {actions.map((one) => <option key={one} value={one}>{one}</option>)}
          </select>
        </label>
      </p>
      {action ? (
        <div data-why-not={action} aria-live="polite">
          <Awaited answer={answer} what={`the guard of ${action} from TLC`}>
            {({ note, parts, operator }) => (
              <>
                {note ? <p>{note}</p> : null}
                {parts.length > 0 ? (
                  <>
                    <p class="soft">{`${action} is not enabled if one of these holds:`}</p>
                    <ul class="guard">
                      {parts.map((part) => (
                        <li key={part.text} class={part.blocks ? "is-diverges" : ""} data-blocks={part.blocks}>
                          <span aria-hidden="true">{part.blocks ? "✖ " : "· "}</span>
                          <code>{part.text}</code>
                          <span class="soft">{part.blocks ? " holds" : " does not hold"}</span>
                          {part.values.map((value) => <span class="step-detail" key={value}>{value}</span>)}
                        </li>
                      ))}
                    </ul>
                  </>
                ) : null}
                {operator ? (
                  <details>
                    <summary class="soft">{`${operator.module}, line ${operator.line}`}</summary>
                    <pre class="source" tabIndex={0}>{operator.lines.join("\n")}</pre>
                  </details>
                ) : null}
              </>
            )}
          </Awaited>
        </div>
      ) : null}
    </section>
  );
}
