// A table whose rows are cards where there is little room: each cell then has the head of its column.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export function Table({ children, ...rest }: { children: ComponentChildren; class: string }) {
  const table = useRef<HTMLTableElement>(null);
  useLayoutEffect(() => {
    const heads = [...(table.current?.tHead?.rows[0]?.cells ?? [])].map((head) => head.textContent);
    for (const body of table.current?.tBodies ?? []) {
      for (const row of body.rows) {
        [...row.cells].forEach((cell, at) => cell.setAttribute("data-head", heads[at] ?? ""));
      }
    }
  });
  return <table ref={table} {...rest}>{children}</table>;
}
