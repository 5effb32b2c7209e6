"""What TLC prints about runs, and which event it blames.

TLC tells of each dead end of the search. The one that explains the most events counts; in it one
or more members stand before events that no behaviour explains, and others wait for what those
would have sent or written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from canvass.conformance.tlc_engine_runs import EngineError, TraceRun
from canvass.conformance.verdict import Divergence, DivergenceClass
from canvass.tlc import Value, to_python
from canvass.traces.layout import message_id_text

MESSAGE_CAUSALITY: Final = "MessageCausality"
LOG_STREAM: Final = "LogStream"
_MAX_DIFFERENCES: Final = 4


@dataclass(slots=True)
class DeadEnd:
    """A state of the search without a way on."""

    at: tuple[int, ...]
    """How many events of each stream are explained."""
    standing: dict[int, tuple[bool, bool, bool]] = field(default_factory=dict)
    """For each member with an event left: whether step, message and log contents are right."""
    leaders: dict[int, int] = field(default_factory=dict)
    """For each of them the member it takes for its leader."""
    differing: dict[int, Any] = field(default_factory=dict)
    broken: dict[int, frozenset[str]] = field(default_factory=dict)
    """The properties that the next event of a member would violate."""


@dataclass(slots=True)
class Answer:
    """What TLC says about one run."""

    conforms: bool = False
    dead_ends: dict[tuple[int, ...], DeadEnd] = field(default_factory=dict)

    @property
    def is_given(self) -> bool:
        """Whether TLC printed anything about the run."""
        return self.conforms or bool(self.dead_ends)


def read_answers(values: Iterable[Value], runs: int) -> list[Answer]:
    """Sort what was printed by runs.

    Raises
    ------
    EngineError
        If something else was printed.
    """
    answers = [Answer() for _ in range(runs)]
    for value in values:
        printed: Any = to_python(value)
        match printed:
            case ["end", run]:
                answers[run - 1].conforms = True
            case ["stuck", run, at, standing]:
                end = _dead_end(answers[run - 1], at)
                for member, (some, step, message, log, leader) in enumerate(standing):
                    if some:
                        end.leaders[member] = leader
                        end.standing[member] = (step == 1, message == 1, log == 1)
            case ["differs", run, at, member, outcomes]:
                _dead_end(answers[run - 1], at).differing[member] = outcomes
            case ["broken", run, at, member, names]:
                _dead_end(answers[run - 1], at).broken[member] = frozenset(names)
            case _:
                raise EngineError(f"TLC printed what the trace specification does not: {value!a}")
    return answers


def _dead_end(answer: Answer, at: Sequence[int]) -> DeadEnd:
    key = tuple(at)
    return answer.dead_ends.setdefault(key, DeadEnd(key))


# --- who is to blame ------------------------------------------------------------------------------


def divergences_of(trace: TraceRun, answer: Answer) -> tuple[Divergence, ...]:
    """Give the events that the longest explained prefix stops at, those to blame first.

    Members that only wait for another one are left out, unless all of them wait for each other.
    """
    most = max(sum(end.at) for end in answer.dead_ends.values())
    ends = [end for end in answer.dead_ends.values() if sum(end.at) == most]
    end = next((end for end in ends if end.broken), ends[0])
    found = [
        _divergence(trace, end, member, DivergenceClass.SAFETY_PROPERTY, name, "is violated")
        for member, names in sorted(end.broken.items())
        for name in sorted(names)
    ]
    for member in sorted(end.standing):
        blamed = _blame(trace, end, member)
        if blamed is not None:
            found.append(_divergence(trace, end, member, *blamed))
    return tuple(found or _cycle(trace, end))


def _cycle(trace: TraceRun, end: DeadEnd) -> list[Divergence]:
    """Blame members that wait for each other; those that wait for a log first."""
    text = "the step comes before itself: what it consumes depends on what it causes"
    for_log = [member for member, right in end.standing.items() if not right[2]]
    others = sorted(end.standing.keys() - for_log)
    causal = DivergenceClass.CAUSALITY
    return [
        *(_divergence(trace, end, member, causal, LOG_STREAM, text) for member in for_log),
        *(_divergence(trace, end, member, causal, MESSAGE_CAUSALITY, text) for member in others),
    ]


def _divergence(
    trace: TraceRun, end: DeadEnd, member: int, cause: DivergenceClass, name: str, text: str
) -> Divergence:
    if name == LOG_STREAM:
        cause = DivergenceClass.CAUSALITY
        if text == "is violated":
            text = "the log's checksum is not that of the log it was recorded from"
    step = trace.streams[member].steps[end.at[member]]
    return Divergence(cause, name, member, step, text, rank=sum(end.at))


def _blame(trace: TraceRun, end: DeadEnd, member: int) -> tuple[DivergenceClass, str, str] | None:
    """Say what is wrong with the next event of a member; None if it only waits."""
    step, message, log = end.standing[member]
    action = trace.streams[member].actions[end.at[member]]
    if not step:
        return DivergenceClass.IMPLEMENTATION_STEP, action, _about_step(trace, end, member, action)
    if not message:
        text = _about_message(trace, end, member)
        return None if text is None else (DivergenceClass.CAUSALITY, MESSAGE_CAUSALITY, text)
    if not log and not _may_still_be_written(trace, end, member):
        return DivergenceClass.CAUSALITY, LOG_STREAM, _ABOUT_LOG.get(action, _RECORDS)
    return None


_RECORDS: Final = "the log is recorded to where its leader has not written in that term"
_ABOUT_LOG: Final = {
    "ConsumeLog": "consumes the first entry of a term as if it were another, or what is not there",
    "OnReplayNewLeadershipTermEvent": "the log has no entry there that begins that term",
    "FollowerCatchupAwait": "no leader of that term has begun to replay its log to this member",
    "FollowerLogAwait": "no leader of that term has written up to there",
}
_OWN_LOG: Final = frozenset({"ConsumeLog", "OnReplayNewLeadershipTermEvent"})


def _may_still_be_written(trace: TraceRun, end: DeadEnd, member: int) -> bool:
    """Whether the leader has events left that could provide what is missing."""
    action = trace.streams[member].actions[end.at[member]]
    leader = end.leaders[member]
    return action not in _OWN_LOG and leader != member and leader in end.standing


def _about_message(trace: TraceRun, end: DeadEnd, member: int) -> str | None:
    """Say what is wrong with the message received; None if it is still to be sent."""
    sender, identity, content = trace.streams[member].received[end.at[member]]
    sent = trace.sent.get(identity)
    name = message_id_text(identity)
    if sent is None:
        return f"no step of member {sender} sends message {name}"
    if sent.to != member:
        return f"message {name} was sent to another member"
    if sent.content != content:
        return f"message {name} was sent with other contents"
    if sent.place >= end.at[sent.member]:
        return None
    earlier = trace.streams[member].received[: end.at[member]]
    if any(other[1] == identity for other in earlier):
        return f"message {name} is received a second time"
    return (
        f"message {name} is no longer under way: a later one of member {sender} came already,"
        " or this member has restarted since"
    )


def _about_step(trace: TraceRun, end: DeadEnd, member: int, action: str) -> str:
    if member not in end.differing:
        return f"{action} names a member that there is not"
    outcomes = end.differing[member]
    if not outcomes:
        return f"{action} is not enabled in the state before it"
    nearest = min(outcomes, key=lambda outcome: len(outcome[0]))
    fields, same_sends = nearest
    parts = [
        f"{name}: observed {_shown(trace, name, seen)}, allowed {_shown(trace, name, right)}"
        for name, right, seen in sorted(fields, key=lambda each: str(each[0]))
    ]
    if not same_sends:
        parts.append("the sends differ")
    if len(parts) > _MAX_DIFFERENCES:
        parts[_MAX_DIFFERENCES:] = [f"{len(parts) - _MAX_DIFFERENCES} more"]
    return f"{action} does not lead to this: {'; '.join(parts)}"


def _shown(trace: TraceRun, name: str, value: Any) -> str:
    """Give a value of a state as it was recorded, positions instead of their ranks."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and name.endswith("Position"):
        return str(trace.position(value))
    if isinstance(value, int | str):
        return str(value)
    return "another list"
