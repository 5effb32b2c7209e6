"""TLC's answers about runs as divergences, without TLC."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.cluster.rules import Rules
from canvass.conformance.tlc_engine import divergences_of, read_answers
from canvass.conformance.tlc_engine_runs import EngineError, Sent, Stream, TraceRun
from canvass.conformance.verdict import (
    LOG_STREAM,
    MESSAGE_CAUSALITY,
    Divergence,
    DivergenceClass,
)
from canvass.tlc import parse_value
from canvass.traces.schema import Run

NOTHING = (-1, -1, (-1,))
RIGHT = "<<1, 1, 1, 1, 0>>"
"""The text for a member whose next event is right; its leader is member 0."""
GONE = "<<0, 0, 0, 0, 0>>"
"""The text for a member without a next event."""


def trace_of(
    *actions: str,
    received: tuple[int, int, tuple[int, ...]] = NOTHING,
    sent: dict[int, Sent] | None = None,
) -> TraceRun:
    """Two members, each with the same actions; all events of member 1 receive the same message."""

    def stream(message: tuple[int, int, tuple[int, ...]]) -> Stream:
        steps = tuple(range(10, 10 + len(actions)))
        return Stream(steps, actions, (message,) * len(actions), ("",) * len(actions))

    return TraceRun(
        run=Run.of(Rules(2), "run", {"kind": "test"}),
        path=Path("run"),
        facts=(),
        missing=frozenset(),
        whole=True,
        unchecked=0,
        streams=(stream(NOTHING), stream(received)),
        sent=sent or {},
        positions=(0, 96, 1_024),
    )


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

    assert (first.conforms, first.is_given) == (False, False)
    assert (second.conforms, second.is_given) == (True, True)
    assert (third.conforms, third.is_given) == (False, True)


def test_words_that_the_trace_specification_does_not_print_are_an_error() -> None:
    with pytest.raises(EngineError, match="printed what the trace specification does not"):
        read_answers([parse_value('<<"began", 1>>')], 1)


def test_the_longest_explained_prefix_is_blamed() -> None:
    wrong = "<<1, 0, 1, 1, 0>>"
    divergences = found(
        trace_of("Canvass", "Nominate"),
        f'<<"stuck", 1, <<0, 1>>, <<{wrong}, {RIGHT}>>>>',
        f'<<"stuck", 1, <<1, 1>>, <<{RIGHT}, {wrong}>>>>',
        '<<"differs", 1, <<1, 1>>, 1, <<>>>>',
    )

    assert places(divergences) == [("Nominate", 1, 11)]
    assert divergences[0].rank == 2
    assert divergences[0].kind is DivergenceClass.IMPLEMENTATION_STEP
    assert divergences[0].text == "by the spec this step is not enabled in the state before it"


@pytest.mark.parametrize(
    ("outcomes", "text"),
    [
        (
            '<<<<{<<"commitPosition", 1, 2>>}, TRUE>>>>',
            "leads to commitPosition 96; the trace reports commitPosition 1024",
        ),
        (
            '<<<<{<<"role", "LEADER", "FOLLOWER">>}, FALSE>>>>',
            "leads to role LEADER; the trace reports role FOLLOWER; the messages sent differ, too",
        ),
        (
            '<<<<{<<"logReplication", TRUE, FALSE>>}, TRUE>>>>',
            "leads to logReplication true; the trace reports logReplication false",
        ),
        (
            '<<<<{<<"commitPosition", 1, 2>>}, TRUE>>, <<{}, FALSE>>>>',
            "sends other messages than the trace reports",
        ),
    ],
)
def test_a_wrong_step_is_compared_with_the_nearest_outcome(outcomes: str, text: str) -> None:
    stuck = f'<<"stuck", 1, <<0, 0>>, <<{GONE}, <<1, 0, 1, 1, 0>>>>>>'

    (divergence,) = found(trace_of("Canvass"), stuck, f'<<"differs", 1, <<0, 0>>, 1, {outcomes}>>')

    assert divergence.text == f"by the spec this step {text}"


MESSAGE = (0, 7, (3, 1))


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({}, "sends message"),
        ({7: Sent(0, 0, 0, (3, 1))}, "was sent to another member"),
        ({7: Sent(0, 0, 1, (3, 2))}, "was sent with other contents"),
        ({7: Sent(0, 0, 1, (3, 1))}, "is received a second time"),
    ],
)
def test_a_message_that_cannot_be_received_is_blamed(sent: dict[int, Sent], expected: str) -> None:
    trace = trace_of("OnVote", "OnVote", received=MESSAGE, sent=sent)

    (divergence,) = found(trace, f'<<"stuck", 1, <<1, 1>>, <<{GONE}, <<1, 1, 0, 1, 0>>>>>>')

    assert expected in divergence.text
    assert (divergence.name, divergence.kind) == (MESSAGE_CAUSALITY, DivergenceClass.CAUSALITY)


def test_a_message_that_a_later_one_has_overtaken_is_blamed() -> None:
    trace = trace_of("OnVote", "OnVote", received=MESSAGE, sent={7: Sent(0, 0, 1, (3, 1))})

    (divergence,) = found(trace, f'<<"stuck", 1, <<1, 0>>, <<{GONE}, <<1, 1, 0, 1, 0>>>>>>')

    assert "is received after a later one of the same process of member 0" in divergence.text


def test_a_member_that_waits_is_blamed_only_if_all_wait_for_each_other() -> None:
    """Member 1 waits for a message that member 0 sends later."""
    waits = "<<1, 1, 0, 1, 0>>"
    trace = trace_of("OnVote", received=MESSAGE, sent={7: Sent(0, 0, 1, (3, 1))})

    alone = found(trace, f'<<"stuck", 1, <<0, 0>>, <<<<1, 0, 1, 1, 0>>, {waits}>>>>')
    both = found(trace, f'<<"stuck", 1, <<0, 0>>, <<<<1, 1, 1, 0, 1>>, {waits}>>>>')

    assert places(alone) == [("OnVote", 0, 10)]
    assert places(both) == [(LOG_STREAM, 0, 10), (MESSAGE_CAUSALITY, 1, 10)]
    assert {one.text for one in both} == {
        "the step depends on itself, through messages or recorded log bytes"
    }


@pytest.mark.parametrize(
    ("action", "leader", "expected"),
    [
        ("RecordLog", 1, "records the log beyond what its leader has written in that term"),
        ("FollowerLogAwait", 1, "joins the live log beyond what its leader has written"),
        ("ConsumeLog", 0, "consumes the first entry of a term as if it were another"),
    ],
)
def test_a_log_that_no_leader_will_write_is_blamed(action: str, leader: int, expected: str) -> None:
    trace = trace_of(action)

    (divergence,) = found(trace, f'<<"stuck", 1, <<0, 0>>, <<{RIGHT}, <<1, 1, 1, 0, {leader}>>>>>>')

    assert (divergence.name, divergence.member) == (LOG_STREAM, 1)
    assert expected in divergence.text


def test_a_prefix_that_ends_with_a_violated_property_comes_before_others_as_long() -> None:
    wrong = "<<1, 0, 1, 1, 0>>"
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

    safety, checksum = found(trace_of("Canvass"), stuck, broken)

    assert (safety.kind, safety.name) == (DivergenceClass.SAFETY_PROPERTY, "LogMatching")
    assert (checksum.kind, checksum.name) == (DivergenceClass.CAUSALITY, LOG_STREAM)
    assert "a checksum is of another log" in checksum.text
