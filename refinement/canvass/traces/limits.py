"""The limits of the format, each with its reason. `canvass.cluster` has the limits of values.

The limits protect readers against hostile input. Runs that canvass records stay far below them.
"""

from __future__ import annotations

from typing import Final

from canvass.cluster.member import MAX_MEMBERS as MAX_MEMBERS
from canvass.cluster.member import MAX_RECORDING_LOG as MAX_RECORDING_LOG
from canvass.cluster.messages import MAX_INT as MAX_INT
from canvass.cluster.messages import MIN_INT as MIN_INT

MAX_LINE_BYTES: Final = 1 << 20
"""An event with nine members and a long recording log takes about 20 KiB. Readers keep a whole line
in memory.
"""

MAX_STRING_LENGTH: Final = 1 << 16
"""Characters. No field needs a longer text, and reports print it."""

MAX_SENDS: Final = 1 << 10
"""Messages sent in one step. A leader sends a few to each of eight peers."""


MAX_LOG_CHECKSUMS: Final = 1 << 10
"""Witnessed positions of one event."""

MAX_SOURCE_LINES: Final = 1 << 12
"""Log lines that one imported event accounts for."""

MAX_STREAM_LINES: Final = 50_000_000
"""Lines of one log of Aeron."""

MAX_RUNS: Final = 1_000_000
"""Run folders in one corpus folder. More runs belong in a Parquet data set, as readers keep the
whole listing of a folder in memory.
"""

MAX_RUN_JSON_BYTES: Final = 1 << 20
"""Readers keep the whole ``run.json`` in memory."""

MAX_METADATA_BYTES: Final = 1 << 27
"""Footer of a Parquet file: 300 bytes for each run in it."""

MAX_ID_DIGITS: Final = 15
"""Digits of the running number of a message id; the number then fits the low 50 bits of the id's
code in columns.
"""
