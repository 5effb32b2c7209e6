// Actions as chips: if some are chosen, only their steps are drawn.

export function ActionChips(
  { actions, chosen, choose }: {
    actions: { readonly [name: string]: number };
    chosen: readonly string[];
    choose: (chosen: readonly string[]) => void;
  },
) {
  return (
    <div class="chips" role="group" aria-label="Actions">
      <button type="button" class="chip" aria-pressed={chosen.length === 0} onClick={() => choose([])}>all</button>
      {Object.entries(actions).map(([name, count]) => {
        const on = chosen.includes(name);
        return (
          <button
            key={name}
            type="button"
            class="chip"
            aria-pressed={on}
            onClick={() => choose(on ? chosen.filter((one) => one !== name) : [...chosen, name])}
          >
            {on ? "✓ " : ""}{name} <span class="chip-count">{count.toLocaleString("en")}</span>
          </button>
        );
      })}
    </div>
  );
}
