"""TLC's message codes and exit codes by name; they are the same in all versions from 2.15.

Only the codes that this package reads are here; TLC's class ``EC`` has all.
"""

from __future__ import annotations

from typing import Final

OUT_OF_MEMORY: Final = frozenset({1001, 1002, 1003})
STACK_OVERFLOW: Final = 1005
INVARIANT_VIOLATED_INITIAL: Final = 2107
PROPERTY_VIOLATED_INITIAL: Final = 2108

SYSTEM: Final = frozenset(
    {*OUT_OF_MEMORY, STACK_OVERFLOW, 1101, 1102, 2100, 2101, 2162, 2163, *range(3100, 3115)}
)
"""These include wrong arguments, and a folder for metadata that exists already."""
EVALUATION: Final = frozenset({2102, 2103, 2105, 2106, 2109, 2111, 2113, 2115, 2146, 2147})
CONFIGURATION: Final = frozenset({*range(2222, 2246), 2253, 2280, 2281, *range(5001, 5007)})
PARSING: Final = frozenset({2171, 3002})
TOO_MANY_STATES: Final = frozenset({2172, 2282})
ASSUMPTION: Final = frozenset({2104})
SAFETY: Final = frozenset({INVARIANT_VIOLATED_INITIAL, PROPERTY_VIOLATED_INITIAL, 2110, 2112})
DEADLOCK: Final = frozenset({2114})
LIVENESS: Final = frozenset({2116})
ASSERTION: Final = frozenset({2132})

INTRODUCTIONS: Final = frozenset({2121, 2264})
"""Messages that report no error of their own: they only introduce the states after them."""
BACK_TO_STATE: Final = 2122
STATE_PRINT: Final = frozenset({2216, 2217})
STUTTERING: Final = 2218

FINISHED: Final = 2186
MODE_CHECK: Final = frozenset({2187, 2271})
MODE_SIMULATE: Final = 2188
INITIAL_STATES: Final = frozenset({2190, 2191, 2207, 2208})
SUCCESS: Final = 2193
DEPTH: Final = 2194
STATS: Final = frozenset({2199, 2204, 2210})
PROGRESS: Final = frozenset({2200, 2206, 2209})
PARSER_END: Final = 2219
PARSER_START: Final = 2220
VERSION: Final = 2262

EXIT_EVALUATION: Final = frozenset({75, 76, 77})
