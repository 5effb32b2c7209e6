"""The nearest loss from a state that the page shows: TLC searches, once at a time."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from canvass.browser import api
from canvass.browser.counterexamples import counterexample_of
from canvass.browser.questions import Refusal
from canvass.browser.sources import Lazy, Source, Store
from canvass.distance.report import found_text
from canvass.distance.search import Distance, Moment, SearchBounds, search
from canvass.simulation.log_contents import cut, length
from canvass.simulation.world import World
from canvass.spec.files import spec_root
from canvass.tlc import TlcError

BOUNDS: Final = SearchBounds(steps=12, seconds=60)


class Searches:
    """Searches for the page; a counterexample that is found becomes a source of the page."""

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, threading.Lock()
        self.nearest = lru_cache(maxsize=64)(self._search)

    def _search(self, moment: Moment) -> api.Nearest:
        """Search from a moment.

        Raises
        ------
        Refusal
            If another search runs, or TLC cannot search.
        """
        if not self._lock.acquire(blocking=False):
            raise Refusal(409, "busy", "another search is running; it ends within a minute")
        try:
            found = search(spec_root(), moment, BOUNDS)
        except TlcError as error:
            raise Refusal(422, "tlc", " ".join(str(error).split())) from None
        finally:
            self._lock.release()
        if found.failure:
            raise Refusal(422, "tlc", found.failure)
        return api.Nearest(
            text=found_text(found),
            states=found.states,
            counterexample=self._kept(found),
        )

    def _kept(self, found: Distance) -> str | None:
        if found.violation is None or not found.steps:
            return None
        title = f"loss after {found.label}"
        content = counterexample_of(found.violation, title)
        made = Lazy(lambda: content)
        return self._store.add(Source("counterexample", title, "found by a search", Path(), made))


def moment_after(start: Moment, world: World, label: str) -> Moment:
    """Give the moment after steps that were tried from a start."""
    committed = start.committed
    for log, s in zip(world.logs, world.members, strict=True):
        reached = min(s.commit_position, length(log))
        if reached > length(committed):
            committed = cut(log, reached)
    return replace(
        start,
        members=tuple(world.members),
        logs=tuple(world.logs),
        under_way=tuple(
            (i, j, one.message) for (i, j), queue in world.channels.items() for one in queue
        ),
        committed=committed,
        label=label,
    )
