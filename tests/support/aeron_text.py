"""Write log records as lines of Aeron: of the agents of 1.43 to 1.52, and of 1.53's own logger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from canvass.traces.aeron_log.event_types import (
    BUILT_IN,
    EVENT_TYPES,
    NAMED,
    PAIRS,
    EventType,
    Field,
    Release,
)
from canvass.traces.aeron_log.records import ClusterEvent, LogRecord, Notation, ProcessStart

_BY_RECORD: Final = {row.record: row for row in EVENT_TYPES.values()}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
QUOTED: Final = Release(1, 50)
"""The first release that puts quotes around each reason."""

_ORDER_1_53: Final = {
    "REPLAY_NEW_LEADERSHIP_TERM": (
        "isInElection", "leadershipTermId", "logPosition", "timestamp", "termBaseLogPosition",
        "timeUnit", "appVersion",
    )
}  # fmt: skip
"""The order of the fields in events that 1.53 prints in another order."""


def _stamp(time_ns: int) -> str:
    return f"[{time_ns // 10**9}.{time_ns % 10**9:09}]"


def _values(row: EventType, record: ClusterEvent) -> list[tuple[Field, tuple[object, ...]]]:
    """The fields of an event with the record's values of each; a pair has two values."""
    values = iter([getattr(record, name) for name in record.__struct_fields__[4:]])
    return [
        (field, (next(values), next(values)) if field.kind in PAIRS else (next(values),))
        for field in row.fields
    ]


def _version(value: object) -> str:
    assert isinstance(value, int)
    return f"{value >> 16}.{value >> 8 & 255}.{value & 255}"


def _agent(field: Field, values: tuple[object, ...]) -> str:
    name, value = field.log_name, values[0]
    match field.kind:
        case kind if kind in PAIRS:
            return f"{values[0]} -> {values[1]}"
        case Notation.BOOL:
            return f"{name}={str(bool(value)).lower()}"
        case Notation.FLAGS:
            return f"{name}=0b{value:08b}"
        case Notation.VERSION:
            return f"{name}={_version(value)}"
        case Notation.REASON:
            return f'{name}="{value}"'
        case _:
            return f"{name}={value}"


def _built_in(field: Field, values: tuple[object, ...]) -> str:
    name, value = field.log_name, values[0]
    match field.kind:
        case kind if kind in PAIRS:
            return f"oldState={values[0]} newState={values[1]}"
        case Notation.BOOL:
            return f"{name}={str(bool(value)).lower()}"
        case Notation.TEXT | Notation.REASON:
            return f'{name}="{value}"'
        case _:
            return f"{name}={value}"


def line_of(release: Release) -> Callable[[LogRecord], str]:
    """The function that prints lines as a release does; no reader looks at lengths in brackets."""
    return line_of_1_53 if release >= BUILT_IN else partial(_line_of_agent, release)


def _line_of_agent(release: Release, record: LogRecord) -> str:
    if isinstance(record, ProcessStart):
        loggers = f", enabled loggers: {{CLUSTER: version={release} commit=5b62f21d91}}"
        return _header(record) + (loggers if release >= NAMED else "")
    assert isinstance(record, ClusterEvent)
    row = _BY_RECORD[type(record)]
    # In one event, the agent prints a version as the number that encodes it.
    printed = _built_in if row.name in _ORDER_1_53 else _agent
    fields = " ".join(
        f"reason={values[0]}"
        if field.kind is Notation.REASON and release < QUOTED and row.since < Release(1, 49)
        else printed(field, values)
        for field, values in _values(row, record)
        if field.since <= release
    )
    begin = f"{_stamp(record.time_ns)} CLUSTER: {row.name} [99/99]:"
    return f"{begin} memberId={record.member_id} {fields}"


def line_of_1_53(record: LogRecord) -> str:
    """The line that the built-in logger prints."""
    if isinstance(record, ProcessStart):
        return _header(record)
    assert isinstance(record, ClusterEvent)
    row = _BY_RECORD[type(record)]
    texts = {field.log_name: _built_in(field, values) for field, values in _values(row, record)}
    order = _ORDER_1_53.get(row.name, tuple(texts))
    fields = " ".join(texts[name] for name in order)
    return f"{_stamp(record.time_ns)} CLUSTER: {row.name} memberId={record.member_id} {fields}"


def _header(record: ProcessStart) -> str:
    moment = _EPOCH + timedelta(milliseconds=record.wall_time_ms)
    wall = moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    return f"{_stamp(record.time_ns)} log started {wall}+0000"


def line_of_1_52(record: LogRecord) -> str:
    """The line that the last release with an agent prints."""
    return _line_of_agent(Release(1, 52, 2), record)


def texts_of(
    lines: Mapping[int, Sequence[LogRecord]],
    printed: Callable[[LogRecord], str] = line_of_1_52,
) -> dict[int, list[str]]:
    """The logs of a cluster as text."""
    return {member_id: [printed(line) for line in found] for member_id, found in lines.items()}
