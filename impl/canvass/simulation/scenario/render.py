"""How steps, messages and members are printed in a dialogue.

One line for each thing, of words that a reader can look up in the spec. A position stands after its
term as ``term@position``; -1 is printed as ``-``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from itertools import groupby

from canvass.cluster.effects import Effect, Send
from canvass.cluster.member import (
    NULL_RECORD,
    ElectionState,
    Member,
    MemberRecord,
    ModuleState,
    Role,
    TermEntry,
)
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.names import wire_name
from canvass.cluster.predicates import RECORDS_READ, in_election
from canvass.cluster.recording_log import last_term
from canvass.simulation.scenario.contents import Log
from canvass.simulation.scenario.wording import number, place, said, span
from canvass.simulation.scenario.world import Step


def entries(log: tuple[TermEntry, ...]) -> str:
    """The recording log: each term with its base and end."""
    words = [
        span(entry.leadership_term_id, entry.term_base_log_position, entry.log_position)
        for entry in log
    ]
    return " ".join(words) or "empty"


def contents(log: Log) -> str:
    """What a log holds: each term with where its bytes begin and end."""
    return " ".join(f"{part.term}[{part.start},{part.end})" for part in log) or "empty"


def _effect(effect: Effect) -> str:
    words = [type(effect).__name__]
    for part in fields(effect):
        value = getattr(effect, part.name)
        shown = entries(value) if isinstance(value, tuple) else str(value)
        words.append(f"{wire_name(part.name)}={shown}")
    return " ".join(words)


def effects(sequence: tuple[Effect, ...]) -> Iterator[str]:
    """The effects of a step in order; equal messages to several members take one line."""

    def kind(effect: Effect) -> object:
        return effect.message if isinstance(effect, Send) else effect

    for _, same in groupby(sequence, key=kind):
        group = list(same)
        first = group[0]
        if isinstance(first, Send):
            to = " ".join(str(one.to) for one in group if isinstance(one, Send))
            yield f"  -> {to}  {said(first.message)}"
        else:
            yield f"   !  {_effect(first)}"


def step(taken: Step) -> Iterator[str]:
    """A step: who did what, what had to happen, and what it violates."""
    message = taken.input.message
    cause = taken.action if message is None else f"<- {said(message)}"
    if taken.outcome is None:
        yield f"{taken.member} {cause}: not enabled"
        return
    quiet = taken.outcome.next == taken.before and not taken.outcome.effects
    yield f"{taken.member} {cause}{': ignored' if quiet and message is not None else ''}"
    yield from effects(taken.outcome.effects)
    for violation in taken.violations:
        yield f"  ** {violation}"


def _record(j: int, record: MemberRecord) -> str:
    vote = {0: " no", 1: " yes"}.get(record.vote, "")
    heard = "?"
    if record.log_position != NULL_VALUE:
        heard = place(record.leadership_term_id, record.log_position)
    return f"{j}={heard}{vote}{' replay' if record.catchup_replay else ''}"


def _more_of_an_election(s: Member) -> Iterator[str]:
    yield f"candidate={number(s.candidate_term_id)}"
    if s.persisted_candidate_term_id != s.candidate_term_id:
        yield f"persisted={number(s.persisted_candidate_term_id)}"
    if s.recorded_position != s.append_position:
        yield f"recorded={s.recorded_position}"
    if s.catchup_join_position != NULL_VALUE:
        yield f"join={s.catchup_join_position}"
    if s.replication_stop_position != NULL_VALUE:
        copied = span(
            s.replication_leadership_term_id,
            s.replication_term_base_log_position,
            s.replication_stop_position,
        )
        yield f"{'copying' if s.log_replication else 'copy'}={copied}"
    if s.replay_stop_position != NULL_VALUE:
        yield f"replay={s.replay_stop_position}"
    if s.graceful_closed_leader_id != NULL_VALUE:
        yield f"gone={s.graceful_closed_leader_id}"


def _more(s: Member) -> Iterator[str]:
    if in_election(s):
        yield f"commit={s.commit_position}/{number(s.notified_commit_position)}"
        yield from _more_of_an_election(s)
    else:
        yield f"commit={s.commit_position}/{s.module_notified_commit_position}"
    if s.leader_member_id != NULL_VALUE:
        yield f"leader={s.leader_member_id}"
    if s.publication_position != NULL_VALUE:
        yield f"published={s.publication_position}"
    if s.log_subscription:
        yield "subscribed"
    if s.catchup_destination:
        yield "catchup"
    if s.termination_position != NULL_VALUE:
        yield f"ends={place(s.termination_leadership_term_id, s.termination_position)}"


def member(i: int, s: Member) -> Iterator[str]:
    """The state of a member, as far as it is not null; what it knows of the others below it."""
    if s.module_state is ModuleState.CLOSED:
        disk = place(last_term(s.recording_log), s.recorded_position)
        yield f"{i} DOWN  log={disk} candidate={number(s.persisted_candidate_term_id)}"
        return
    state, role = s.election_state.value, s.role.value
    if s.election_state is ElectionState.CLOSED:
        term, log = (
            s.module_leadership_term_id,
            place(last_term(s.recording_log), s.recorded_position),
        )
    else:
        term, log = s.leadership_term_id, place(s.log_leadership_term_id, s.append_position)
    yield " ".join((f"{i} {state:<24} {role:<9} term={number(term):<2} log={log:<8}", *_more(s)))
    reads = s.election_state in RECORDS_READ or s.role is Role.LEADER
    if reads and any(record != NULL_RECORD for record in s.members):
        yield "    knows " + "  ".join(_record(j, record) for j, record in enumerate(s.members))
