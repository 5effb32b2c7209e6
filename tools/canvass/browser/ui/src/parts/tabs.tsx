// Tabs for several views. Arrow keys go from tab to tab.

export interface Tab {
  readonly id: string;
  readonly title: string;
  /** A word of warning beside the title. */
  readonly badge?: string;
}

export function Tabs(
  { label, tabs, chosen, choose }: {
    label: string;
    tabs: readonly Tab[];
    chosen: string;
    choose: (id: string) => void;
  },
) {
  const move = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const at = tabs.findIndex((tab) => tab.id === chosen);
    const next = tabs[(at + by + tabs.length) % tabs.length];
    if (!next) return;
    choose(next.id);
    const row = event.currentTarget as HTMLElement;
    row.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          data-tab={tab.id}
          aria-selected={tab.id === chosen}
          tabIndex={tab.id === chosen ? 0 : -1}
          onClick={() => choose(tab.id)}
        >
          {tab.title}
          {tab.badge ? <span class="tab-badge">{tab.badge}</span> : null}
        </button>
      ))}
    </div>
  );
}
