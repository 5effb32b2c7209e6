"""Questions to TLC about a state: what the nearest loss is, and whether TLC confirms a path.

One question runs at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path
from typing import Final

from canvass.browser import api
from canvass.browser.counterexamples import counterexample_of
from canvass.browser.questions import Refusal
from canvass.browser.sources import Lazy, Source, Store
from canvass.distance.search import Moment, SearchBounds, found_text, search
from canvass.simulation.world import World, cut, length
from canvass.spec.files import spec_root
from canvass.tlc.errors import TlcError

BOUNDS: Final = SearchBounds(steps=12, seconds=60)


THREAD: Final = "question to TLC"
_PENDING: Final = api.TlcAnswer(text="", states=0, counterexample=None, pending=True)


class TlcQuestions:
    """Questions of the page to TLC; a counterexample that it finds becomes a source of the page.

    TLC runs in a thread; both end with this process. The page repeats a question until it has the
    answer.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, threading.Lock()
        self._answers: dict[Hashable, api.TlcAnswer | Refusal] = {}

    def ask(self, question: Hashable, work: Callable[[], api.TlcAnswer]) -> api.TlcAnswer:
        """Give the answer to a question, or begin to work on it.

        Raises
        ------
        Refusal
            If TLC works on another question, or could not answer. After that, the same question
            starts TLC again.
        """
        with self._lock:
            if question not in self._answers:
                if _PENDING in self._answers.values():
                    message = "TLC works on another question; it ends within a minute"
                    raise Refusal(409, "busy", message)
                self._answers[question] = _PENDING
                thread = threading.Thread(target=self._work, args=(question, work), name=THREAD)
                thread.daemon = True
                thread.start()
            answer = self._answers[question]
            if isinstance(answer, Refusal):
                del self._answers[question]
                raise answer
            return answer

    def _work(self, question: Hashable, work: Callable[[], api.TlcAnswer]) -> None:
        answer: api.TlcAnswer | Refusal
        try:
            answer = work()
        except TlcError as error:
            answer = Refusal(422, "tlc", " ".join(str(error).split()))
        except Exception as error:  # noqa: BLE001 - the page must not wait forever
            answer = Refusal(500, "bug", f"this is a bug in canvass: {error!r}")
        with self._lock:
            self._answers[question] = answer

    def nearest(self, moment: Moment) -> api.TlcAnswer:
        """Search for the nearest loss from a moment."""
        found, kept = search(spec_root(), moment, BOUNDS), None
        if found.failure:
            raise TlcError(found.failure)
        if found.violation is not None and found.steps:
            title = f"loss after {found.label}"
            content = counterexample_of(found.violation, title)
            made = Lazy(lambda: content)
            source = Source("counterexample", title, "found by a search", Path(), made)
            kept = self._store.add(source)
        return api.TlcAnswer(found_text(found), found.states, kept, pending=False)


def moment_after(start: Moment, world: World, label: str) -> Moment:
    """Give the moment after the steps that were tried from a start; ``world`` is their result."""
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
