"""Questions about runs: what each one takes, and whom it asks."""

from __future__ import annotations

from canvass.browser.app import Answer, Question
from canvass.browser.arguments import Arguments
from canvass.browser.guard import not_found
from canvass.browser.limits import LANE_EVENTS
from canvass.browser.run_source import RunSource
from canvass.browser.sources import Store


class RunRoutes:
    """Answers about the runs of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def _run(self, arguments: Arguments) -> RunSource:
        run: RunSource = self._store.content("run", arguments.part("run"))
        return run

    def info(self, arguments: Arguments) -> Answer:
        """Tell what is known of a run."""
        return self._run(arguments).view(arguments.part("run"))

    def lanes(self, arguments: Arguments) -> Answer:
        """Draw some events."""
        run = self._run(arguments)
        start = arguments.number("from", 0, max(0, run.opened.total))
        return run.lanes(start, arguments.number("count", 200, LANE_EVENTS, 1))

    def members(self, arguments: Arguments) -> Answer:
        """Tell where the members are after an event."""
        opened = self._run(arguments).opened
        return opened.members_at(arguments.number("at", 0, max(0, opened.total - 1)))

    def step(self, arguments: Arguments) -> Answer:
        """Tell everything of one step."""
        run = self._run(arguments)
        member, step = arguments.number_in_path("member"), arguments.number_in_path("step")
        row = run.opened.lanes.row_of(member, step)
        if row is None:
            raise not_found(f"the run has no step {step} of member {member}")
        return run.opened.step(row, None, run.wrong_at(member, step))


def run_questions(store: Store) -> list[Question]:
    """Give the questions about runs."""
    routes = RunRoutes(store)
    return [
        Question("/run/{run}", (), routes.info),
        Question("/run/{run}/lanes", ("from", "count"), routes.lanes),
        Question("/run/{run}/members", ("at",), routes.members),
        Question("/run/{run}/step/{member}/{step}", (), routes.step),
    ]
