"""Proposed steps in the form of the trace format, made quickly: parts that did not change since the
step before are not made again.

What it makes is what `canvass.traces.schema` makes of the same values; a test holds that.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Final

from canvass.cluster.member import Input, Member
from canvass.cluster.messages import MESSAGE_TYPES, Message
from canvass.traces import wire

_NAMES: Final = wire.Member.__struct_fields__
_VALUES: Final = attrgetter(*_NAMES)
_LOG: Final = _NAMES.index("recording_log")
_MEMBERS: Final = _NAMES.index("members")
_RECORD: Final = attrgetter(*wire.MemberRecord.__struct_fields__)
_ENTRY: Final = attrgetter(*wire.TermEntry.__struct_fields__)
_FACTS: Final = attrgetter(*(name for name in Input.__dataclass_fields__ if name != "message"))
_MESSAGES: Final = {
    kind: (form, attrgetter(*form.__struct_fields__))
    for kind, form in zip(MESSAGE_TYPES, wire.MESSAGE_TYPES, strict=True)
}


class WireForm:
    """The form of the states and messages of one member, in the order of its steps."""

    def __init__(self) -> None:
        self._state: Member | None = None
        self._wire: wire.Member | None = None
        self._records: dict[Any, wire.MemberRecord] = {}
        self._entries: dict[Any, wire.TermEntry] = {}
        self._sets: dict[frozenset[int], tuple[int, ...]] = {}
        self._message: tuple[Message | None, wire.Message | None] = (None, None)

    def member(self, state: Member) -> wire.Member:
        """The form of a state."""
        before, made = self._state, self._wire
        if made is not None and state is before:
            return made
        values = list(_VALUES(state))
        if before is not None and made is not None and state.recording_log is before.recording_log:
            values[_LOG] = made.recording_log
        else:
            values[_LOG] = tuple(self._entry(entry) for entry in state.recording_log)
        if before is not None and made is not None and state.members is before.members:
            values[_MEMBERS] = made.members
        else:
            values[_MEMBERS] = tuple(self._record(record) for record in state.members)
        self._state, self._wire = state, wire.Member(*values)
        return self._wire

    def _record(self, record: Any) -> wire.MemberRecord:
        values = _RECORD(record)
        if values not in self._records:
            self._records[values] = wire.MemberRecord(*values)
        return self._records[values]

    def _entry(self, entry: Any) -> wire.TermEntry:
        values = _ENTRY(entry)
        if values not in self._entries:
            self._entries[values] = wire.TermEntry(*values)
        return self._entries[values]

    def facts(self, given: Input) -> tuple[Any, ...]:
        """The fields of an input besides the message."""
        interval, commit_interval, timeout, active, accepted, *rest = _FACTS(given)
        kept = self._sets
        for one in (active, accepted):
            if one not in kept:
                kept[one] = tuple(sorted(one))
        return interval, commit_interval, timeout, kept[active], kept[accepted], *rest

    def message(self, message: Message) -> wire.Message:
        """The form of a message; that of a broadcast is made once."""
        known, form = self._message
        if form is None or known is not message:
            kind, values = _MESSAGES[type(message)]
            form = kind(*values(message))
            self._message = message, form
        return form
