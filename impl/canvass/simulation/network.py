"""The network of a simulated cluster: which links work, and when messages arrive.

A link from one member to another has two channels, for consensus messages and for the log. Each can
be cut alone. A client has channels too. The messages of one channel arrive in their order, or not
at all. A message that is not a consensus message may arrive a second time: log streams and clients
must tolerate this.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Final

from canvass.simulation.events import Events
from canvass.simulation.options import rng_of

CONSENSUS: Final = "consensus"
LOG: Final = "log"
CLIENTS: Final = "clients"
STREAMS: Final = (CONSENSUS, LOG)

Cut = tuple[int | str, int | str, str]
"""Sender, receiver and kind of stream: a channel. A client is known by its name."""


class Network:
    """The links between members, and to clients.

    Parameters
    ----------
    events
        The events of the run: a message arrives as one of them.
    """

    def __init__(self, events: Events) -> None:
        self._events, self._options = events, events.options
        self._rng: random.Random = rng_of(events.options.seed, "network")
        self._duplicates: random.Random = rng_of(events.options.seed, "duplicates")
        self._cuts: Counter[Cut] = Counter()
        self._last_arrival_ns: dict[Cut, int] = {}
        self.calm = False
        """Whether the faults have stopped."""

    def cut(self, links: tuple[Cut, ...]) -> None:
        """Cut links. Each cut needs its own `mend`."""
        self._cuts.update(links)

    def mend(self, links: tuple[Cut, ...]) -> None:
        """Undo a cut."""
        self._cuts.subtract(links)

    def heal(self) -> None:
        """Mend all links. From now on no message is dropped or late."""
        self._cuts.clear()
        self.calm = True

    def works(self, sender: int, receiver: int, stream: str) -> bool:
        """Whether the channel of a kind of stream from one member to another works now."""
        return self._cuts[sender, receiver, stream] <= 0

    def accepts(self, sender: int, receiver: int) -> bool:
        """Whether a member's publication to another member, which is up, is connected."""
        return self.works(sender, receiver, CONSENSUS) and self.works(receiver, sender, CONSENSUS)

    def send(
        self, sender: int | str, receiver: int | str, stream: str, arrive: Callable[[], object]
    ) -> bool:
        """Send a message, which calls ``arrive`` when it arrives. Return false if it is lost."""
        faults, rng, counts = self._options.faults, self._rng, self._events.counts
        if stream != CLIENTS and self._cuts[sender, receiver, stream] > 0:
            counts["message lost in a cut"] += 1
            return False
        delay_ns = int(self._options.network_delay_ns * (0.5 + rng.random()))
        if not self.calm:
            if faults.drop_probability and rng.random() < faults.drop_probability:
                counts["message dropped"] += 1
                return False
            if faults.delay_tail_probability and rng.random() < faults.delay_tail_probability:
                counts["message late"] += 1
                delay_ns = int(delay_ns * 1_000 ** rng.random())
        channel = sender, receiver, stream
        arrival_ns = max(self._events.now_ns + delay_ns, self._last_arrival_ns.get(channel, 0))
        self._last_arrival_ns[channel] = arrival_ns
        self._events.schedule(arrival_ns, arrive)
        if stream != CONSENSUS and not self.calm and faults.duplicate_probability:
            self._send_again(arrival_ns, arrive)
        return True

    def _send_again(self, arrival_ns: int, arrive: Callable[[], object]) -> None:
        """Draw whether a message arrives a second time; later messages may overtake it."""
        rng = self._duplicates
        if rng.random() < self._options.faults.duplicate_probability:
            self._events.counts["duplicate message"] += 1
            late_ns = int(self._options.network_delay_ns * 1_000 ** rng.random())
            self._events.schedule(arrival_ns + late_ns, arrive)
