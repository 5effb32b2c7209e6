"""The canonical form of a step, in plain Python. The kernel is tested against this definition.

The operators of the spec use terms and positions by comparison, min, max, "+1" on terms and the
constants -1 and 0, and members by looking them up and counting them. So a step is allowed if and
only if its canonical form is: the image under

1. the *frame*: fields that the action does not touch are equal before and after, and are erased
   (`canvass.steps.frames`);
2. the *window*: of the recording log only the entries that the step may look up are kept;
3. the *renaming* of positions (0 and -1 fixed) and of terms (-1 fixed, a gap of one stays one, a
   larger one becomes two) to the smallest numbers in the same order;
4. the *permutation* that makes the member 0, and orders its peers by the fields of the step that
   are about each. Sends are in the order of their receivers.

`canvass.steps.kernel` computes the same for columns of events. Nothing here decides whether a step
is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from canvass.cluster.member import (
    NO_INPUT,
    ElectionState,
    Input,
    Member,
    MemberRecord,
    ModuleState,
    Role,
    TermEntry,
)
from canvass.cluster.messages import MESSAGE_TYPES, NULL_VALUE, CanvassPosition, Message
from canvass.cluster.rules import Rules
from canvass.steps.frames import (
    LOG,
    NEWER_TERM_FIELD,
    OPTIONAL_INPUT,
    Frame,
    Lookup,
    Regime,
    frame_of,
)
from canvass.steps.step import (
    ERASED_RECORD,
    ERASED_STATE,
    WORD,
    Step,
    entry_cells,
    flat_message,
    hash_cells,
    input_cells,
    record_cells,
    state_cells,
)
from canvass.traces.actions import ACTION_INPUTS, ACTIONS, Action
from canvass.traces.columns import member_of
from canvass.traces.layout import INPUT_COLUMNS, MEMBER_COLUMNS, STATE_COLUMNS, NumberKind
from canvass.traces.layout import kind as kind_of
from canvass.traces.limits import MAX_INT

_Fields = TypeVar("_Fields", bound=Struct)


def map_message(message: Message, rename: Callable[[str, int], int]) -> Message:
    """Rename the numbers of a message, each by the name of its field."""
    given = {name: getattr(message, name) for name in message.__struct_fields__}
    values: list[Any] = [
        value if isinstance(value, bool) else rename(name, value) for name, value in given.items()
    ]
    return type(message)(*values)


def _map_fields(value: _Fields, rename: Callable[[str, int], int]) -> _Fields:
    """Rename the numbers among the fields of a state, record, entry or input."""
    changes: dict[str, Any] = {}
    for name in value.__struct_fields__:
        given = getattr(value, name)
        if type(given) is int:
            changes[name] = rename(name, given)
    return replace(value, **changes)


def map_state(state: Member, rename: Callable[[str, int], int]) -> Member:
    """Rename the numbers of a state, each by the name of its field; records stay in place."""
    return replace(
        _map_fields(state, rename),
        members=tuple(_map_fields(record, rename) for record in state.members),
        recording_log=tuple(_map_fields(entry, rename) for entry in state.recording_log),
    )


def map_step(step: Step, rename: Callable[[str, int], int]) -> Step:
    """Rename all numbers of a step, each by the name of its field; records stay where they are."""
    given = _map_fields(step.input, rename)
    if given.message is not None:
        given = replace(given, message=map_message(given.message, rename))
    return replace(
        step,
        before=map_state(step.before, rename),
        after=map_state(step.after, rename),
        input=given,
        sends=tuple((to, map_message(message, rename)) for to, message in step.sends),
    )


def ranks(values: Iterable[int], *, terms: bool) -> dict[int, int]:
    """Give the renaming to the smallest numbers that keeps the order, and -1 and 0.

    A renaming of terms also keeps which terms are consecutive, and need not keep 0.
    """
    fixed = {NULL_VALUE: NULL_VALUE} if terms else {NULL_VALUE: NULL_VALUE, 0: 0}
    renamed = dict(fixed)
    distinct = sorted(set(values) - set(fixed))
    place = previous = NULL_VALUE if terms else 0
    for value in (value for value in distinct if value > NULL_VALUE):
        place += 1 if not terms or value == previous + 1 else 2
        previous, renamed[value] = value, place
    place = previous = NULL_VALUE
    for value in (value for value in reversed(distinct) if value < NULL_VALUE):
        place -= 1 if not terms or value == previous - 1 else 2
        previous, renamed[value] = value, place
    return renamed


def _looked_up(step: Step, frame: Frame, rules: Rules) -> Iterator[int]:
    """Give the terms that the step may look up in the state before it."""
    s, x = step.before, step.input
    message_term = getattr(x.message, "log_leadership_term_id", NULL_VALUE)
    terms = {
        Lookup.OWN_LOG_TERM: s.log_leadership_term_id,
        Lookup.AFTER_OWN_LOG_TERM: _next(s.log_leadership_term_id),
        Lookup.MESSAGE_LOG_TERM: message_term,
        Lookup.AFTER_MESSAGE_LOG_TERM: _next(message_term),
        Lookup.MODULE_TERM: s.module_leadership_term_id,
        Lookup.LEADERSHIP_TERM: s.leadership_term_id,
        Lookup.REPLICATION_TERM: s.replication_leadership_term_id,
        Lookup.INPUT_TERM: x.leadership_term_id,
    }
    yield from (terms[lookup] for lookup in frame.lookups if lookup is not Lookup.RECORD_TERMS)
    if Lookup.RECORD_TERMS in frame.lookups and rules.is_hardened("HZ1"):
        yield from (record.leadership_term_id for record in s.members)


def _next(term: int) -> int:
    return term + 1 if term < MAX_INT else term


def _rises(log: Sequence[TermEntry]) -> bool:
    return all(a.leadership_term_id < b.leadership_term_id for a, b in pairwise(log))


def window(
    step: Step, frame: Frame, rules: Rules
) -> tuple[Sequence[TermEntry], Sequence[TermEntry]]:
    """Give the entries kept of the two recording logs: all if the logs differ in other entries."""
    before, after = step.before.recording_log, step.after.recording_log
    if LOG not in frame.after:
        return (), ()
    if not (_rises(before) and _rises(after)):
        return before, after
    kept = {before[-1].leadership_term_id} if before else set()
    for term in _looked_up(step, frame, rules):
        first = next((e for e in before if e.leadership_term_id >= term), None)
        if first is not None:
            kept.add(first.leadership_term_id)
    last = before[-1].leadership_term_id if before else None

    def inside(entry: TermEntry) -> bool:
        term = entry.leadership_term_id
        return term in kept or last is None or term > last

    if [e for e in before if not inside(e)] != [e for e in after if not inside(e)]:
        return before, after
    return [e for e in before if inside(e)], [e for e in after if inside(e)]


_T = TypeVar("_T")

LEADER_STATES: Final = frozenset(
    {
        ElectionState.LEADER_LOG_REPLICATION,
        ElectionState.LEADER_REPLAY,
        ElectionState.LEADER_INIT,
        ElectionState.LEADER_READY,
    }
)
MAX_FLAGS: Final = 255


class FrameBroken(Exception):
    """A step changed a field that its action does not touch."""

    def __init__(self, changed: Sequence[str]) -> None:
        super().__init__(", ".join(changed))
        self.fields = tuple(changed)


class OutOfDomain(Exception):
    """A field holds an impossible value, such as the id of a member that there is not."""

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


@dataclass(frozen=True, slots=True)
class Canonical:
    """A canonical step."""

    step: Step
    regime: Regime

    @property
    def key(self) -> tuple[int, int]:
        """The 128-bit content key."""
        return hash_cells(_key_cells(self))


def regime_of(step: Step) -> Regime:
    """Give the regime of a step: the case of the operators that it falls into."""
    s = step.before
    if step.action is Action.RESTART or s.module_state is not ModuleState.ACTIVE:
        return Regime.INACTIVE
    if s.election_state is ElectionState.CLOSED:
        newer = NEWER_TERM_FIELD.get(step.action)
        term = NULL_VALUE if newer is None else getattr(step.input.message, newer)
        if newer is not None and term > s.module_leadership_term_id:
            return Regime.CLOSED_NEWER
        return Regime.CLOSED_LEADER if s.role is Role.LEADER else Regime.CLOSED_OTHER
    if s.role is Role.LEADER or s.election_state in LEADER_STATES:
        return Regime.ELECTION_LEADER
    return Regime.ELECTION_OTHER


def canonical(step: Step, rules: Rules) -> Canonical:
    """Give the canonical form of a step of a cluster with those rules.

    Raises
    ------
    FrameBroken
        If a field that the action does not touch was changed.
    OutOfDomain
        If a field that the action touches holds an impossible value.
    """
    regime = regime_of(step)
    frame = frame_of(step.action, regime)
    touched = _touched_record(step, frame)
    changed = [name for name in sorted(frame.untouched) if _differs(step, name)]
    if touched is not None:
        changed += _changed_records(step, touched)
    if changed:
        raise FrameBroken(sorted(set(changed)))
    logs = window(step, frame, rules)
    kept = replace(
        step,
        before=_erased(step.before, frame.before, logs[0], touched),
        after=_erased(step.after, frame.after, logs[1], touched),
        input=_input_read(step, regime, rules),
        barred=(
            step.action is Action.CANVASS
            and rules.appointed_leader_id not in (NULL_VALUE, step.member)
        ),
    )
    check_domain(kept)
    return Canonical(_permuted(renumbered(kept)[0], frame), regime)


def _touched_record(step: Step, frame: Frame) -> int | None:
    """Give the only member whose record the step touches, None if it may touch all."""
    if not frame.record_of:
        return None
    member: int = getattr(step.input.message, frame.record_of)
    if not 0 <= member < len(step.before.members):
        raise OutOfDomain(frame.record_of)
    return member


def _changed_records(step: Step, touched: int) -> list[str]:
    pairs = zip(step.before.members, step.after.members, strict=True)
    others = [pair for j, pair in enumerate(pairs) if j != touched]
    return [
        f"members.{name}"
        for name in MEMBER_COLUMNS
        if any(getattr(a, name) != getattr(b, name) for a, b in others)
    ]


def _values(state: Member, name: str) -> Any:
    if name.startswith("members."):
        return [getattr(record, name.removeprefix("members.")) for record in state.members]
    return getattr(state, name)


def _differs(step: Step, name: str) -> bool:
    return bool(_values(step.before, name) != _values(step.after, name))


def _erased(
    state: Member, kept: frozenset[str], log: Sequence[TermEntry], touched: int | None
) -> Member:
    single = [
        cell if name in kept else erased
        for name, cell, erased in zip(STATE_COLUMNS, state_cells(state), ERASED_STATE, strict=True)
    ]
    records = [
        [
            cell if f"members.{name}" in kept and touched in (None, j) else erased
            for name, cell, erased in zip(
                MEMBER_COLUMNS, record_cells(record), ERASED_RECORD, strict=True
            )
        ]
        for j, record in enumerate(state.members)
    ]
    return member_of(single, records, [entry_cells(entry) for entry in log])


def _input_read(step: Step, regime: Regime, rules: Rules) -> Input:
    read = ACTION_INPUTS[step.action].fields
    values = {name: getattr(step.input, name) for name in read}
    if "active" in read:
        values["active"] = _active_read(step, regime, rules)
    return replace(NO_INPUT, message=step.input.message, **values)


def _active_read(step: Step, regime: Regime, rules: Rules) -> frozenset[int]:
    """Give the active members, with the member that the step itself renews.

    1.49 reads no active members. As in ``MemberGraph.tla``, an answer to a message outside the
    leader's election reads none.
    """
    message = step.input.message
    if message is not None and (rules.is_149 or regime is not Regime.ELECTION_LEADER):
        return frozenset()
    if rules.is_149:
        return frozenset({step.member})
    renewed = step.member if step.action is Action.LEADER_LOG_REPLICATION else NULL_VALUE
    if isinstance(message, CanvassPosition):
        renewed = message.follower_member_id
    known = 0 <= renewed < rules.member_count
    return step.input.active | {renewed} if known else step.input.active


# --- domain, renaming, permutation: over all numbers of a step, by their kind --------------------


def check_domain(step: Step) -> None:
    """Check that no field holds an impossible value.

    Raises
    ------
    OutOfDomain
        If a field does.
    """
    count = len(step.before.members)

    def check(lowest: int) -> Callable[[str, int], int]:
        def visit(name: str, value: int) -> int:
            kind = kind_of(name)
            if kind is NumberKind.MEMBER and not lowest <= value < count:
                raise OutOfDomain(name)
            if kind is NumberKind.CODE and not (NULL_VALUE <= value <= MAX_FLAGS):
                raise OutOfDomain(name)
            return value

        return visit

    message = step.input.message
    if message is not None:
        map_message(message, check(0))
    map_step(replace(step, input=replace(step.input, message=None)), check(NULL_VALUE))
    for record in (*step.before.members, *step.after.members):
        if record.vote > 1:
            raise OutOfDomain("vote")
    if any(not 0 <= to < count for to, _ in step.sends):
        raise OutOfDomain("to")
    for name in ("active", "accepted"):
        if any(member >= count for member in getattr(step.input, name)):
            raise OutOfDomain(name)


def renumbered(step: Step) -> tuple[Step, dict[NumberKind, dict[int, int]]]:
    """Replace terms and positions by their ranks; give the rank of each number, too."""
    found: dict[NumberKind, set[int]] = {NumberKind.TERM: set(), NumberKind.POSITION: set()}

    def collect(name: str, value: int) -> int:
        kind = kind_of(name)
        if kind in found:
            found[kind].add(value)
        return value

    map_step(step, collect)
    tables = {kind: ranks(values, terms=kind is NumberKind.TERM) for kind, values in found.items()}

    def rename(name: str, value: int) -> int:
        kind = kind_of(name)
        return tables[kind][value] if kind in tables else value

    return map_step(step, rename), tables


MENTION_SELF: Final = 0
MENTION_PEER: Final = 1
MENTION_OTHER: Final = 2


def _mention(member: int, peer: int, value: int) -> int:
    if value == NULL_VALUE:
        return NULL_VALUE
    return {member: MENTION_SELF, peer: MENTION_PEER}.get(value, MENTION_OTHER)


def _peer_cells(step: Step, frame: Frame, peer: int) -> Iterator[int]:
    """Give all cells of a step that are about a peer."""
    for state, kept in ((step.before, frame.before), (step.after, frame.after)):
        cells = record_cells(state.members[peer])
        for name, cell in zip(MEMBER_COLUMNS, cells, strict=True):
            if f"members.{name}" in kept:
                yield cell
        yield int(state.leader_member_id == peer) + 2 * int(state.graceful_closed_leader_id == peer)

    def relative(message: Message) -> Iterator[int]:
        yield MESSAGE_TYPES.index(type(message))
        for name in message.__struct_fields__:
            value = int(getattr(message, name))
            yield (
                _mention(step.member, peer, value) if kind_of(name) is NumberKind.MEMBER else value
            )

    if step.input.message is not None:
        yield from relative(step.input.message)
    x = step.input
    yield int(peer in x.active) + 2 * int(peer in x.accepted)
    yield int(x.graceful_closed_leader_id == peer)
    for to, message in step.sends:
        if to == peer:
            yield from relative(message)
    # A message may name a member that it does not go to. No allowed step sends one. The order of
    # these messages does not matter.
    others = sum(
        hash_cells([_mention(step.member, peer, to), *relative(message)])[0]
        for to, message in step.sends
        if to != peer and peer in _members_named(message)
    )
    if others:
        yield others & WORD


def _members_named(message: Message) -> list[int]:
    names = message.__struct_fields__
    return [getattr(message, name) for name in names if kind_of(name) is NumberKind.MEMBER]


def _permuted(step: Step, frame: Frame) -> Step:
    count = len(step.before.members)
    peers = [j for j in range(count) if j != step.member]
    peers.sort(key=lambda j: hash_cells(_peer_cells(step, frame, j))[0])
    order = [step.member, *peers]
    place = {j: k for k, j in enumerate(order)}

    def rename(name: str, value: int) -> int:
        return place.get(value, value) if kind_of(name) is NumberKind.MEMBER else value

    def shuffled(records: Sequence[MemberRecord]) -> tuple[MemberRecord, ...]:
        return tuple(records[j] for j in order)

    moved = map_step(step, rename)
    sends = sorted(((place[to], message) for to, message in moved.sends), key=lambda send: send[0])
    return replace(
        moved,
        member=0,
        before=replace(moved.before, members=shuffled(moved.before.members)),
        after=replace(moved.after, members=shuffled(moved.after.members)),
        input=replace(
            moved.input,
            active=frozenset(place[j] for j in moved.input.active),
            accepted=frozenset(place[j] for j in moved.input.accepted),
        ),
        sends=tuple(sends),
    )


# --- the key --------------------------------------------------------------------------------------


def _key_cells(value: Canonical) -> Iterator[int]:
    """Give the cells that make the key: the frame, then the cells that the frame keeps."""
    step, regime = value.step, value.regime
    frame = frame_of(step.action, regime)
    yield ACTIONS.index(step.action) * len(Regime) + regime
    yield int(step.barred)
    read = ACTION_INPUTS[step.action].fields
    for name, cell in zip(INPUT_COLUMNS, input_cells(step.input), strict=True):
        if name in read and (name != OPTIONAL_INPUT or cell != NULL_VALUE):
            yield cell
    if step.input.message is not None:
        yield from flat_message(step.input.message)
    yield from _kept_cells(step.before, frame.before)
    yield from _kept_cells(step.after, frame.after)
    for to, message in step.sends:
        yield to
        yield from flat_message(message)


def _kept_cells(state: Member, kept: frozenset[str]) -> Iterator[int]:
    for name, cell in zip(STATE_COLUMNS, state_cells(state), strict=True):
        if name in kept:
            yield cell
    for record in state.members:
        for name, cell in zip(MEMBER_COLUMNS, record_cells(record), strict=True):
            if f"members.{name}" in kept:
                yield cell
    if LOG in kept:
        yield len(state.recording_log)
        for entry in state.recording_log:
            yield from entry_cells(entry)
