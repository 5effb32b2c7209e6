// A scene in words: each state with the steps that leave it. The list mirrors the drawing.

import { useKeys } from "../keys/keys";
import type { Scene, SceneLink } from "./scene";

export function SceneList(
  { scene, current, open }: { scene: Scene; current: string | undefined; open: (id: string) => void },
) {
  const out = new Map<string, SceneLink[]>();
  for (const link of scene.links) out.set(link.source, [...(out.get(link.source) ?? []), link]);
  const labels = new Map(scene.nodes.map((node) => [node.id, node.label]));
  const nodes = scene.nodes.filter((node, at) => scene.nodes.findIndex((one) => one.id === node.id) === at);
  useKeys("List", [
    { keys: ["ArrowDown"], does: "next state", run: () => focusBy(1) },
    { keys: ["ArrowUp"], does: "state before", run: () => focusBy(-1) },
  ]);
  return (
    <div class="scroll">
      {scene.leftOut ? <p class="note">{scene.leftOut}.</p> : null}
      <ul class="scene-list" aria-label="States">
        {nodes.map((node) => (
          <li key={node.id} class={node.id === current ? "is-current" : ""}>
            <button type="button" class="state-link" data-state-button={node.id} aria-current={node.id === current} onClick={() => open(node.id)}>
              <span class={`swatch phase-${node.look}`}>{node.sign}</span> {node.label}
            </button>
            {node.initial ? <span class="tag">initial</span> : null}
            {node.terminal ? <span class="tag">end</span> : null}
            {node.violating ? <span class="tag is-bad">violates</span> : null}
            {node.shares.length > 0 ? <span class="soft">{` ${node.shares.map(({ value, count }) => `${value} ×${count.toLocaleString("en")}`).join(", ")}`}</span> : null}
            {node.more > 0 ? <span class="soft">{` ${node.more} steps not drawn`}</span> : null}
            {node.loops.length > 0 ? <span class="soft">{` ↻ ${node.loops.join(", ")}`}</span> : null}
            <ul>
              {(out.get(node.id) ?? []).map((link) => (
                <li key={link.id} class={link.lit ? "is-lit" : ""}>
                  <span class="step-name">{link.label}</span>
                  {" → "}
                  <button type="button" class="inline" onClick={() => open(link.target)}>{labels.get(link.target)}</button>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </div>
  );
}

function focusBy(by: number): void {
  const all = [...document.querySelectorAll<HTMLElement>(".scene-list .state-link")];
  const at = all.findIndex((element) => element === document.activeElement);
  all[Math.min(all.length - 1, Math.max(0, at + by))]?.focus();
}
