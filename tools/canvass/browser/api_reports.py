"""What is said of reports and counterexamples."""

from __future__ import annotations

from typing import Any

from canvass.browser.api_base import Data
from canvass.browser.api_graphs import ActionCoverage
from canvass.browser.api_runs import Lanes
from canvass.lanes.of_run import Change


class ReportCluster(Data, frozen=True):
    """Divergences that are alike."""

    signature: str
    divergence_class: str
    action: str
    count: int
    runs: int
    example: str | None
    """Id of the run as a source; null if it is no longer there."""
    example_run_id: str
    member: int
    step: int
    message: str


class ReportRun(Data, frozen=True):
    """A run of a report or corpus."""

    run_id: str
    verdict: str
    """``UNCHECKED`` of a run of a corpus that was not opened yet."""
    events: int | None
    """Null until they are counted."""
    reason: str
    source: str
    run: str | None
    """Id of the run as a source; null if it cannot be opened."""


class ReportRuns(Data, frozen=True):
    """A page of the runs of a report or corpus."""

    page: int
    pages: int
    total: int
    runs: tuple[ReportRun, ...]


class CorpusView(Data, frozen=True):
    """A corpus of many runs."""

    id: str
    title: str
    counts: dict[str, int]
    """Runs by verdict."""


class ReportView(Data, frozen=True):
    """A report on a corpus."""

    id: str
    title: str
    counts: dict[str, int]
    """Runs by verdict."""
    events: int
    divergences: int
    seconds: float
    events_per_second: float
    clusters: tuple[ReportCluster, ...]
    cluster_count: int
    coverage: tuple[ActionCoverage, ...]
    never_taken: tuple[str, ...]
    runs: ReportRuns


class CounterexampleState(Data, frozen=True):
    """A state of a counterexample."""

    number: int
    action: str
    acting: str
    changes: tuple[Change, ...]
    tree: dict[str, Any]


class CounterexampleView(Data, frozen=True):
    """A behaviour that violates a property."""

    id: str
    title: str
    claim: str
    explanation: tuple[str, ...]
    loop: int | None
    """Number of the state that the behaviour goes back to."""
    stuttering: bool
    states: tuple[CounterexampleState, ...]
    states_total: int
    lanes: Lanes | None
    """Null if the states are not those of a cluster."""
    hazards: tuple[str, ...]
    """Hazards with a page of their own that the model shows."""
