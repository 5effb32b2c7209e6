"""Causality of joining a leader's log: a catch-up that was granted, a live log that reaches so far.

A follower begins to record a catch-up replay only if its leader runs one for it, and the live log
only where the leader has written already; ``TakeFollowerCatchupAwait`` and ``TakeFollowerLogAwait``
of ``Cluster.tla`` say so. Which leadership a member follows is found in
`canvass.conformance.causality`; what is asked here is whether and when that one did it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.conformance.sequence import Sequence, wide
from canvass.traces.columns import Ints
from canvass.traces.layout import ACTION_NAMES

NO_LEADER: Final = -2
"""In place of a leadership: the member followed has not led the term followed."""

NOT_GRANTED: Final = 11
"""The leader has not begun to replay its log to the member in that term."""
NOT_REACHED: Final = 12
"""The leader has not written up to where the member joins its live log."""
NOT_LED: Final = 13
"""The member whose log is joined has not led that term."""

PROBLEMS: Final = {
    NOT_GRANTED: "a catch-up is joined that the leader has not granted in that term",
    NOT_REACHED: "the live log is joined where its leader has not written in that term",
    NOT_LED: "the log is joined of a member that has not led the term followed",
}
"""What is said of a row; the numbers go on from those of `canvass.conformance.kernel_order`."""

_CATCHUP: Final = ACTION_NAMES.index("FollowerCatchupAwait")
_LIVE_LOG: Final = ACTION_NAMES.index("FollowerLogAwait")


def joining_rows(sequence: Sequence, before: Ints) -> Ints:
    """Give the rows in which a member joins a log, of which the row before is known."""
    joins = (sequence.action == _CATCHUP) | (sequence.action == _LIVE_LOG)
    return np.flatnonzero(joins & (before >= 0))


def causes_of_joining(
    sequence: Sequence,
    before: Ints,
    rows: Ints,
    followed: Ints,
    spans: Ints,
    knows: NDArray[np.bool_],
    found: NDArray[np.int8],
    cause: Ints,
) -> None:
    """Note for each row that joins a log the step that let it, or what is wrong with it.

    Parameters
    ----------
    sequence, before
        All events of a run, and the row before each one in its stream.
    rows, followed
        As `joining_rows` gives them, and for each the leadership that is followed; ``NO_LEADER`` if
        the leader has not led that term, other negative numbers if there is nothing to know.
    spans
        For each leadership its first row and the row after its last one.
    knows
        For each member whether all that it ever did is recorded; nothing is demanded of others.
    found, cause
        For each row of the sequence a problem or 0, and another row that must come before, or -1.
        Rows that have one already keep it.
    """
    if not len(rows):
        return
    commits = sequence.kept("commit_position")[before[rows]].tolist()
    publication = wide(sequence.kept("publication_position"))
    action, member, replays = sequence.action, sequence.member, sequence.replays
    for row, leadership, commit in zip(rows.tolist(), followed.tolist(), commits, strict=True):
        if found[row] or cause[row] >= 0:
            continue
        if leadership < 0:
            found[row] = NOT_LED if leadership == NO_LEADER else 0
            continue
        low, high = spans[leadership].tolist()
        if action[row] == _CATCHUP:
            problem = NOT_GRANTED
            at = low + _first_set(replays[low:high] >> member[row] & 1)
        else:
            problem = NOT_REACHED
            at = low + int(np.searchsorted(publication[low:high], commit))
        if at < high:
            # Past missing steps it is not known when it came to be so; written is what was then
            # reached, but a catch-up may have been granted and have ended among them.
            asked = before[low : at + 1] if problem == NOT_GRANTED else before[at : at + 1]
            cause[row] = at if (asked >= -1).all() else -1
        elif knows[member[low]]:
            found[row] = problem


def _first_set(bits: Ints) -> int:
    """Give the place of the first bit that is set; how many there are if none is."""
    place = int(np.argmax(bits))
    return place if bits[place] else len(bits)
