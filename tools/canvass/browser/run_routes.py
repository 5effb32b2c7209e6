"""Questions about runs, corpora, reports and counterexamples: their arguments and answers."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from canvass.browser import api
from canvass.browser.counterexamples import Counterexample
from canvass.browser.explanations import hazard_page
from canvass.browser.limits import LANE_EVENTS, LISTED
from canvass.browser.questions import Answer, Arguments, at, bad_request, not_found
from canvass.browser.reports import OpenCorpus, OpenReport
from canvass.browser.run_find import find_in_run, next_change
from canvass.browser.runs import FOLDS, timeline_of
from canvass.browser.sources import Store
from canvass.browser.verdicts import RunSource, marks_of

MAX_PAGE: Final = 1_000_000


class RunRoutes:
    """Answers about the runs of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def _run(self, arguments: Arguments) -> RunSource:
        run: RunSource = self._store.content("run", arguments.part("run"))
        return run

    @at("/run/{run}")
    def info(self, arguments: Arguments) -> Answer:
        """Describe a run, with its verdict if it is checked."""
        return self._run(arguments).view(arguments.part("run"))

    @at("/run/{run}/lanes")
    def lanes(self, arguments: Arguments) -> Answer:
        """Draw a window of the events."""
        run = self._run(arguments)
        total = run.opened.total
        show = arguments.text("show")
        if show and show not in FOLDS:
            raise bad_request(f"show is one of: {', '.join(FOLDS)}")
        last = max(0, total - 1)
        around = arguments.number("around", 0, last) if arguments.text("around") else None
        start = (
            arguments.number("from", 0, total) if arguments.text("from") or around is None else None
        )
        count = arguments.number("count", 200, LANE_EVENTS, 1)
        marks = marks_of(run.opened, run.checked.verdict)
        return run.opened.window(count, marks, show=show, start=start, around=around)

    @at("/run/{run}/members")
    def members(self, arguments: Arguments) -> Answer:
        """Give the states of all members after an event."""
        opened = self._run(arguments).opened
        return opened.members_at(arguments.number("at", 0, max(0, opened.total - 1)))

    @at("/run/{run}/step/{member}/{step}")
    def step(self, arguments: Arguments) -> Answer:
        """Describe a step, with its place in an open graph."""
        run = self._run(arguments)
        member, step = arguments.number_in_path("member"), arguments.number_in_path("step")
        row = run.opened.lanes.row_of(member, step)
        if row is None:
            raise not_found(f"the run has no step {step} of member {member}")
        answer = run.opened.step(row, run.wrong_at(member, step))
        if (found := run.graph(self._store)) is None:
            return answer
        name, graph, steps = found
        if not steps.ready():
            return replace(answer, graph_pending=True)
        if (place := steps.place(run.opened.loaded, row)) is None:
            return answer
        edge, *ends = place
        source, target = map(graph.view.id_of, ends)
        return replace(answer, graph=api.InGraph(name, source, target, edge))

    @at("/run/{run}/explanation")
    def explanation(self, arguments: Arguments) -> Answer:
        """Explain what happened in a run."""
        return self._run(arguments).explanation()

    @at("/run/{run}/find")
    def find(self, arguments: Arguments) -> Answer:
        """Find the events after which a predicate holds."""
        run = self._run(arguments)
        limit = arguments.number("limit", 100, LISTED, 1)
        return find_in_run(run.opened, run.states.get(), arguments.text("where"), limit)

    @at("/run/{run}/change")
    def change(self, arguments: Arguments) -> Answer:
        """Find the next change of a field."""
        opened = self._run(arguments).opened
        at = arguments.number("at", 0, max(0, opened.total - 1))
        member = arguments.number("member", 0, max(0, len(opened.places) - 1))
        return next_change(opened, arguments.required("field"), member, at)

    @at("/hazard/{hazard}")
    def hazard(self, arguments: Arguments) -> Answer:
        """Give the page on a hazard."""
        return hazard_page(arguments.part("hazard"))

    @at("/run/{run}/timeline")
    def timeline(self, arguments: Arguments) -> Answer:
        """Give election states, leaderships and marks of the whole run."""
        run = self._run(arguments)
        return timeline_of(run.opened, marks_of(run.opened, run.checked.verdict))

    def _many(self, arguments: Arguments) -> tuple[str, OpenReport | OpenCorpus]:
        kind, name = arguments.place
        found: OpenReport | OpenCorpus = self._store.content(kind, name)
        return name, found

    @at("/report/{report}", "/corpus/{corpus}")
    def many(self, arguments: Arguments) -> Answer:
        """Give the summary of a report, or count the runs of a corpus."""
        name, found = self._many(arguments)
        return found.view(name)

    @at("/report/{report}/runs", "/corpus/{corpus}/runs")
    def runs(self, arguments: Arguments) -> Answer:
        """Give a page of the runs of a report or corpus."""
        name, found = self._many(arguments)
        page = arguments.number("page", 0, MAX_PAGE)
        return found.runs(name, arguments.text("verdict"), arguments.text("text"), page)

    @at("/counterexample/{counterexample}")
    def counterexample(self, arguments: Arguments) -> Answer:
        """Describe a counterexample."""
        name = arguments.part("counterexample")
        found: Counterexample = self._store.content("counterexample", name)
        return found.view(name)

    @at("/counterexample/{counterexample}/formula")
    def formula(self, arguments: Arguments) -> Answer:
        """Give the definition of the violated property, and its false parts in each state."""
        found: Counterexample = self._store.content(
            "counterexample", arguments.part("counterexample")
        )
        return found.formula()
