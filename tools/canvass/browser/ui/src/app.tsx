// The whole page: the header, and the source that the address names.

import { useState } from "preact/hooks";
import { apiPath } from "./api/client";
import type { Session, SourceInfo } from "./api/types";
import { useQuery } from "./api/use_query";
import { CorpusPage } from "./corpus/corpus_page";
import { CounterexamplePage } from "./counterexample/counterexample_page";
import { GraphPage } from "./graph/graph_page";
import { Header } from "./header";
import { KeyHelp } from "./keys/help";
import { useKeys } from "./keys/keys";
import { Empty, Failed } from "./parts/note";
import { ReportPage } from "./report/report_page";
import { shortened } from "./words/visible";
import { go, useRoute, type Route } from "./route/route";
import { RunPage } from "./run/run_page";
import { useTheme } from "./session/theme";
import { WhatIfPage } from "./what_if/what_if_page";

export function App() {
  const route = useRoute();
  const session = useQuery<Session>(apiPath(["session"]));
  const [help, setHelp] = useState(false);
  const [theme, setTheme] = useTheme();
  useKeys("Everywhere", [
    { keys: ["?"], does: "list the keys", run: () => setHelp(true) },
    { keys: ["Escape"], does: "leave a field or a list", run: leave },
    { keys: ["T"], does: "light or dark", run: () => setTheme(theme === "dark" ? "light" : "dark") },
    { keys: ["Backspace"], does: "the previous place", run: () => history.back() },
  ]);

  return (
    <div class="page">
      <Header
        session={session.data}
        source={sourceOf(route, session.data)}
        theme={theme}
        setTheme={setTheme}
        help={() => setHelp(true)}
      />
      {session.error ? <main><Refused error={session.error} /></main>
        : session.data ? <View route={route} session={session.data} />
        : <main><p class="waiting" role="status">Opening …</p></main>}
      {help ? <KeyHelp close={() => setHelp(false)} /> : null}
    </div>
  );
}

function leave(): void {
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}

function Refused({ error }: { error: Error }) {
  return (
    <Empty title="This page has no access to the server.">
      <Failed error={error} />
      <p>Open the address that <code>canvass browse</code> printed, with all that follows the #.</p>
    </Empty>
  );
}

/** The source that the address names. If it is not open, another source of its kind. */
function sourceOf(route: Route, session: Session | undefined): SourceInfo | undefined {
  const [kind, id] = route.parts;
  const sources = session?.sources ?? [];
  if (kind === undefined) {
    return sources[0];
  }
  const known = sources.find((source) => source.id === id);
  if (known) return known;
  // The server knows more by their ids: runs of a corpus or report, and what a search has found.
  if (kind === "run" && id !== undefined) return { id, kind, title: id, detail: "of a corpus or report" };
  if (kind === "counterexample" && id !== undefined) return { id, kind, title: id, detail: "" };
  // Ids of states are digests of their contents: a link into a graph still leads to its state if the
  // graph was built again and has another id.
  return sources.find((source) => source.kind === kind);
}

const VIEW = /^[a-z]{1,12}$/; // Links are untrusted.

function View({ route, session }: { route: Route; session: Session }) {
  const source = sourceOf(route, session);
  if (!source) {
    return (
      <main>
        <Empty title={route.parts.length > 0 ? "The source of this link is not open here." : "Nothing is open."}>
          <p>Open a graph, a run, a report or a counterexample: <code>canvass browse PATH …</code></p>
          {session.sources.length > 0
            ? <button type="button" onClick={() => go("#/")}>Show what is open</button> : null}
        </Empty>
      </main>
    );
  }
  const shown = VIEW.exec(route.query["view"] ?? "")?.[0];
  document.title = [shortened(source.title, 80), ...(shown ? [shown] : []), "canvass"].join(" · ");
  const moved = route.parts[1] !== undefined && route.parts[1] !== source.id;
  const rest = route.parts[0] === source.kind ? route.parts.slice(2) : [];
  const place = { source, rest, query: route.query, moved };
  const graphs = session.sources.filter((one) => one.kind === "graph");
  if (rest[0] === "what-if") return <WhatIfPage key={`${source.id} ${rest[1]}`} {...place} />;
  switch (source.kind) {
    case "graph": return <GraphPage key={source.id} {...place} />;
    case "run": return <RunPage key={source.id} {...place} graphs={graphs} />;
    case "corpus": return <CorpusPage key={source.id} {...place} />;
    case "report": return <ReportPage key={source.id} {...place} />;
    case "counterexample": return <CounterexamplePage key={source.id} {...place} />;
  }
}
