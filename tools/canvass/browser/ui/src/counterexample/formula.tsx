// The definition of a violated property: the parts that are false in a state are marked.

import type { ComponentChildren } from "preact";
import type { FalsePart, Operator } from "../api/types";

export function FormulaSection(
  { name, operator, parts, note }: {
    name: string;
    operator: Operator | null;
    /** The parts that are false in the shown state. */
    parts: readonly FalsePart[];
    note: string;
  },
) {
  if (operator === null) return note ? <p class="soft" data-note>{note}</p> : null;
  return (
    <section data-property={name}>
      <h3>{`The property, ${operator.module}, line ${operator.line}`}</h3>
      <pre class="source" tabIndex={0}>
        {operator.lines.map((line, at) => <>{marked(line, at + 1, parts)}{"\n"}</>)}
      </pre>
      {parts.length > 0 ? (
        <ul class="code-list">
          {parts.map((part) => (
            <li key={part.values.join()} data-false-part>
              {part.values.map((value, at) => <>{at > 0 ? ", " : ""}<code>{value}</code></>)}
            </li>
          ))}
        </ul>
      ) : null}
      {note ? <p class="soft" data-note>{note}</p> : null}
    </section>
  );
}

/** A line of the definition, with what is false in it. */
function marked(line: string, number: number, parts: readonly FalsePart[]): ComponentChildren[] {
  const found: ComponentChildren[] = [];
  let at = 0;
  const begins = (part: FalsePart): number => part.line === number ? part.column - 1 : line.search(/\S|$/);
  for (const part of [...parts].sort((one, other) => begins(one) - begins(other))) {
    if (number < part.line || number > part.endLine || begins(part) < at) continue;
    const end = part.endLine === number ? part.endColumn : line.length;
    found.push(line.slice(at, begins(part)), <mark class="is-false">{line.slice(begins(part), end)}</mark>);
    at = end;
  }
  return [...found, line.slice(at)];
}
