"""The binding's reading of newer versions; the samples are written by hand, see the fixtures."""

from __future__ import annotations

import pytest

from canvass.tlc import Outcome
from canvass.tlc.events import (
    ActionCoverage,
    Banner,
    ErrorReported,
    Finished,
    InitialStates,
    Location,
    Message,
    Progress,
    Severity,
    TraceState,
    UserOutput,
    WarningReported,
)
from support.tlc_reading import events, judge, recorded


def test_a_violation_has_actions_with_arguments() -> None:
    result = judge(recorded("newest_safety"), 12)

    assert (result.outcome, result.violated) == (Outcome.SAFETY, "OneMoves")
    assert [(state.action, state.arguments) for state in result.trace] == [
        (None, None),
        ("Go", '"north"'),
        ("Go", '"east"'),
    ]
    assert result.trace[1].location == Location("Lights", 24, 10, 28, 27)
    assert (result.generated, result.distinct, result.queue) == (1027, 1019, 14)
    assert (result.tlc_version, result.seed, result.fingerprint) == (
        "2026.05.18.134217",
        -42,
        12,
    )


def test_initial_states_that_coincide_are_counted_once() -> None:
    (initial,) = [e for e in events(recorded("newest_safety")) if isinstance(e, InitialStates)]

    assert initial.distinct == 1


def test_a_lasso_in_words_for_people_is_read_too() -> None:
    result = judge(recorded("newest_liveness"), 13, properties=["One", "Other"])

    assert (result.outcome, result.violated) == (Outcome.LIVENESS, "EveryoneGoes")
    assert result.loop == 0
    assert [state.arguments for state in result.trace] == [None, '1, <<"a > b">>']
    assert result.trace[1].location == Location("Counter", 13, 9, 17, 86)
    assert result.tlc_version == "2.19"


def test_a_simulation_says_its_traces() -> None:
    lines = recorded("newest_simulation")
    (progress,) = [event for event in events(lines) if isinstance(event, Progress)]

    assert progress == Progress(125017, None, None, None, traces=1250)
    assert judge(lines, 0).outcome is Outcome.SUCCESS
    assert events(lines)[-1] == Finished(2 * 3600 + 3 * 60)


def test_coverage_with_a_call_site_is_read() -> None:
    result = judge(recorded("newest_coverage"), 0)

    assert result.ok
    assert result.coverage[1] == ActionCoverage(
        "next", "Arrive", Location("Lights", 20, 1, 20, 9), 1026, 2084
    )


@pytest.mark.parametrize(
    ("text", "version", "revision"),
    [
        ("TLC2 Version 2.15 of Day Month 20?? (rev: d5b5a7f)", "2.15", "d5b5a7f"),
        ("TLC2 Version 2.19 of 08 August 2024 (rev: 5a47802)", "2.19", "5a47802"),
        ("TLC2 Version 2026.05.18.134217 (rev: cc6b616)", "2026.05.18.134217", "cc6b616"),
        ("TLC2 Version 2.20", "2.20", None),
    ],
)
def test_banners_of_all_forms_are_read(text: str, version: str, revision: str | None) -> None:
    assert events(framed(2262, 0, text)) == [Banner(version, revision, text)]


def framed(code: int, severity: int, *lines: str) -> list[str]:
    start = f"@!@!@STARTMSG {code}:{severity} @!@!@"
    return [start, *lines, f"@!@!@ENDMSG {code} @!@!@"]


def test_unknown_messages_are_passed_on() -> None:
    lines = [
        *framed(9999, 0, "one", "two"),
        *framed(9998, 3, "careful"),
        *framed(9997, 1, "wrong"),
        *framed(2200, 0, "Progress of another form"),
    ]

    assert events(lines) == [
        Message(9999, Severity.NONE, "one\ntwo"),
        WarningReported(9998, "careful"),
        ErrorReported(9997, "wrong", None),
        Message(2200, Severity.NONE, "Progress of another form"),
    ]
    assert judge(lines, 0).outcome is Outcome.UNKNOWN


def test_a_message_within_a_message_is_one_error() -> None:
    lines = [
        "@!@!@STARTMSG 1000:1 @!@!@",
        ": @!@!@STARTMSG 5001:0 @!@!@",
        "File not found.",
        "@!@!@ENDMSG 5001 @!@!@",
        "@!@!@ENDMSG 1000 @!@!@",
    ]

    assert events(lines) == [ErrorReported(1000, ": \nFile not found.", None, (5001,))]
    assert judge(lines, 255).outcome is Outcome.CONFIG_ERROR


def test_a_missing_end_is_made_up_by_the_end_around_it() -> None:
    lines = ["@!@!@STARTMSG 1000:1 @!@!@", *framed(2132, 0, "x")[:2], "@!@!@ENDMSG 1000 @!@!@"]

    assert events(lines) == [ErrorReported(1000, "x", None, (2132,))]


def test_marks_that_fit_nothing_are_user_output() -> None:
    banner = framed(2262, 0, "TLC2 Version 2.15")

    assert events([*banner, "@!@!@ENDMSG 7 @!@!@", "@!@!@ hello"])[1:] == [
        UserOutput("@!@!@ENDMSG 7 @!@!@"),
        UserOutput("@!@!@ hello"),
    ]


def test_a_state_that_cannot_be_listed_keeps_its_text() -> None:
    (state,) = events(framed(2217, 4, "1: <Initial predicate>", "s = Seq({1})"))

    assert isinstance(state, TraceState)
    assert state.text == "s = Seq({1})"
