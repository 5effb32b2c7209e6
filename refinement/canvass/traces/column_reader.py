"""A member's stream straight into columns: the fast way for canonical lines, else the strict
reader.

The fast way may refuse too much, never take too much: what it takes, the strict reader takes with
the same result. For a block that it refuses the strict reader decides, line by line if need be, and
events become columns one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from canvass.traces import wire
from canvass.traces.actions import ACTIONS
from canvass.traces.canonical import WORD_BYTES, parse_lines
from canvass.traces.columns import EventColumns, Ints, from_events, predecessors
from canvass.traces.grammar import TABLE, TABLE_WORDS
from canvass.traces.layout import (
    CHECKSUM_COLUMNS,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_COLUMNS,
    STATE_COLUMNS,
    STATE_ENUMS,
)
from canvass.traces.ndjson import EventReader
from canvass.traces.schema import Event, Input, LogChecksum, Send, Source, encode
from canvass.traces.validate import column_problem

COLUMN_BLOCK_BYTES: Final = 1 << 22
"""Read at a time: some thousand events, so that whole-column operations cost little."""

_MESSAGES: Final[tuple[Any, ...]] = wire.MESSAGE_TYPES
_LEAST_ENTRY: Final = len(encode(wire.TermEntry(0, 0, 0)))
_LEAST_SEND: Final = min(
    len(encode(Send(0, "0:0", message(*[0] * len(message.__struct_fields__)))))
    for message in _MESSAGES
)
_LEAST_CHECKSUM: Final = len(encode(LogChecksum(0, "0" * 16)))
"""Bytes that one element takes at least: they bound how many a block can hold."""


def _least_line(member_count: int) -> int:
    """Give the bytes that a canonical line takes at least."""
    record = wire.MemberRecord(0, 0, 0, 0, False, False)
    fields: dict[str, Any] = dict.fromkeys(wire.Member.__struct_fields__, 0)
    fields |= {
        name: min(values, key=lambda value: len(value.value))
        for name, values in STATE_ENUMS.items()
    }
    fields |= {"recording_log": (), "members": (record,) * member_count}
    action = min(ACTIONS, key=len)
    return len(encode(Event(0, 0, action, Input(), (), wire.Member(**fields)))) + 1


def _cells(rows: int, columns: int) -> Ints:
    return np.empty((rows, columns), dtype=np.int64)


class ColumnReader:
    """Events of one member's stream, in batches of columns.

    Parameters
    ----------
    reader
        The strict reader of the stream, from which nothing was read yet. Afterwards it tells what
        it tells otherwise: where steps are missing, and whether the stream is cut off.
    run_id
        The run that the stream is of.
    member_count
        How many members the cluster has.

    Attributes
    ----------
    sources
        The sources of the events in the batch given last, context row left out; none if no event of
        it has a source.
    """

    def __init__(self, reader: EventReader, run_id: str, member_count: int) -> None:
        self._reader = reader
        self._run_id = run_id
        self._member_count = member_count
        self._least_line = _least_line(member_count)
        self.sources: list[Source | None] | None = None

    def batches(self) -> Iterator[EventColumns]:
        """Give the events in batches; the predecessor row is carried over.

        Raises
        ------
        TraceError
            At the first line that is not an event.
        """
        before: EventColumns | None = None
        for block, last in self._reader.blocks(COLUMN_BLOCK_BYTES):
            columns = self._fast(block, before)
            self.sources = None
            if columns is None or not self._accept(columns):
                events = self._reader.decode(block, last=last)
                if not events:
                    continue
                self.sources = [event.source for event in events]
                previous = None if before is None else before.event(len(before) - 1)
                columns = from_events(self._run_id, self._reader.member_id, events, previous)
            before = columns
            yield columns

    def _accept(self, columns: EventColumns) -> bool:
        """Let the strict reader count the lines, unless steps are missing."""
        first, last = int(columns.step[columns.context]), int(columns.step[-1])
        return self._reader.accept(first, last, len(columns) - columns.context)

    def _fast(self, block: bytes, before: EventColumns | None) -> EventColumns | None:
        """Read canonical lines, or none of them."""
        data = np.frombuffer(b"".join((b"\n", block, bytes(WORD_BYTES))), dtype=np.uint8)
        context = 0 if before is None else 1
        entries = 0 if before is None else int(before.log_offsets[-1] - before.log_offsets[-2])
        size = len(block)
        rows = context + size // self._least_line + 1
        heads = _cells(rows, 3)
        inputs, message = _cells(rows, len(INPUT_COLUMNS)), _cells(rows, len(MESSAGE_COLUMNS))
        state = _cells(rows, len(STATE_COLUMNS))
        members = np.empty((rows, self._member_count, len(MEMBER_COLUMNS)), dtype=np.int64)
        offsets = _cells(rows + 1, 3)
        offsets[:2] = 0
        log = _cells(entries + size // _LEAST_ENTRY + 1, len(LOG_COLUMNS))
        sends = _cells(size // _LEAST_SEND + 1, len(MESSAGE_COLUMNS))
        sums = _cells(size // _LEAST_CHECKSUM + 1, len(CHECKSUM_COLUMNS))
        if before is not None:
            heads[0] = before.step[-1], before.time_ns[-1], before.action[-1]
            inputs[0], message[0] = before.inputs[-1], before.message[-1]
            state[0], members[0] = before.state[-1], before.members[-1]
            log[:entries] = before.log[len(before.log) - entries :]
            offsets[1, 0] = entries
        # fmt: off
        end = parse_lines(
            TABLE, TABLE_WORDS, data, context, heads, inputs, message, state, members,
            offsets, log, sends, sums,
        )
        # fmt: on
        if end < 0:
            return None
        run = np.zeros(end, dtype=np.int64)
        member = np.full(end, self._reader.member_id, dtype=np.int64)
        step, time_ns, action = (heads[:end, k].copy() for k in range(3))
        log_offsets, send_offsets, checksum_offsets = (
            offsets[: end + 1, k].copy() for k in range(3)
        )
        columns = EventColumns(
            member_count=self._member_count,
            runs=(self._run_id,),
            run=run,
            member=member,
            step=step,
            time_ns=time_ns,
            action=action,
            predecessor=predecessors(run, member, step),
            inputs=inputs[:end],
            message=message[:end],
            state=state[:end],
            members=members[:end],
            log_offsets=log_offsets,
            log=log[: log_offsets[-1]].copy(),
            send_offsets=send_offsets,
            sends=sends[: send_offsets[-1]].copy(),
            checksum_offsets=checksum_offsets,
            checksums=sums[: checksum_offsets[-1]].copy(),
            context=context,
        )
        return None if column_problem(columns) else columns
