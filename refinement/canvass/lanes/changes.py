"""What a step changed in the state of its member, field by field.

The names are those of the trace format; records of other members and recording-log entries are
identified by their places.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final

import msgspec

from canvass.cluster.member import Member, MemberRecord, TermEntry
from canvass.cluster.names import wire_name
from canvass.lanes.model import Record

ABSENT: Final = "absent"

_FIRST_SHOWN: Final = (
    "election_state",
    "role",
    "module_state",
    "leader_member_id",
    "leadership_term_id",
    "candidate_term_id",
    "commit_position",
    "append_position",
    "recorded_position",
)
"""The fields that tell a reader most; the others follow in the order of the format."""


class Change(Record, frozen=True):
    """A field with another value after a step than before it."""

    field: str
    before: str
    after: str

    def __str__(self) -> str:
        """Say it in one line."""
        return f"{self.field}: {self.before} → {self.after}"


def state_changes(before: Member, after: Member) -> tuple[Change, ...]:
    """Give the fields in which two states differ, the most important ones first."""
    if before == after:
        return ()
    names = dict.fromkeys((*_FIRST_SHOWN, *Member.__struct_fields__))
    found: list[Change] = []
    for name in names:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            found += _field_changes(name, old, new)
    return tuple(found)


def _field_changes(name: str, old: object, new: object) -> Iterator[Change]:
    if not isinstance(old, tuple) or not isinstance(new, tuple):
        yield Change(wire_name(name), value_text(old), value_text(new))
        return
    for place in range(max(len(old), len(new))):
        was = old[place] if place < len(old) else None
        now = new[place] if place < len(new) else None
        path = f"{wire_name(name)}[{place}]"
        if isinstance(was, MemberRecord) and isinstance(now, MemberRecord):
            for field in was.__struct_fields__:
                one, two = getattr(was, field), getattr(now, field)
                if one != two:
                    yield Change(f"{path}.{wire_name(field)}", value_text(one), value_text(two))
        elif was != now:
            yield Change(path, value_text(was), value_text(now))


def value_text(value: object) -> str:
    """Write a value of a state or a message for a person."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, TermEntry):
        end = "open" if value.log_position == -1 else str(value.log_position)
        return f"term {value.leadership_term_id}, {value.term_base_log_position} to {end}"
    if isinstance(value, msgspec.Struct):
        return ", ".join(
            f"{wire_name(name)}={value_text(getattr(value, name))}"
            for name in value.__struct_fields__
        )
    return str(value)
