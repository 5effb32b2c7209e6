"""The network of a simulated cluster: which links work, and when what is sent arrives.

A link from one member to another carries two kinds of streams, consensus messages and the log; each
can be cut alone, and each is a channel of its own, as is what goes from and to a client. What is
sent into one channel arrives in the order in which it was sent, or not at all. What is not a
consensus message may arrive once more later: log streams and clients are to stand that.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Final

from canvass.simulation.options import Options, rng_of

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
    options
        Of the run.
    fired
        Counts each fault that has struck.
    schedule
        Lets something happen at a time.
    """

    def __init__(
        self,
        options: Options,
        fired: Counter[str],
        schedule: Callable[[int, Callable[[], object]], None],
    ) -> None:
        self._options, self._fired, self._schedule = options, fired, schedule
        self._rng: random.Random = rng_of(options.seed, "network")
        self._duplicates: random.Random = rng_of(options.seed, "duplicates")
        self._cuts: Counter[Cut] = Counter()
        self._last_arrival_ns: dict[Cut, int] = {}
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

    def accepts(self, sender: int, receiver: int) -> bool:
        """Whether a member's publication to another one is connected, which is up."""
        return self.works(sender, receiver, CONSENSUS) and self.works(receiver, sender, CONSENSUS)

    def send(
        self,
        now_ns: int,
        sender: int | str,
        receiver: int | str,
        stream: str,
        arrive: Callable[[], object],
    ) -> bool:
        """Put something on its way; false if it is lost."""
        faults, rng = self._options.faults, self._rng
        if stream != CLIENTS and self._cuts[sender, receiver, stream] > 0:
            self._fired["message lost in a cut"] += 1
            return False
        delay_ns = int(self._options.network_delay_ns * (0.5 + rng.random()))
        if not self.calm:
            if faults.drop_probability and rng.random() < faults.drop_probability:
                self._fired["message dropped"] += 1
                return False
            if faults.delay_tail_probability and rng.random() < faults.delay_tail_probability:
                self._fired["message late"] += 1
                delay_ns = int(delay_ns * 1_000 ** rng.random())
        channel = sender, receiver, stream
        arrival_ns = max(now_ns + delay_ns, self._last_arrival_ns.get(channel, 0))
        self._last_arrival_ns[channel] = arrival_ns
        self._schedule(arrival_ns, arrive)
        if stream != CONSENSUS and not self.calm and faults.duplicate_probability:
            self._send_again(arrival_ns, arrive)
        return True

    def _send_again(self, arrival_ns: int, arrive: Callable[[], object]) -> None:
        """Let something arrive a second time, if that is drawn; it may be overtaken meanwhile."""
        rng = self._duplicates
        if rng.random() < self._options.faults.duplicate_probability:
            self._fired["message twice"] += 1
            late_ns = int(self._options.network_delay_ns * 1_000 ** rng.random())
            self._schedule(arrival_ns + late_ns, arrive)
