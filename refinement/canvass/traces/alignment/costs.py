"""The costs of an alignment's moves: whether missing or false lines are the better story is decided
by this table alone.

A synchronous move and a silent one cost nothing. The alignment that costs least decides the
outcome: `EXPLAINED` without any of the moves below, `INCOMPLETE` with gaps only, `CONTRADICTED`
with a false line.
"""

from __future__ import annotations

from typing import Final

GAP: Final = 6
"""To open a gap: lines are lost in blocks, so what is missing is near to other missing lines."""

MISSING_LINE: Final = 2
"""Each line that must be missing, in an open gap. Two gaps cost more than one false line, and a
gap of three lines less: lines are lost more often than they are changed."""

UNKNOWN_LINES: Final = 10
"""Lines that must be missing, but nobody can say which: the state is taken from a later line. With
the gap it is more than one false line after which all else fits, and less than one after which
something does not."""

UNALIGNED_LINE: Final = 1
"""A line after a gap that cannot be met before the member's state is known again."""

FALSE_LINE: Final = 14
"""A line that no step prints, or that says other numbers than the step. More than a gap of a few
lines, as nobody is accused where lines may be lost."""

EXCHANGED_LINES: Final = 9
"""Two lines that stand in the other order. Less than a gap of two lines: a log is written by one
thread, and nothing but a change of the log exchanges lines."""

EXCHANGED_WITHIN: Final = 12
"""Lines that are next to each other, or that say the same event this near, may be exchanged."""

UNSENT_MESSAGES: Final = 2
"""Receipts without a window, of one sender, from which on a gap in its log costs less than as many
false lines."""

OTHER_FIELD: Final = 2
"""Each further field in which a false line differs from what the step prints."""

HORIZON: Final = 40
"""Lines after a repair that have to be met for it to count."""

CHANGES: Final = 4
"""So many of them have to be lines that steps print, as most messages are met in any state."""

FURTHEST: Final = 1_000
"""No more lines than these are looked at."""

UNMET_LINE: Final = 1
"""A line within the horizon that cannot be met after a repair; all of them together cost no more
than another gap of unknown lines.
"""
