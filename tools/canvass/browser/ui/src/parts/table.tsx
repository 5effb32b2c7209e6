// A table. On a phone each row is a card, and each cell has the head of its column.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export function Table({ children, ...rest }: { children: ComponentChildren; class: string }) {
  const table = useRef<HTMLTableElement>(null);
  useLayoutEffect(() => {
    const heads = [...(table.current?.tHead?.rows[0]?.cells ?? [])].map((head) => head.textContent);
    for (const body of table.current?.tBodies ?? []) {
      // For each column, the number of further rows that a cell above spans.
      const taken = heads.map(() => 0);
      for (const row of body.rows) {
        let at = 0;
        for (const cell of row.cells) {
          while ((taken[at] ?? 0) > 0) at += 1;
          cell.setAttribute("data-head", cell.colSpan > 1 ? "" : heads[at] ?? "");
          taken.fill(cell.rowSpan, at, at + cell.colSpan);
          at += cell.colSpan;
        }
        taken.forEach((rows, column) => { taken[column] = Math.max(0, rows - 1); });
      }
    }
  });
  return <table ref={table} {...rest}>{children}</table>;
}
