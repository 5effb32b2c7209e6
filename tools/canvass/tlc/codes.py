"""TLC's message codes and exit codes by name; they are the same in all versions from 2.15.

Only the codes that this package reads are here; TLC's class ``EC`` has all.
"""

from __future__ import annotations

from typing import Final

OUT_OF_MEMORY: Final = frozenset({1001, 1002, 1003})
STACK_OVERFLOW: Final = 1005
WRONG_ARGUMENTS: Final = frozenset({1101, 1102, *range(3100, 3115)})

METADIR_EXISTS: Final = frozenset({2100, 2101, 2162, 2163})
ASSUMPTION_FALSE: Final = 2104
INVARIANT_VIOLATED_INITIAL: Final = 2107
PROPERTY_VIOLATED_INITIAL: Final = 2108
INVARIANT_VIOLATED: Final = 2110
ACTION_PROPERTY_VIOLATED: Final = 2112
DEADLOCK: Final = 2114
TEMPORAL_PROPERTY_VIOLATED: Final = 2116
TRACE_FOLLOWS: Final = 2121
BACK_TO_STATE: Final = 2122
ASSERTION_FAILED: Final = 2132
COUNTER_EXAMPLE_FOLLOWS: Final = 2264
STATE_PRINT: Final = frozenset({2216, 2217})
STUTTERING: Final = 2218

EVALUATION: Final = frozenset({2102, 2103, 2105, 2106, 2109, 2111, 2113, 2115, 2146, 2147})
TOO_MANY_STATES: Final = frozenset({2172, 2282})
PARSING: Final = frozenset({2171, 3002})
CONFIGURATION: Final = frozenset({*range(2222, 2246), 2253, 2280, 2281, *range(5001, 5007)})

FINISHED: Final = 2186
MODE_CHECK: Final = frozenset({2187, 2271})
MODE_SIMULATE: Final = 2188
INITIAL_STATES: Final = frozenset({2190, 2191, 2207, 2208})
SUCCESS: Final = 2193
DEPTH: Final = 2194
STATS: Final = frozenset({2199, 2204})
STATS_SIMULATE: Final = 2210
PROGRESS: Final = frozenset({2200, 2206, 2209})
PARSER_END: Final = 2219
PARSER_START: Final = 2220
VERSION: Final = 2262

EXIT_SUCCESS: Final = 0
EXIT_ASSUMPTION: Final = 10
EXIT_DEADLOCK: Final = 11
EXIT_SAFETY: Final = 12
EXIT_LIVENESS: Final = 13
EXIT_ASSERTION: Final = 14
EXIT_EVALUATION: Final = frozenset({75, 76, 77})
EXIT_PARSING: Final = 150
EXIT_CONFIGURATION: Final = 151
EXIT_TOO_MANY_STATES: Final = 152
EXIT_SYSTEM: Final = 153
EXIT_ERROR: Final = 255
