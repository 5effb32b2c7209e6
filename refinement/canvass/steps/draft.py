"""`Draft`: a canonical step in parts that the rules of `canvass.steps.reduction` change.

A draft erases the fields that a step does not read. It refuses a step that writes a field which its
rule does not name. The functions below it are shared by rules of several actions: records, votes,
and the start of an election.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from canvass.cluster.member import ElectionState, Input, Member, MemberRecord, TermEntry
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.steps.canonical import map_step
from canvass.steps.frames import REGIME_FIELDS
from canvass.steps.step import Step
from canvass.traces.actions import ACTION_INPUTS
from canvass.traces.layout import FLAG_COLUMNS, MEMBER_COLUMNS, STATE_COLUMNS, NumberKind
from canvass.traces.layout import kind as kind_of

Cells = dict[str, Any]

SELF: Final = 0
"""The member that takes a canonical step."""


LARGE: Final = 10_000
"""A number above all numbers of a canonical step. Numbers that are put apart begin here."""


class Unreduced(Exception):
    """No rule knows the step; it stays unreduced."""


def must(condition: bool) -> None:
    """Give up if a condition of a rule does not hold.

    Raises
    ------
    Unreduced
        If the condition does not hold.
    """
    if not condition:
        raise Unreduced


class Draft:
    """The parts of a canonical step, to be changed in place."""

    def __init__(self, step: Step, rules: Rules) -> None:
        self.step, self.rules = step, rules
        self.is_149 = rules.is_149
        self.before, self.after = _fields(step.before), _fields(step.after)
        self.records_before = [asdict(record) for record in step.before.members]
        self.records_after = [asdict(record) for record in step.after.members]
        self.log_before = step.before.recording_log
        self.log_after = step.after.recording_log
        self.input = {
            name: getattr(step.input, name) for name in Input.__struct_fields__ if name != "message"
        }
        self.message = {} if step.input.message is None else asdict(step.input.message)
        self.sends = [(to, type(message), asdict(message)) for to, message in step.sends]
        self.terms_by_order = False
        """Whether only the order of terms matters, not which terms are consecutive."""

    @property
    def state(self) -> ElectionState:
        """The election state before the step."""
        found = self.before["election_state"]
        assert isinstance(found, ElectionState)
        return found

    def at(self, state: ElectionState) -> None:
        """Give up if the member is in another election state."""
        must(self.state is state)

    @property
    def count(self) -> int:
        """The members of the cluster."""
        return len(self.records_before)

    def result(self) -> Step:
        """Give the step with the changed parts."""
        message = self.step.input.message
        made = Step(
            member=SELF,
            before=_member(self.before, self.records_before, self.log_before),
            action=self.step.action,
            input=Input(
                message=None if message is None else type(message)(**self.message), **self.input
            ),
            after=_member(self.after, self.records_after, self.log_after),
            sends=tuple((to, each(**values)) for to, each, values in self.sends),
            barred=self.step.barred,
        )
        return _with_terms_in_order(made) if self.terms_by_order else made

    # --- reads and writes -------------------------------------------------------------------------

    def fields(self, reads: str = "", writes: str = "") -> None:
        """Erase the single fields that are not read; those not written have to be unchanged."""
        _frame(self.before, self.after, STATE_COLUMNS, {*reads.split(), *REGIME_FIELDS}, writes)

    def record(self, member: int, reads: str = "", writes: str = "") -> None:
        """Erase the fields of a member's record that are not read."""
        before, after = self.records_before[member], self.records_after[member]
        _frame(before, after, MEMBER_COLUMNS, set(reads.split()), writes)

    def records(self, reads: str = "", writes: str = "") -> None:
        """Erase the fields of all records that are not read."""
        for member in range(self.count):
            self.record(member, reads, writes)

    def one_record(self, member: int, writes: str = "") -> None:
        """Erase all records; one of them may be written."""
        for other in range(self.count):
            self.record(other, writes=writes if other == member else "")

    def log(self, *terms: int) -> None:
        """Keep of an unchanged recording log the entries in which some terms are found."""
        if self.log_before != self.log_after:
            raise Unreduced
        kept = {_entry_at(self.log_before, term) for term in terms}
        self.log_before = self.log_after = tuple(
            entry for place, entry in enumerate(self.log_before) if place in kept
        )

    def given(self, inputs: str = "", message: str = "") -> None:
        """Erase the fields of the input and of its message that are not read."""
        for name in ACTION_INPUTS[self.step.action].fields:
            if name not in inputs.split():
                self.input[name] = Input.__struct_defaults__[Input.__struct_fields__.index(name)]
        for name in self.message:
            if name not in message.split() and kind_of(name) is not NumberKind.MEMBER:
                self.message[name] = False if name == "vote" else _erased(name)

    def nothing(self) -> None:
        """Erase everything: the step reads nothing and changes nothing."""
        self.fields()
        self.records()
        self.log()
        self.given()

    def apart(self, *groups: Iterable[tuple[Cells, str]]) -> None:
        """Put the numbers of each group above those of the one before, and of all others."""
        for number, group in enumerate(groups, 1):
            for cells, name in group:
                lowest = 0 if kind_of(name) is NumberKind.TERM else 1
                if cells[name] >= lowest:
                    cells[name] += number * LARGE

    def sends_of(self, made: type[Struct]) -> list[Cells]:
        """Give the messages of a type that are sent."""
        return [values for _, each, values in self.sends if each is made]

    def same(self, *cells: tuple[Cells, str]) -> int:
        """Give the value that all of some cells have."""
        values = {of[name] for of, name in cells}
        if len(values) != 1:
            raise Unreduced
        return int(values.pop())

    def put(self, value: Any, *cells: tuple[Cells, str]) -> None:
        """Give some cells a value."""
        for of, name in cells:
            of[name] = value


def _with_terms_in_order(step: Step) -> Step:
    """Number the terms of a step 0, 1, ... in their order."""
    found = set[int]()

    def visit(name: str, value: int) -> int:
        if kind_of(name) is NumberKind.TERM:
            found.add(value)
        return value

    map_step(step, visit)
    places = {value: place for place, value in enumerate(sorted(v for v in found if v >= 0))}

    def rename(name: str, value: int) -> int:
        return places.get(value, value) if kind_of(name) is NumberKind.TERM else value

    return map_step(step, rename)


def _fields(state: Member) -> Cells:
    return {name: getattr(state, name) for name in STATE_COLUMNS}


def _member(fields: Cells, records: list[Cells], log: tuple[TermEntry, ...]) -> Member:
    members = tuple(MemberRecord(**record) for record in records)
    return Member(**fields, members=members, recording_log=log)


def _erased(name: str) -> Any:
    return False if name in FLAG_COLUMNS else NULL_VALUE


def _frame(before: Cells, after: Cells, names: Iterable[str], reads: set[str], writes: str) -> None:
    written = {*writes.split(), *(REGIME_FIELDS & before.keys())}
    for name in names:
        if name not in written and before[name] != after[name]:
            raise Unreduced
        if name not in reads:
            before[name] = _erased(name)
            if name not in written:
                after[name] = _erased(name)


def _entry_at(log: Sequence[TermEntry], term: int) -> int:
    """Give where `FindTermEntry` finds a term in a log; -1 if nowhere."""
    if term < 0:
        return -1
    found = (place for place, each in enumerate(log) if each.leadership_term_id >= term)
    return next(found, -1)


# --- reads and writes of several actions ---------------------------------------------------------

POSITION: Final = "leadership_term_id log_position"
VOTE: Final = "candidate_term_id vote ballot_sent"
REPLICATION: Final = (
    "replication_leadership_term_id replication_term_base_log_position replication_stop_position"
)
ENTER_INIT: Final = f"log_replication {REPLICATION} catchup_join_position replay_stop_position"
ENTER_CANVASS: Final = f"{ENTER_INIT} leader_member_id"


def canvassing(draft: Draft, reads: str = "", writes: str = "", *, log: bool = False) -> None:
    """Enter CANVASS: only the end of the own log counts."""
    draft.fields(f"leadership_term_id append_position {reads}", f"{ENTER_CANVASS} {writes}")
    draft.records("", f"{POSITION} {VOTE}")
    if not log:
        draft.log()


def new_election(draft: Draft, reads: str = "") -> None:
    """Begin an election, which overwrites nearly all fields."""
    draft.terms_by_order = True
    draft.fields(
        f"recorded_position module_leadership_term_id persisted_candidate_term_id {reads}",
        f"{ENTER_CANVASS} publication_position log_subscription catchup_destination"
        " append_position notified_commit_position candidate_term_id log_leadership_term_id"
        " leadership_term_id graceful_closed_leader_id",
    )
    draft.records("", f"{POSITION} {VOTE}")
    draft.log()


def newer(draft: Draft, name: str) -> bool:
    """Begin an election if a message is of a newer term than the module's."""
    if draft.message[name] <= draft.before["module_leadership_term_id"]:
        return False
    new_election(draft)
    draft.given("", name)
    draft.message[name] = LARGE
    return True
