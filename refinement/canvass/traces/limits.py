"""How much a trace may ask of its reader. Every limit of the format is in this table, with its
reason; those of the values themselves are in `canvass.cluster`.

The limits hold for input that nobody vouches for. A run of the size that canvass itself records
stays far below them.
"""

from __future__ import annotations

from typing import Final

from canvass.cluster.member import MAX_MEMBERS as MAX_MEMBERS
from canvass.cluster.member import MAX_RECORDING_LOG as MAX_RECORDING_LOG
from canvass.cluster.messages import MAX_INT as MAX_INT
from canvass.cluster.messages import MIN_INT as MIN_INT

MAX_LINE_BYTES: Final = 1 << 20
"""An event with nine members and a long recording log takes about 20 KiB. A line is held in memory
whole.
"""

MAX_STRING_LENGTH: Final = 1 << 16
"""Characters. No field needs a longer text; a report prints the text."""

MAX_DEPTH: Final = 64
"""The event schema nests 5 deep. The limit bounds the free part of ``run.json`` below Python's
recursion limit.
"""

MAX_TOKENS: Final = 200_000
"""Values of one line. An event of 20 KiB has about 2,000."""

MAX_SENDS: Final = 1 << 10
"""Messages sent in one step. A leader sends a few to each of eight peers."""


MAX_LOG_CHECKSUMS: Final = 1 << 10
"""Witnessed positions of one event."""

MAX_SOURCE_LINES: Final = 1 << 12
"""Log lines that one imported event accounts for."""

MAX_RATIO: Final = 1_000
"""Bytes that one compressed byte may become. The stream of an idle member, which repeats its state,
was seen to reach 470; a compressed void reaches 30,000.
"""

RATIO_FREE_BYTES: Final = 1 << 22
"""The ratio of a short file says nothing: up to here it is not looked at."""

MAX_WINDOW_BYTES: Final = 1 << 23
"""Window of a zstandard frame, held in memory; what decoders are to support at least (RFC 8878)."""

MAX_STREAM_LINES: Final = 50_000_000
"""Lines of one stream; about 80 GB of text. Above it a run is to be cut into files of a Parquet
dataset.
"""

MAX_RUNS: Final = 1_000_000
"""Run folders in one corpus folder; more of them belong in a Parquet dataset, as a directory
listing is held whole.
"""

MAX_RUN_JSON_BYTES: Final = 1 << 20
"""``run.json`` is read whole."""

MAX_ROW_GROUP_EVENTS: Final = 1 << 18
"""Events of one row group of a Parquet file, which is decoded whole: about 400 MB for three
members.
"""

MAX_ROW_GROUP_BYTES: Final = 1 << 30
"""What a row group says that it takes when decoded."""

MAX_METADATA_BYTES: Final = 1 << 27
"""Footer of a Parquet file: 300 bytes for each run in it."""

MAX_ID_DIGITS: Final = 15
"""Digits of the running number of a message id; the number then fits the low 50 bits of the id's
code in columns.
"""
