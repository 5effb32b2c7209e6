"""Each field of each event is compared with what the core does, or is not for a reason.

Every field of captured lines is changed, one at a time. The alignment must notice it, unless the
table says why it does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import structs

from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.event_types import EVENT_TYPES
from canvass.traces.aeron_log.records import ClusterEvent, Line
from canvass.traces.aeron_log.releases import RECEIPTS
from canvass.traces.alignment.member_lines import PRINTED_STEPS, message_of
from canvass.traces.alignment.printing import PrintedLine, logged_lines
from support.aeron_runs import RELEASES, SAMPLES, aligned, captures

_TEXT: Final = "a text"
_NO_RULE: Final = "no rule of the protocol reads it"
_SERVICES: Final = "services and their clients are not modelled"
_ARCHIVE: Final = "the archive's work is not modelled"

FIELDS_NOT_COMPARED: Final[Mapping[type[ClusterEvent], Mapping[str, str]]] = {
    records.ElectionStateChange: {"reason": _TEXT},
    records.RoleChange: {"reason": _TEXT},
    records.StateChange: {
        "new_state": "the module's states are not modelled; the next change is compared with it",
        "reason": _TEXT,
    },
    records.TruncateLogEntry: {
        "old_position": "up to 1.49 the leader's position, since then append_position again"
    },
    records.ReplayNewLeadershipTerm: {
        "app_version": _NO_RULE,
        "timestamp": _NO_RULE,
        "time_unit": _NO_RULE,
    },
    records.NewLeadershipTerm: {
        "leader_recording_id": _NO_RULE,
        "timestamp": _NO_RULE,
        "log_session_id": _NO_RULE,
        "app_version": _NO_RULE,
        "is_startup": _NO_RULE,
    },
    records.CanvassPosition: {"protocol_version": _NO_RULE},
    records.RequestVote: {"protocol_version": _NO_RULE},
    records.CatchupPosition: {"catchup_endpoint": _NO_RULE},
}

EVENTS_NOT_COMPARED: Final[Mapping[type[ClusterEvent], str]] = {
    records.AppendSessionClose: _SERVICES,
    records.AppendSessionOpen: _SERVICES,
    records.ClusterSessionStateChange: _SERVICES,
    records.ServiceAck: "only the position acknowledged for a snapshot or a termination is read",
    records.ReplicationEnded: _ARCHIVE,
    records.SnapshotEntryInvalidation: _ARCHIVE,
    records.ClusterBackupStateChange: "backup nodes are not modelled",
    records.StandbySnapshotNotification: "standby nodes are not modelled",
    records.Start: "it says the release only",
}

_PLACE: Final = frozenset({"file", "line", "time_ns", "member_id"})


def fields_of(kind: type[ClusterEvent]) -> list[str]:
    return [name for name in kind.__struct_fields__ if name not in _PLACE]


def other_value(value: object) -> object:
    """Another value of the same type that lines could have."""
    if isinstance(value, bool):
        return not value
    return value + 32_000_000 if isinstance(value, int) else f"{value}?"


def printed() -> Iterator[tuple[PrintedLine | None, Line]]:
    """Captured lines, each with what the core prints there; None for a receipt."""
    for path in (*SAMPLES, *captures(), *RELEASES):
        for live in aligned(path).members.values():
            before, lines = live.windows.trajectory.before, live.windows.trajectory.lines
            for step in live.windows.steps:
                own = [lines.records[index] for index in step.lines]
                if step.given.message is not None and own:
                    yield None, own.pop(0)
                said = logged_lines(lines.vocabulary, step.action, before, step.outcome)
                yield from zip(said, own, strict=False)
                before = step.state


def notices(line: PrintedLine | None, record: Line, changed: Line) -> bool:
    if line is not None:
        return not line.agrees(changed)
    return message_of(record) != message_of(changed)


def not_noticed() -> dict[type[Line], set[str]]:
    """The fields of each event of which a change is not noticed, of one captured line of each."""
    found: dict[type[Line], set[str]] = {}
    for line, record in printed():
        kind = type(record)
        if kind in found or not issubclass(kind, ClusterEvent):
            continue
        assert line is None or line.agrees(record)
        silent = set()
        for name in fields_of(kind):
            changed: dict[str, Any] = {name: other_value(getattr(record, name))}
            if not notices(line, record, structs.replace(record, **changed)):
                silent.add(name)
        found[kind] = silent
        if len(found) == len(PRINTED_STEPS | RECEIPTS):
            break
    return found


def test_each_event_that_logs_have_is_compared_or_is_not_for_a_reason() -> None:
    events = {event.record for event in EVENT_TYPES.values()}

    assert events == PRINTED_STEPS | RECEIPTS | set(EVENTS_NOT_COMPARED)


def test_each_field_of_a_compared_event_is_compared_or_is_not_for_a_reason() -> None:
    known = {kind: set(FIELDS_NOT_COMPARED.get(kind, ())) for kind in PRINTED_STEPS | RECEIPTS}

    assert not_noticed() == known
