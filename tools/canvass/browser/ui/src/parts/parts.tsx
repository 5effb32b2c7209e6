// The input of a step, or the messages that it sent.

import type { Json } from "../api/types";
import { scalarText } from "../words/tree";
import { StateTree } from "./state_tree";

type Fields = { readonly [name: string]: Json };

export function Parts({ value, none }: { value: Json; none: string }) {
  const parts = Array.isArray(value) ? (value as readonly Json[]) : [value];
  const shown = parts.filter((part) => !isNothing(part));
  if (shown.length === 0) return <p class="soft">{none}</p>;
  return <>{shown.map((part, at) => <Part key={at} value={part} />)}</>;
}

function Part({ value }: { value: Json }) {
  if (!isFields(value)) return <p class="message">{scalarText(value)}</p>;
  const { from, to, id, message, ...others } = value;
  if (message === undefined || !isFields(message)) {
    const { from: _from, id: _id, message: _message, ...rest } = value;
    return <div class="message"><StateTree tree={withoutNothing(rest)} /></div>;
  }
  const { type, ...fields } = message;
  const beside = withoutNothing(others);
  return (
    <div class="message">
      <p class="message-head">
        {from !== undefined ? <span>{`← ${scalarText(from)}`}</span> : null}
        {to !== undefined ? <span>{`→ ${scalarText(to)}`}</span> : null}
        <strong>{String(type ?? "message")}</strong>
        {id !== undefined ? <span class="soft">{scalarText(id)}</span> : null}
      </p>
      <StateTree tree={fields} />
      {Object.keys(beside).length > 0 ? <StateTree tree={beside} /> : null}
    </div>
  );
}

function isFields(value: Json): value is Fields {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** Whether a field of an input is not set: -1, false, or nothing. */
function isNothing(value: Json): boolean {
  if (value === null || value === false || value === -1 || value === "") return true;
  if (typeof value === "object") return Object.values(value).every(isNothing);
  return false;
}

function withoutNothing(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isNothing(value)));
}
