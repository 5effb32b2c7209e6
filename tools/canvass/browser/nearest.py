"""The nearest loss from a state that the page shows: TLC searches, once at a time."""

from __future__ import annotations

import threading
from dataclasses import replace
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
from canvass.tlc.errors import TlcError

BOUNDS: Final = SearchBounds(steps=12, seconds=60)


THREAD: Final = "search for the nearest loss"
_SEARCHING: Final = api.Nearest(text="", states=0, counterexample=None, pending=True)


class Searches:
    """Searches for the page; a counterexample that is found becomes a source of the page.

    A search runs in a thread that ends with the process, and TLC with it. The page asks again.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, threading.Lock()
        self._answers: dict[Moment, api.Nearest | Refusal] = {}

    def nearest(self, moment: Moment) -> api.Nearest:
        """Give the nearest loss from a moment, or begin to search for it.

        Raises
        ------
        Refusal
            If another search runs, or TLC could not search. The next question begins again.
        """
        with self._lock:
            if moment not in self._answers:
                if _SEARCHING in self._answers.values():
                    message = "another search is running; it ends within a minute"
                    raise Refusal(409, "busy", message)
                self._answers[moment] = _SEARCHING
                work = threading.Thread(target=self._search, args=(moment,), name=THREAD)
                work.daemon = True
                work.start()
            answer = self._answers[moment]
            if isinstance(answer, Refusal):
                del self._answers[moment]
                raise answer
            return answer

    def _search(self, moment: Moment) -> None:
        answer: api.Nearest | Refusal
        try:
            found = search(spec_root(), moment, BOUNDS)
            if found.failure:
                raise TlcError(found.failure)
            kept = self._kept(found)
            answer = api.Nearest(found_text(found), found.states, kept, pending=False)
        except TlcError as error:
            answer = Refusal(422, "tlc", " ".join(str(error).split()))
        except Exception as error:  # noqa: BLE001 - the page must not wait forever
            answer = Refusal(500, "bug", f"this is a bug in canvass: {error!r}")
        with self._lock:
            self._answers[moment] = answer

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
