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
"""The cost of each missing line in an open gap. Two gaps cost more than one false line. One gap of
three lines costs less than a false line: lines are lost more often than they are changed."""

UNKNOWN_LINES: Final = 10
"""The cost of a gap whose lines cannot be named, on top of `GAP`: the member's state is taken from
a later line. Both costs together are more than that of a false line after which all lines are
matched, and less than that of a false line after which some lines are not matched."""

DISK_REPLACED: Final = 8
"""The cost of a start with another disk than the member left. It is less than that of a false line,
because two lines show what the member starts with."""

UNALIGNED_LINE: Final = 1
"""The cost of each line between a gap and the line from which the member's state is taken."""

FALSE_LINE: Final = 14
"""The cost of a line that no step prints, or that says other numbers than the step. A gap of a few
lines costs less: no line is called false where lines may have been lost."""

UNSENT_MESSAGES: Final = 2
"""If so many receipts have no window, there is a gap in the log of their sender: the gap costs less
than as many false lines."""

OTHER_FIELD: Final = 2
"""The cost of each further field in which a false line differs from what the step prints."""

HORIZON: Final = 40
"""The number of lines after a repair that must be matched."""

CHANGES: Final = 4
"""The number of lines after a repair that must be matched, if only the lines that steps print are
counted. Receipts show little, because most receipts are possible in any state."""

FURTHEST: Final = 1_000
"""The largest number of lines after a repair that are replayed."""

UNMATCHED_LINE: Final = 1
"""The cost of each unmatched line within `HORIZON` after a repair. All such lines together cost no
more than another gap whose lines cannot be named."""
