"""Output of a newer version is read: recordings of TLC as of April 2026, and its forms."""

from __future__ import annotations

import pytest

from canvass.tlc.output import Message, Severity, TraceState, UserOutput
from canvass.tlc.results import Outcome
from support.record_tlc import NEWEST
from support.tlc_cases import CASES
from support.tlc_reading import EXIT_CODES, events, interpret, recorded


@pytest.mark.parametrize("name", NEWEST)
def test_a_newer_version_is_read_like_the_oldest(name: str) -> None:
    """The recordings of one case by both versions give the same verdict, trace and counts."""
    properties = CASES[name].config.properties
    newer = interpret(recorded(f"newest_{name}"), EXIT_CODES[name], properties=properties)
    older = interpret(recorded(name), EXIT_CODES[name], properties=properties)

    assert (newer.outcome, newer.violated) == (older.outcome, older.violated)
    assert [state.values for state in newer.trace] == [state.values for state in older.trace]
    assert (newer.distinct, newer.queue) == (older.distinct, older.queue)
    assert newer.tlc_version == "2026.04.29.164809"


def test_a_violation_has_actions_with_arguments() -> None:
    result = interpret(recorded("newest_safety"), 12)

    assert (result.outcome, result.violated) == (Outcome.SAFETY, "OneMoves")
    assert [(state.action, state.arguments) for state in result.trace] == [
        (None, None),
        ("Go", '"north"'),
        ("Go", '"east"'),
    ]
    assert result.trace[1].location == "line 24, col 10 to line 28, col 27 of module Lights"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("TLC2 Version 2.15 of Day Month 20?? (rev: d5b5a7f)", "2.15"),
        ("TLC2 Version 2026.05.18.134217 (rev: cc6b616)", "2026.05.18.134217"),
        ("TLC2 Version 2.20", "2.20"),
    ],
)
def test_banners_of_all_forms_are_read(text: str, version: str) -> None:
    assert interpret(framed(2262, 0, text), 0).tlc_version == version


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
        Message(9998, Severity.WARNING, "careful"),
        Message(9997, Severity.ERROR, "wrong"),
        Message(2200, Severity.NONE, "Progress of another form"),
    ]
    assert interpret(lines, 0).outcome is Outcome.UNKNOWN


def test_warnings_of_parser_and_tlc_are_in_the_result() -> None:
    place = "line 7, col 7 to line 7, col 9 of module W"
    said = [
        place,
        "",
        'The field name "Foo" is identical to the definition',
        "named Foo.",
        "",
        "",
        "",
    ]
    lines = [*framed(2220, 0), *said, *said, *framed(2219, 0), *framed(2149, 3, "careful")]
    warning = f'{place}: The field name "Foo" is identical to the definition named Foo.'

    assert interpret(lines, 0).warnings == (warning, warning, "careful")
    assert interpret([*lines, *framed(3002, 1, "Parsing failed.")], 150).warnings == ("careful",)


def test_a_message_within_a_message_is_one_error() -> None:
    lines = [
        "@!@!@STARTMSG 1000:1 @!@!@",
        ": @!@!@STARTMSG 5001:0 @!@!@",
        "File not found.",
        "@!@!@ENDMSG 5001 @!@!@",
        "@!@!@ENDMSG 1000 @!@!@",
    ]

    assert events(lines) == [Message(1000, Severity.ERROR, ": \nFile not found.", (5001,))]
    assert interpret(lines, 255).outcome is Outcome.CONFIG_ERROR


def test_a_message_without_an_end_ends_with_the_outer_message() -> None:
    lines = ["@!@!@STARTMSG 1000:1 @!@!@", *framed(2132, 0, "x")[:2], "@!@!@ENDMSG 1000 @!@!@"]

    assert events(lines) == [Message(1000, Severity.ERROR, "x", (2132,))]


def test_marks_that_fit_nothing_are_user_output() -> None:
    banner = framed(2262, 0, "TLC2 Version 2.15")

    assert events([*banner, "@!@!@ENDMSG 7 @!@!@", "@!@!@ hello"])[1:] == [
        UserOutput("@!@!@ENDMSG 7 @!@!@"),
        UserOutput("@!@!@ hello"),
    ]


def test_a_state_that_cannot_be_listed_keeps_its_text() -> None:
    (state,) = events(framed(2217, 4, "1: <Initial predicate>", "s = tuple({1})"))

    assert isinstance(state, TraceState)
    assert state.text == "s = tuple({1})"
