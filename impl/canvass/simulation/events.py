"""Virtual time, the queue of events, and the results of a run.

There is one thread and no real clock. Events of the same nanosecond happen in the order in which
they were scheduled.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from canvass.simulation.options import Options


@dataclass(frozen=True, slots=True)
class Finding:
    """A violated property."""

    property_name: str
    violation: str
    step: int
    """How many steps the run had taken."""
    time_ns: int


class Events:
    """The events of one run.

    Attributes
    ----------
    options
        The options of the run.
    now_ns
        Virtual time.
    steps
        The number of steps that all members have taken.
    counts
        Elections won, and how often each fault has occurred.
    findings
        The first violation of each property, by name.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.now_ns = 0
        self.steps = 0
        self.counts: Counter[str] = Counter()
        self.findings: dict[str, Finding] = {}
        self._digest = blake2b(digest_size=16)
        self._queue: list[tuple[int, int, Callable[[], object]]] = []
        self._sequence = 0

    def schedule(self, at_ns: int, what: Callable[[], object]) -> None:
        """Call ``what`` at time ``at_ns``."""
        self._sequence += 1
        heapq.heappush(self._queue, (at_ns, self._sequence, what))

    def happen(self) -> None:
        """Advance the time to the next event, and let it happen."""
        self.now_ns, _, what = heapq.heappop(self._queue)
        what()

    def find(self, name: str, violation: str) -> None:
        """Keep a violation as a finding, if it is the first one of its property."""
        self.findings.setdefault(name, Finding(name, violation, self.steps, self.now_ns))

    def hash(self, fact: bytes) -> None:
        """Add a fact to the digest of the run."""
        self._digest.update(fact)

    @property
    def digest(self) -> str:
        """A hash of all facts."""
        return self._digest.hexdigest()
