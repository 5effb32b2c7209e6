"""A corpus of more runs than a list of choices holds: its runs page by page, by name and verdict.

A run is read and checked when somebody opens it; until then its verdict is not known.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from canvass.browser import api
from canvass.browser.guard import bad_request
from canvass.browser.reports import PAGE, page_of, placed, run_name
from canvass.browser.sources import Source
from canvass.corpus.summary import VERDICTS

UNCHECKED: Final = "UNCHECKED"
Place = tuple[Path, str]
"""Where a run is, and its id."""


class OpenCorpus:
    """Runs that are listed, and runs that were opened.

    Parameters
    ----------
    title
        For a person.
    places
        The runs in their order.
    open_run
        Gives the source of one.
    """

    def __init__(
        self, title: str, places: Sequence[Place], open_run: Callable[[Path, str], Source]
    ) -> None:
        self._title = title
        self._places = places
        self._texts = [f"{run_id}\n{path}".casefold() for path, run_id in places]
        self._open_run = open_run
        self._lock = threading.Lock()
        self._opened: dict[int, Source] = {}
        self._known: dict[int, tuple[str, int, str]] = {}

    def run_at(self, number: int) -> Source | None:
        """Open a run by its number; None if there is none."""
        if not 0 <= number < len(self._places):
            return None
        source = self._open_run(*self._places[number])
        with self._lock:
            self._learn()
            self._opened[number] = source
        return source

    def _learn(self) -> None:
        """Take down verdicts that have been found, and let go of what had been opened for them."""
        for number, source in list(self._opened.items()):
            if not source.content.made:
                continue
            run = source.content.get()
            if run.checked.done.is_set():
                verdict = run.checked.verdict
                name = UNCHECKED if verdict is None else verdict.verdict.value
                reason = run.checked.note
                if verdict is not None and verdict.divergences:
                    reason = verdict.divergences[0].text
                self._known[number] = (name, run.opened.total, reason)
                del self._opened[number]

    def view(self, source_id: str) -> api.CorpusView:
        """Say how many runs there are, and what is known of them."""
        with self._lock:
            self._learn()
            counts = Counter(name for name, _, _ in self._known.values())
        counts[UNCHECKED] += len(self._places) - counts.total()
        names = (*VERDICTS, UNCHECKED)
        return api.CorpusView(
            id=source_id,
            title=self._title,
            counts={name: counts[name] for name in names},
        )

    def runs(self, source_id: str, verdict: str, text: str, page: int) -> api.ReportRuns:
        """Give a page of the runs.

        Raises
        ------
        Refusal
            If there is no such verdict.
        """
        if verdict and verdict not in (*VERDICTS, UNCHECKED):
            raise bad_request(f"verdict is one of {', '.join((*VERDICTS, UNCHECKED))}")
        with self._lock:
            self._learn()
            known = dict(self._known)
        wanted = text.casefold()
        numbers = [
            number
            for number, name in enumerate(self._texts)
            if wanted in name and (not verdict or known.get(number, (UNCHECKED,))[0] == verdict)
        ]
        shown = numbers[page * PAGE : (page + 1) * PAGE]
        rows = (self._row(source_id, number, known.get(number)) for number in shown)
        return page_of(page, len(numbers), rows)

    def _row(
        self, source_id: str, number: int, known: tuple[str, int, str] | None
    ) -> api.ReportRun:
        path, run_id = self._places[number]
        verdict, events, reason = known or (UNCHECKED, None, "")
        return api.ReportRun(
            run_id=run_id,
            verdict=verdict,
            events=events,
            reason=reason,
            source=placed(str(path)),
            run=run_name(source_id, number),
        )
