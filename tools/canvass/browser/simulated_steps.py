"""Simulated runs that take the steps of a graph: searched once, seed by seed, within bounds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from canvass.browser import api
from canvass.cluster.rules import REVISIONS, Rules

if TYPE_CHECKING:
    from canvass.conformance.diagnose import LoadedRun

MAX_RUNS: Final = 40
MAX_SECONDS: Final = 60.0
STEPS: Final = 2_000
"""Of each run before its faults stop."""

Steps = Callable[["LoadedRun"], dict[int, tuple[int, int]]]


class SimulatedSearch:
    """The first simulated run that takes each canonical step of a graph.

    Parameters
    ----------
    rules
        Of the members of the graph.
    steps
        Gives the canonical steps of the graph that a run takes, each with member and step.
    """

    def __init__(self, rules: Rules, steps: Steps) -> None:
        self._rules = rules
        self._steps = steps
        self._lock = threading.Lock()
        self._begun = False
        self.done = False
        self.runs = 0
        self.found: dict[int, api.SimulatedStep] = {}

    def begin(self) -> None:
        """Begin to search, unless that was begun."""
        with self._lock:
            if not self._begun:
                self._begun = True
                threading.Thread(target=self._search, daemon=True).start()

    def _search(self) -> None:
        try:
            begin = time.monotonic()
            revision = revision_of(self._rules)
            while revision and self.runs < MAX_RUNS and time.monotonic() - begin < MAX_SECONDS:
                self._run(revision, self.runs)
                self.runs += 1
        finally:
            self.done = True

    def _run(self, revision: str, seed: int) -> None:
        from canvass.conformance.diagnose import load
        from canvass.selftest.simulation_series import record_run, replay_command, run_id_of
        from canvass.simulation.options import PROFILES, Options

        options = PROFILES["swarm"](Options(seed, self._rules.member_count, revision, STEPS))
        with TemporaryDirectory(prefix="canvass-simulated-") as place:
            record_run(options, Path(place))
            loaded = load(Path(place) / run_id_of(options), run_id_of(options))
        command = replay_command(options)
        for canonical, (member, step) in self._steps(loaded).items():
            if canonical not in self.found:
                self.found[canonical] = api.SimulatedStep(
                    seed=seed, member=member, step=step, command=command
                )


def revision_of(rules: Rules) -> str:
    """Give the name under which members with some rules are simulated; empty if none is."""
    names = (*REVISIONS, "hardened")
    same = (one for one in names if Rules.of(one, rules.member_count) == rules)
    return next(same, "")
