"""TLC's answers about runs as divergences, without TLC."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.cluster.rules import Rules
from canvass.conformance.findings import LOG_STREAM, MESSAGE_CAUSALITY, Divergence, DivergenceClass
from canvass.conformance.tlc_engine import (
    EngineError,
    Stream,
    TraceRun,
    divergences_of,
    read_answers,
)
from canvass.tlc.values import parse_value
from canvass.traces.schema import Run

RIGHT = "<<1, 1, 1, 1>>"
"""The text for a member whose next event is right."""
GONE = "<<0, 0, 0, 0>>"
"""The text for a member without a next event."""


def trace_of(*actions: str) -> TraceRun:
    """Two members, each with the same actions."""
    steps = tuple(range(10, 10 + len(actions)))
    stream = Stream(steps, actions, ("",) * len(actions))
    run = Run.of(Rules(2), "run", {"kind": "test"})
    return TraceRun(run, Path("run"), (), True, 0, (stream, stream))


def found(trace: TraceRun, *printed: str) -> list[Divergence]:
    (answer,) = read_answers([parse_value(text) for text in printed], 1)
    assert not answer.conforms
    return list(divergences_of(trace, answer))


def places(divergences: list[Divergence]) -> list[tuple[str, int, int]]:
    return [(one.name, one.member, one.step) for one in divergences]


def test_an_answer_is_of_the_run_that_it_names() -> None:
    first, second, third = read_answers(
        [parse_value('<<"end", 2>>'), parse_value(f'<<"stuck", 3, <<0, 0>>, <<{GONE}, {GONE}>>>>')],
        3,
    )

    assert (first.conforms, len(first.dead_ends)) == (False, 0)
    assert (second.conforms, len(second.dead_ends)) == (True, 0)
    assert (third.conforms, len(third.dead_ends)) == (False, 1)


def test_words_that_the_trace_specification_does_not_print_are_an_error() -> None:
    with pytest.raises(EngineError, match="printed what the trace specification does not"):
        read_answers([parse_value('<<"began", 1>>')], 1)


def test_the_longest_explained_prefix_is_blamed() -> None:
    wrong = "<<1, 0, 1, 1>>"
    divergences = found(
        trace_of("Canvass", "Nominate"),
        f'<<"stuck", 1, <<0, 1>>, <<{wrong}, {RIGHT}>>>>',
        f'<<"stuck", 1, <<1, 1>>, <<{RIGHT}, {wrong}>>>>',
    )

    assert places(divergences) == [("Nominate", 1, 11)]
    assert divergences[0].rank == 2
    assert divergences[0].kind is DivergenceClass.IMPLEMENTATION_STEP


@pytest.mark.parametrize(
    ("member", "name"), [("<<1, 1, 0, 1>>", MESSAGE_CAUSALITY), ("<<1, 1, 1, 0>>", LOG_STREAM)]
)
def test_a_member_without_a_message_or_a_log_is_blamed_if_no_step_is_wrong(
    member: str, name: str
) -> None:
    wrong = "<<1, 0, 1, 1>>"
    alone = found(trace_of("OnVote"), f'<<"stuck", 1, <<0, 0>>, <<{RIGHT}, {member}>>>>')
    other = found(trace_of("OnVote"), f'<<"stuck", 1, <<0, 0>>, <<{wrong}, {member}>>>>')
    cycle = found(trace_of("OnVote"), f'<<"stuck", 1, <<0, 0>>, <<{RIGHT}, {RIGHT}>>>>')

    assert places(alone) == [(name, 1, 10)]
    assert alone[0].kind is DivergenceClass.CAUSALITY
    assert places(other) == [("OnVote", 0, 10)]
    assert places(cycle) == [(LOG_STREAM, 0, 10), (LOG_STREAM, 1, 10)]


def test_a_prefix_that_ends_with_a_violated_property_comes_before_others_as_long() -> None:
    wrong = "<<1, 0, 1, 1>>"
    divergences = found(
        trace_of("Canvass", "Nominate"),
        f'<<"stuck", 1, <<1, 0>>, <<{wrong}, {RIGHT}>>>>',
        f'<<"stuck", 1, <<0, 1>>, <<{RIGHT}, {RIGHT}>>>>',
        '<<"broken", 1, <<0, 1>>, 1, {"LogMatching"}>>',
    )

    assert places(divergences) == [("LogMatching", 1, 11)]


def test_a_violated_property_is_named_and_a_checksum_is_of_the_log() -> None:
    stuck = f'<<"stuck", 1, <<0, 0>>, <<{RIGHT}, {RIGHT}>>>>'
    broken = f'<<"broken", 1, <<0, 0>>, 1, {{"{LOG_STREAM}", "LogMatching"}}>>'

    # TLC may say so of several states with the same explained events.
    safety, checksum = found(trace_of("Canvass"), stuck, broken, broken)

    assert (safety.kind, safety.name) == (DivergenceClass.SAFETY_PROPERTY, "LogMatching")
    assert (checksum.kind, checksum.name) == (DivergenceClass.CAUSALITY, LOG_STREAM)
