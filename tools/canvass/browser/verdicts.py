"""The verdict on a run and what explains it, found in the background as `canvass verify` does.

One thread checks one run after the other; TLC may take seconds. Nothing here decides anything:
`canvass.conformance` does.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from canvass.browser import api
from canvass.browser.causes import levels_of, receipt_of
from canvass.browser.hazards import hazards_in
from canvass.browser.runs import OpenRun
from canvass.conformance.check import check_units
from canvass.conformance.diagnose import diagnose
from canvass.conformance.refused_step import Explanation, explain
from canvass.conformance.report import CLASS_TEXTS, Case, draw, place_of
from canvass.conformance.step_lookup import StepLookup
from canvass.conformance.verdict import RunVerdict, verdict_on
from canvass.traces.parquet import DatasetFile, FactFinder

_T = TypeVar("_T")


@dataclass(slots=True)
class Checked:
    """What is known of a run's verdict so far."""

    verdict: RunVerdict | None = None
    case: Case | None = None
    note: str = ""
    done: threading.Event = field(default_factory=threading.Event)


class Checker:
    """Checks runs, one after the other, in a thread that ends with the program.

    Parameters
    ----------
    lookup
        Who decides steps.
    """

    def __init__(self, lookup: StepLookup) -> None:
        self._lookup = lookup
        self._waiting: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def check(self, opened: OpenRun) -> Checked:
        """Begin to check a run."""
        found = Checked()
        self._waiting.put(lambda: _settle(opened, self._lookup, found))
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()
        return found

    def _work(self) -> None:
        while True:
            self._waiting.get()()


def _settle(opened: OpenRun, lookup: StepLookup, found: Checked) -> None:
    try:
        verdict = verdict_of(opened, lookup)
        try:
            if verdict.divergences:
                found.case = _case(opened, verdict, lookup)
        finally:
            # Last: when the page shows that a run diverges it can show where.
            found.verdict = verdict
    except Exception as error:  # noqa: BLE001 - whatever is wrong is reported where the verdict would be
        reason = " ".join(str(error).split())
        found.note = f"not checked: {type(error).__name__}: {reason}"
    finally:
        found.done.set()


def verdict_of(opened: OpenRun, lookup: StepLookup) -> RunVerdict:
    """Check a run: a folder as `canvass verify` does, one of a data set alone."""
    if opened.path.is_dir():
        return check_units([opened.path], lookup).runs[0]
    run_id = opened.run.run_id
    finder = FactFinder()
    with DatasetFile(opened.path) as file:
        for batch in file.batches(file.groups_of(run_id)):
            finder.look(batch)
        facts = tuple(finder.facts_of(file.runs[run_id]))
    wrong = diagnose(opened.loaded, facts, lookup)
    unchecked = int((opened.loaded.states.before < 0).sum())
    return RunVerdict(
        run_id=run_id,
        path=str(opened.path),
        verdict=verdict_on(diverges=bool(wrong), facts=facts, unchecked=unchecked),
        events=opened.total,
        unchecked=unchecked,
        divergences=wrong,
        facts=facts,
    )


def _case(opened: OpenRun, verdict: RunVerdict, lookup: StepLookup) -> Case:
    first = verdict.divergences[0]
    return Case(
        run=verdict,
        explanation=explain(opened.loaded, first, lookup),
        place=place_of(verdict, first),
        diagram=draw(opened.loaded, first),
    )


def divergence_of(opened: OpenRun, case: Case) -> api.Divergence:
    """Give the first divergence of a run."""
    content: Explanation = case.explanation
    first = content.divergence
    return api.Divergence(
        member=first.member,
        step=first.step,
        event_number=opened.number_of(first.member, first.step) or 0,
        kind=first.kind.value,
        name=first.name,
        message=first.text,
        about=CLASS_TEXTS[first.kind],
        changed=content.changed,
        expected=content.alternatives,
        receipt=_first_of(receipt_of(opened, one) for one in case.run.divergences),
        levels=_first_of(levels_of(opened, one) for one in case.run.divergences) or (),
        hazards=hazards_in(*(one.text for one in case.run.divergences)),
        enabled=content.enabled,
        failing=content.failing,
        operator=content.operator,
        note=content.note,
        place=str(case.place),
        commands=case.commands,
    )


def _first_of(found: Iterable[_T]) -> _T | None:
    """Give the first that is something."""
    return next((one for one in found if one), None)


def findings_of(verdict: RunVerdict) -> tuple[api.Finding, ...]:
    """Give everything that is wrong with a run or missing from it."""
    wrong = [
        api.Finding(
            kind=one.kind.value,
            name=one.name,
            member=one.member,
            step=one.step,
            message=one.text,
        )
        for one in verdict.divergences
    ]
    missing = [
        api.Finding(
            kind="MISSING",
            name=fact.kind.value,
            member=fact.member_id,
            step=fact.step,
            message=fact.detail,
        )
        for fact in verdict.facts
    ]
    return (*wrong, *missing)


def marks_of(opened: OpenRun, verdict: RunVerdict | None) -> dict[int, str]:
    """Say of the rows at which a run diverges what is wrong there."""
    found: dict[int, str] = {}
    for one in () if verdict is None else verdict.divergences:
        row = opened.lanes.row_of(one.member, one.step)
        if row is not None:
            found.setdefault(row, one.name)
    return found
