"""Which links a cut of each kind takes away; pure data and chance."""

from __future__ import annotations

import random

from canvass.simulation.network import CONSENSUS, LOG, STREAMS, Cut
from canvass.simulation.options import MUTE


def links_of(rng: random.Random, kind: str, count: int) -> tuple[Cut, ...]:
    """Draw the links of a cut.

    Parameters
    ----------
    rng
        Draws.
    kind
        One of `canvass.simulation.options.CUT_KINDS`, or `MUTE`.
    count
        How many members there are, two at least.
    """
    i = rng.randrange(count)
    j = (i + 1 + rng.randrange(count - 1)) % count
    streams: tuple[str, ...] = STREAMS
    match kind:
        case "isolate":
            pairs = [(i, k) for k in range(count) if k != i]
            pairs += [(k, i) for _, k in pairs]
        case "split":
            side = {k for k in range(count) if rng.random() < 0.5}
            pairs = [
                (a, b) for a in range(count) for b in range(count) if (a in side) != (b in side)
            ]
        case "one way":
            pairs = [(i, j)]
        case str(kind) if kind == MUTE:
            pairs = [(i, k) for k in range(count) if k != i]
        case "consensus only":
            pairs, streams = [(i, j), (j, i)], (CONSENSUS,)
        case _:
            pairs, streams = [(i, j), (j, i)], (LOG,)
    return tuple((a, b, stream) for a, b in pairs for stream in streams)
