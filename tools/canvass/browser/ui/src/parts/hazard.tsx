// The project's page on a hazard of the protocol: its beginning, and a button for the rest.

import { useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { HazardPage } from "../api/types";
import { useQuery } from "../api/use_query";
import { blocksOf, type TextBlock } from "./markdown";
import { Awaited } from "./note";

export function Hazard({ name }: { name: string }) {
  const [open, setOpen] = useState(false);
  const page = useQuery<HazardPage>(apiPath(["hazard", name]));
  return (
    <section class="hazard" data-hazard={name}>
      <Awaited answer={page} what={name}>
        {({ lines }) => {
          const [title, ...blocks] = blocksOf(lines.join("\n"));
          return (
            <>
              <h3>{title?.text}</h3>
              {blocks.filter((block) => block.kind === "paragraph").slice(0, 2).map((block, at) => <p key={at}>{block.text}</p>)}
              <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? "Less" : `All of ${name}`}</button>
              {open ? <div class="hazard-page">{blocks.map((block, at) => <Block key={at} block={block} />)}</div> : null}
            </>
          );
        }}
      </Awaited>
    </section>
  );
}

function Block({ block }: { block: TextBlock }) {
  if (block.kind === "heading") return <h3>{block.text}</h3>;
  if (block.kind === "code") return <pre class="source" tabIndex={0}>{block.text}</pre>;
  return <p>{block.text}</p>;
}
