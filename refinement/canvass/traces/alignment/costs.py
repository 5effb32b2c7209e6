"""The costs of an alignment's moves. They decide between missing lines and a false line.

A synchronous move and a silent move cost nothing. The cheapest alignment decides the outcome:
`EXPLAINED` without any of the moves below, `INCOMPLETE` with gaps only, `CONTRADICTED` with a false
line.
"""

from __future__ import annotations

from typing import Final

GAP: Final = 6
"""The cost to open a gap. Lines are lost in blocks, so a further line of a gap costs less."""

MISSING_LINE: Final = 2
"""The cost of each missing line in an open gap. Two gaps cost more than one false line, a gap of
three lines costs less: lines are lost more often than they are changed."""

UNKNOWN_LINES: Final = 10
"""The cost of a gap whose lines cannot be named, on top of `GAP`: the member's state is taken from
a later line. Together they cost more than a false line after which all lines are met, and less than
a false line after which some are not."""

DISK_REPLACED: Final = 8
"""The cost of a start with another disk than the member left. It is less than a false line: two
lines show what the member starts with."""

UNALIGNED_LINE: Final = 1
"""The cost of each line between a gap and the line from which the member's state is taken."""

FALSE_LINE: Final = 14
"""The cost of a line that no step prints, or that says other numbers than the step. A gap of a few
lines costs less: no line is called false where lines may be lost."""

UNSENT_MESSAGES: Final = 2
"""The number of receipts without a window that show a gap in the log of their sender. The gap costs
less than as many false lines."""

OTHER_FIELD: Final = 2
"""The cost of each further field in which a false line differs from what the step prints."""

HORIZON: Final = 40
"""The number of lines that must be met after a repair."""

CHANGES: Final = 4
"""The number of lines among these that steps print. Most receipts are possible in any state, so
they show little."""

FURTHEST: Final = 1_000
"""The largest number of lines that are looked at after a repair."""

UNMET_LINE: Final = 1
"""The cost of each line within `HORIZON` that is not met after a repair. All of them together cost
no more than another gap whose lines cannot be named."""
