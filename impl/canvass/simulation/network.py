"""The network of a simulated cluster: which links work, and messages on their way.

A link from one member to another carries two kinds of streams, consensus messages and the log; each
can be cut alone. Consensus messages of one link arrive in the order in which they were sent, or not
at all. What is in the log's streams is the business of `canvass.simulation.archive`.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from typing import Final

from canvass.cluster.ports import Received
from canvass.simulation.options import Options, rng_of

CONSENSUS: Final = "consensus"
LOG: Final = "log"
STREAMS: Final = (CONSENSUS, LOG)

Cut = tuple[int, int, str]
"""Sender, receiver and kind of stream."""


class Network:
    """The links between members, and what is on its way.

    Parameters
    ----------
    options
        Of the run.
    fired
        Counts each fault that has struck.
    """

    def __init__(self, options: Options, fired: Counter[str]) -> None:
        count = options.member_count
        self._options, self._fired = options, fired
        self._rng: random.Random = rng_of(options.seed, "network")
        self._cuts: Counter[Cut] = Counter()
        self._on_way: list[deque[tuple[int, Received]]] = [deque() for _ in range(count * count)]
        self._count = count
        self.calm = False
        """Whether the faults have stopped."""

    def cut(self, links: tuple[Cut, ...]) -> None:
        """Cut links. Each cut is undone by itself."""
        self._cuts.update(links)

    def mend(self, links: tuple[Cut, ...]) -> None:
        """Undo a cut."""
        self._cuts.subtract(links)

    def heal(self) -> None:
        """Mend everything; nothing is dropped or late from now on."""
        self._cuts.clear()
        self.calm = True

    def works(self, sender: int, receiver: int, stream: str) -> bool:
        """Whether a kind of stream gets from one member to another now."""
        return self._cuts[sender, receiver, stream] <= 0

    def send(self, now_ns: int, receiver: int, sent: Received) -> int:
        """Put a message on its way; say when it arrives, or -1 if it is lost."""
        faults, rng = self._options.faults, self._rng
        if not self.works(sent.sender, receiver, CONSENSUS):
            self._fired["message lost in a cut"] += 1
            return -1
        delay_ns = int(self._options.network_delay_ns * (0.5 + rng.random()))
        if not self.calm:
            if faults.drop_probability and rng.random() < faults.drop_probability:
                self._fired["message dropped"] += 1
                return -1
            if faults.delay_tail_probability and rng.random() < faults.delay_tail_probability:
                self._fired["message late"] += 1
                delay_ns = int(delay_ns * 1_000 ** rng.random())
        channel = self._on_way[sent.sender * self._count + receiver]
        arrival_ns = now_ns + delay_ns
        if channel:
            arrival_ns = max(arrival_ns, channel[-1][0])
        channel.append((arrival_ns, sent))
        return arrival_ns

    def poll(self, now_ns: int, receiver: int) -> Received | None:
        """Take the message to a member that has arrived first."""
        first: deque[tuple[int, Received]] | None = None
        for sender in range(self._count):
            channel = self._on_way[sender * self._count + receiver]
            arrived = channel and channel[0][0] <= now_ns
            if arrived and (first is None or channel[0][0] < first[0][0]):
                first = channel
        return first.popleft()[1] if first else None

    def lose_all_to(self, receiver: int) -> None:
        """Lose what is on its way to a member that has ended."""
        for sender in range(self._count):
            self._on_way[sender * self._count + receiver].clear()

    def accepts(self, sender: int, receiver: int) -> bool:
        """Whether a member's publication to another one is connected, which is up."""
        return self.works(sender, receiver, CONSENSUS) and self.works(receiver, sender, CONSENSUS)
