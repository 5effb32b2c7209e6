// A state as a tree. A field that differs from another state has a sign and the other value.

import type { Json } from "../api/types";
import { countDiffering, treeRows, type Difference, type TreeRow } from "../words/tree";
import { LongText } from "./long_text";

const SIGN: { readonly [difference in Difference]: string } = {
  same: "", changed: "Δ", added: "+", removed: "−",
};
const WORD: { readonly [difference in Difference]: string } = {
  same: "", changed: "changed", added: "added", removed: "removed",
};

export function StateTree(
  { tree, base, onlyDifferent = false, next }: {
    tree: Json;
    base?: Json | undefined;
    onlyDifferent?: boolean;
    /** Goes to the event at which the field at a path changes next. */
    next?: ((path: string) => void) | undefined;
  },
) {
  const rows = treeRows(tree, base);
  const shown = onlyDifferent ? rows.filter((row) => row.differing > 0) : rows;
  if (rows.length === 0) return <p class="soft">It is empty.</p>;
  if (shown.length === 0) return <p class="soft">Nothing differs.</p>;
  return (
    <div class="tree" data-differing={countDiffering(rows)}>
      {shown.map((row) => <Row key={row.path} row={row} onlyDifferent={onlyDifferent} next={next} />)}
    </div>
  );
}

/** The state after a step. A choice hides the fields that the step did not change. */
export function StateSection(
  { tree, before, onlyDifferent, choose, first = "", said = "", next }: {
    tree: Json;
    before: Json | undefined;
    onlyDifferent: boolean;
    choose: (onlyDifferent: boolean) => void;
    /** Said of a state that has none before it. */
    first?: string;
    said?: string;
    next?: (path: string) => void;
  },
) {
  return (
    <section>
      <div class="section-line">
        <h3>State</h3>
        {before !== undefined ? (
          <label class="check">
            <input type="checkbox" checked={onlyDifferent} onChange={(event) => choose(event.currentTarget.checked)} />
            only what the step changed
          </label>
        ) : first ? <span class="soft">{first}</span> : null}
      </div>
      {said ? <p class="soft" role="status" data-said>{said}</p> : null}
      <StateTree tree={tree} base={before} onlyDifferent={onlyDifferent && before !== undefined} next={next} />
    </section>
  );
}

function Row(
  { row, onlyDifferent, next }: {
    row: TreeRow;
    onlyDifferent: boolean;
    next: ((path: string) => void) | undefined;
  },
) {
  if (row.inner.length > 0) {
    const inner = onlyDifferent ? row.inner.filter((one) => one.differing > 0) : row.inner;
    return (
      <details
        class={`tree-group is-${row.difference}`} data-path={row.path}
        open={row.inner.length <= 12 || row.differing > 0}
      >
        <summary>
          <span class="tree-sign" title={WORD[row.difference]}>{groupSign(row.difference)}</span>
          <span class="tree-name">{row.name}</span>
          <span class="soft">{row.differing > 0 ? changes(row.differing) : `${row.inner.length}`}</span>
        </summary>
        <div class="tree-inner">
          {inner.map((one) => <Row key={one.path} row={one} onlyDifferent={onlyDifferent} next={next} />)}
        </div>
      </details>
    );
  }
  return (
    <div class={`tree-row is-${row.difference}`} data-path={row.path}>
      <span class="tree-sign" title={WORD[row.difference]}>{SIGN[row.difference]}</span>
      <span class="tree-name">
        {next ? <button type="button" class="tree-next" title="Go to the next change of this field" onClick={() => next(row.path)}>{row.name}</button> : row.name}
      </span>
      <span class="tree-value">
        {row.difference === "changed" || row.difference === "removed"
          ? <><del><LongText text={row.before} /></del>{" "}</>
          : null}
        {row.difference === "removed" ? null
          : row.difference === "same" ? <LongText text={row.text} /> : <ins><LongText text={row.text} /></ins>}
      </span>
    </div>
  );
}

/** A group has a sign only if it was added or removed as a whole; else its rows have one. */
function groupSign(difference: Difference): string {
  return difference === "changed" ? "" : SIGN[difference];
}

function changes(count: number): string {
  return count === 1 ? "1 change" : `${count} changes`;
}
