"""A run as the page sees it: its events, and the verdict as soon as there is one."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from canvass.browser import api
from canvass.browser.explanations import explanation_of
from canvass.browser.graphs import OpenGraph
from canvass.browser.guard import Refusal, not_found
from canvass.browser.member_steps import MemberSteps
from canvass.browser.run_find import RunStates
from canvass.browser.runs import OpenRun
from canvass.browser.sources import Lazy, Store
from canvass.browser.verdicts import Checked, Checker, divergence_of, findings_of
from canvass.conformance.report import about
from canvass.traces.run import RunFolder


class RunSource:
    """A run that was opened, and is being checked.

    Parameters
    ----------
    path, title
        Where it is, and what the page calls it; of a data set the title is the run's id.
    checker
        Who finds the verdict.
    logs
        Where the logs are that the run was imported from, if that is known.

    Raises
    ------
    TraceError
        If it is no trace.
    """

    def __init__(self, path: Path, title: str, checker: Checker, logs: Path | None = None) -> None:
        run_id = RunFolder(path).run.run_id if path.is_dir() else title
        self.title = title
        self.opened = OpenRun(path, run_id, logs)
        self.checked: Checked = checker.check(self.opened)
        self.states: Lazy[RunStates] = Lazy(lambda: RunStates(self.opened))
        self._explanation: Lazy[api.ExplanationView] = Lazy(lambda: explanation_of(self.opened))

    def graph(self, store: Store) -> tuple[str, OpenGraph, MemberSteps] | None:
        """Give the first graph whose member has the rules of the run."""
        for name, _ in store.of_kind("graph"):
            # The routes of a graph that cannot be read say what is wrong with it.
            with suppress(Refusal):
                graph: OpenGraph = store.content("graph", name)
                if graph.steps is not None and self._fits(graph.steps):
                    return name, graph, graph.steps
        return None

    def _fits(self, steps: MemberSteps) -> bool:
        try:
            return steps.fits(self.opened.run.rules)
        except ValueError:
            return False  # The run is of rules that there are not; its verdict says so.

    def view(self, source_id: str) -> api.RunView:
        """Say what is known of the run."""
        run, checked = self.opened.run, self.checked
        verdict = checked.verdict
        note = checked.note
        if verdict is not None and not note and not verdict.divergences:
            note = about(verdict)
        case = checked.case
        return api.RunView(
            id=source_id,
            run_id=run.run_id,
            title=self.title,
            revision=run.revision,
            verdict=None if verdict is None else verdict.verdict.value,
            checking=not checked.done.is_set(),
            note=note,
            divergence=None if case is None else divergence_of(self.opened, case),
            findings=() if verdict is None else findings_of(verdict),
            members=self.opened.members(),
            events=self.opened.total,
        )

    def explanation(self) -> api.ExplanationView:
        """Say what happened in the run; found out once.

        Raises
        ------
        Refusal
            For a run of a data set, whose streams are no files.
        """
        if not self.opened.path.is_dir():
            raise not_found("a run of a data set is not explained: give its run folder")
        return self._explanation.get()

    def wrong_at(self, member: int, step: int) -> str:
        """Say what is wrong at a step, if something is."""
        verdict = self.checked.verdict
        found = () if verdict is None else verdict.divergences
        return "; ".join(one.text for one in found if (one.member, one.step) == (member, step))
