"""The steps of one member in the form of the trace format, made quickly: parts that did not change
since the step before are not made again.

What it makes is what `canvass.traces.schema` makes of the same values; a test holds that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final, TypeVar

from canvass.cluster.member import Input, Member, MemberRecord, TermEntry
from canvass.cluster.messages import MESSAGE_TYPES, NULL_VALUE, Message
from canvass.traces import schema, wire

_RECORD: Final = attrgetter(*wire.MemberRecord.__struct_fields__)
_ENTRY: Final = attrgetter(*wire.TermEntry.__struct_fields__)
_MESSAGES: Final = {
    kind: (form, attrgetter(*form.__struct_fields__))
    for kind, form in zip(MESSAGE_TYPES, wire.MESSAGE_TYPES, strict=True)
}

_Key = TypeVar("_Key")
_Made = TypeVar("_Made")


class _Kept(dict[_Key, _Made]):
    """What was made of something is made once."""

    def __init__(self, make: Callable[[_Key], _Made]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: _Key) -> _Made:
        made = self[key] = self._make(key)
        return made


class WireForm:
    """The form of the states, inputs and messages of one member, in the order of its steps."""

    def __init__(self) -> None:
        self._state: Member | None = None
        self._wire: wire.Member | None = None
        self._sets = _Kept[frozenset[int], tuple[int, ...]](lambda one: tuple(sorted(one)))
        self._names = _Kept[tuple[str, ...], tuple[str, ...]](
            lambda names: tuple(dict.fromkeys(names))
        )
        self._message: tuple[Message | None, wire.Message | None] = (None, None)

    def member(self, state: Member) -> wire.Member:
        """The form of a state."""
        before, made = self._state, self._wire
        if made is not None and state is before:
            return made
        if made is None or before is None:
            log = tuple([_entry_of(entry) for entry in state.recording_log])
            members = tuple([_record_of(record) for record in state.members])
        else:
            log, members = made.recording_log, made.members
            if state.recording_log is not before.recording_log:
                log = tuple([_entry_of(entry) for entry in state.recording_log])
            if len(state.members) != len(before.members):
                members = tuple([_record_of(record) for record in state.members])
            elif state.members is not before.members:
                known = zip(state.members, before.members, members, strict=True)
                members = tuple(
                    [form if now is was else _record_of(now) for now, was, form in known]
                )
        self._state, self._wire = state, _member_of(state, log, members)
        return self._wire

    def input(self, given: Input, sender: int = NULL_VALUE, message_id: str = "") -> schema.Input:
        """The form of an input; ``sender`` and ``message_id`` go with its message."""
        message, sets = given.message, self._sets
        return schema.Input(
            sender,
            message_id,
            None if message is None else self.message(message),
            given.interval,
            given.commit_interval,
            given.timeout,
            sets[given.active],
            sets[given.accepted],
            given.position,
            given.leadership_term_id,
            given.term_base_log_position,
            given.graceful_closed_leader_id,
        )

    def message(self, message: Message) -> wire.Message:
        """The form of a message; that of a broadcast is made once."""
        known, form = self._message
        if form is None or known is not message:
            kind, values = _MESSAGES[type(message)]
            form = kind(*values(message))
            self._message = message, form
        return form

    def names(self, names: Sequence[str]) -> tuple[str, ...]:
        """Names, each once."""
        return self._names[tuple(names)]


def _member_of(
    state: Member, log: tuple[wire.TermEntry, ...], members: tuple[wire.MemberRecord, ...]
) -> wire.Member:
    # Each field is named: the interpreter reads those fastest.
    return wire.Member(
        state.persisted_candidate_term_id,
        log,
        state.recorded_position,
        state.snapshot_leadership_term_id,
        state.snapshot_term_base_log_position,
        state.snapshot_log_position,
        state.module_state,
        state.role,
        state.module_leadership_term_id,
        state.module_notified_commit_position,
        state.commit_position,
        state.publication_position,
        state.log_subscription,
        state.catchup_destination,
        state.termination_position,
        state.termination_leadership_term_id,
        state.leader_member_id,
        members,
        state.election_state,
        state.log_leadership_term_id,
        state.leadership_term_id,
        state.candidate_term_id,
        state.append_position,
        state.notified_commit_position,
        state.catchup_join_position,
        state.replication_leadership_term_id,
        state.replication_stop_position,
        state.replication_term_base_log_position,
        state.log_replication,
        state.replay_stop_position,
        state.graceful_closed_leader_id,
    )


def _record_of(record: MemberRecord) -> wire.MemberRecord:
    return wire.MemberRecord(*_RECORD(record))


def _entry_of(entry: TermEntry) -> wire.TermEntry:
    return wire.TermEntry(*_ENTRY(entry))
