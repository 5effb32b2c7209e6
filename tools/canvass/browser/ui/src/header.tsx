// The bar at the top: the open sources, colours and keys.

import type { Session, SourceInfo } from "./api/types";
import { formatRoute, go } from "./route/route";
import { THEMES, type Theme } from "./session/theme";
import { shortened } from "./words/visible";

const KIND_WORDS = {
  graph: "Graphs", run: "Runs", corpus: "Corpora", report: "Reports", counterexample: "Counterexamples",
} as const;
const THEME_WORDS: { readonly [theme in Theme]: string } = {
  system: "System colours", light: "Light", dark: "Dark", contrast: "High contrast",
};

export function Header(
  { session, source, theme, setTheme, help }: {
    session: Session | undefined;
    source: SourceInfo | undefined;
    theme: Theme;
    setTheme: (theme: Theme) => void;
    help: () => void;
  },
) {
  const kinds = (Object.keys(KIND_WORDS) as (keyof typeof KIND_WORDS)[]).map((kind) => ({
    kind, sources: (session?.sources ?? []).filter((one) => one.kind === kind),
  }));
  return (
    <header class="bar">
      <a class="mark" href="#/" title="The start">canvass</a>
      <label class="source-choice">
        <span class="hidden">What to look at</span>
        <select
          value={source?.id ?? ""}
          onChange={(event) => {
            const chosen = session?.sources.find((one) => one.id === event.currentTarget.value);
            if (chosen) go(formatRoute([chosen.kind, chosen.id]));
          }}
        >
          {source ? null : <option value="">nothing open</option>}
          {source && !session?.sources.includes(source)
            ? <option value={source.id}>{shortened(source.title, 80)}</option> : null}
          {kinds.filter((one) => one.sources.length > 0).map((one) => (
            <optgroup key={one.kind} label={KIND_WORDS[one.kind]}>
              {one.sources.map((each) => (
                <option key={each.id} value={each.id}>{shortened(each.title, 80)}</option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      <span class="bar-detail">{source ? shortened(source.detail, 120) : ""}</span>
      <span class="bar-space" />
      <label class="theme-choice">
        <span class="hidden">Colours</span>
        <select
          value={theme}
          onChange={(event) => {
            const chosen = THEMES.find((one) => one === event.currentTarget.value);
            if (chosen) setTheme(chosen);
          }}
        >
          {THEMES.map((one) => <option key={one} value={one}>{THEME_WORDS[one]}</option>)}
        </select>
      </label>
      <button type="button" class="quiet" onClick={help} aria-keyshortcuts="?">
        Keys <kbd>?</kbd>
      </button>
    </header>
  );
}
