// Actions as chips: if some are chosen, only their steps are drawn.

import type { ActionCount } from "../api/types";

export function ActionChips(
  { actions, chosen, choose }: {
    actions: readonly ActionCount[];
    chosen: readonly string[];
    choose: (chosen: readonly string[]) => void;
  },
) {
  return (
    <div class="chips" role="group" aria-label="Actions">
      <button type="button" class="chip" aria-pressed={chosen.length === 0} onClick={() => choose([])}>all</button>
      {actions.map((action) => {
        const on = chosen.includes(action.name);
        return (
          <button
            key={action.name}
            type="button"
            class="chip"
            aria-pressed={on}
            onClick={() => choose(on ? chosen.filter((name) => name !== action.name) : [...chosen, action.name])}
          >
            {on ? "✓ " : ""}{action.name} <span class="chip-count">{action.count.toLocaleString("en")}</span>
          </button>
        );
      })}
    </div>
  );
}
