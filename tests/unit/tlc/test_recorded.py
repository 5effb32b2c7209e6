"""Genuine output of TLC 2.15 is read, one recording of each kind."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from canvass.tlc.output import Code, InitialStates, Message, Progress, UserOutput
from canvass.tlc.results import CheckResult, Outcome
from canvass.tlc.values import join_values, parse_state
from support.tlc_cases import CASES
from support.tlc_reading import EXIT_CODES, events, interpret, recorded

# Outcome, violated name, length of the trace, generated, distinct, left on the queue, depth.
READINGS: dict[str, tuple[Outcome, str | None, int, Any, Any, Any, Any]] = {
    "success": (Outcome.SUCCESS, None, 0, 7, 6, 0, 6),
    "coverage": (Outcome.SUCCESS, None, 0, 187, 63, 0, 6),
    "safety": (Outcome.SAFETY, "OneMoves", 3, 27, 19, 14, 3),
    "safety_initial": (Outcome.SAFETY, "NotZero", 1, None, None, None, None),
    "safety_symmetric": (Outcome.SAFETY, "NotAllLoaded", 3, 6, 4, 1, 3),
    "action_property": (Outcome.SAFETY, "StepRises", 7, 7, 6, 0, 6),
    "liveness": (Outcome.LIVENESS, "EveryoneGoes", 5, 187, 63, 0, 6),
    "stuttering": (Outcome.LIVENESS, "EventuallyLoaded", 3, 25, 21, 0, 4),
    "deadlock": (Outcome.DEADLOCK, None, 4, 4, 4, 0, 4),
    "assertion": (Outcome.ASSERTION, None, 0, 3, 3, 0, 3),
    "assumption": (
        Outcome.ASSUMPTION,
        "line 9, col 24 to line 9, col 55 of module Counter",
        0,
        None,
        None,
        None,
        None,
    ),
    "evaluation": (Outcome.EVALUATION_ERROR, None, 3, 3, 3, 0, 3),
    "evaluation_initial": (Outcome.EVALUATION_ERROR, None, 1, 1, 1, 1, 1),
    "parse": (Outcome.PARSE_ERROR, None, 0, None, None, None, None),
    "semantic": (Outcome.PARSE_ERROR, None, 0, None, None, None, None),
    "config_unknown_name": (Outcome.CONFIG_ERROR, None, 0, None, None, None, None),
    "config_missing_constant": (Outcome.CONFIG_ERROR, None, 0, None, None, None, None),
    "print": (Outcome.SUCCESS, None, 0, 5, 4, 0, 4),
    "print_wide": (Outcome.SUCCESS, None, 0, 4, 3, 0, 3),
    "simulation": (Outcome.SUCCESS, None, 0, 257, None, None, None),
    "simulation_safety": (Outcome.SAFETY, "NotThree", 4, 129, None, None, None),
    "keep_going": (Outcome.SAFETY, "NotThree", 4, 7, 6, 0, 6),
    "wrong_argument": (Outcome.SYSTEM_ERROR, None, 0, None, None, None, None),
    "timeout": (Outcome.TIMEOUT, None, 0, 296266, 296235, 0, 296270),
    "java_does_not_start": (Outcome.SYSTEM_ERROR, None, 0, None, None, None, None),
    "shapes": (Outcome.SUCCESS, None, 0, 2, 1, 0, 1),
}


def read(name: str, lines: list[str] | None = None) -> CheckResult:
    return interpret(
        recorded(name) if lines is None else lines,
        EXIT_CODES[name],
        properties=CASES[name].config.properties,
        stopped=Outcome.TIMEOUT if name == "timeout" else None,
    )


def message(code: int, text: str) -> list[str]:
    """The lines of an error."""
    return [f"@!@!@STARTMSG {code}:1 @!@!@", text, f"@!@!@ENDMSG {code} @!@!@"]


def test_every_recording_has_a_reading() -> None:
    assert set(READINGS) == set(CASES) == set(EXIT_CODES)


@pytest.mark.parametrize("name", sorted(READINGS))
def test_a_recording_is_read(name: str) -> None:
    result = read(name)

    numbers = (result.generated, result.distinct, result.queue, result.depth)
    assert READINGS[name] == (result.outcome, result.violated, len(result.trace), *numbers)
    assert result.ok == (result.outcome is Outcome.SUCCESS)
    assert result.message
    assert "\n" not in result.message
    assert result.tlc_version == (None if name == "java_does_not_start" else "2.15")


@pytest.mark.parametrize("name", sorted(READINGS))
def test_output_that_ends_early_is_never_a_success(name: str) -> None:
    lines = recorded(name)

    for length in range(len(lines)):
        assert interpret(lines[:length], 0).outcome is not Outcome.SUCCESS
        assert interpret(lines[:length], EXIT_CODES[name]).outcome is not Outcome.SUCCESS


def test_only_exit_code_zero_is_a_success() -> None:
    lines = recorded("success")

    assert [code for code in range(-64, 256) if interpret(lines, code).ok] == [0]
    assert not interpret(lines, None).ok


@pytest.mark.parametrize("name", sorted(set(READINGS) - {"timeout"}))
def test_a_failure_with_exit_code_zero_is_still_a_failure(name: str) -> None:
    assert interpret(recorded(name), 0).ok == (READINGS[name][0] is Outcome.SUCCESS)


def test_silence_and_signals_are_system_errors() -> None:
    assert interpret([], 0).outcome is Outcome.SYSTEM_ERROR
    assert interpret([], 0, stderr=["", "no such thing"]).message == (
        "TLC said nothing (exit code 0): no such thing"
    )
    killed = interpret(recorded("success"), -signal.SIGKILL)
    assert (killed.outcome, killed.message) == (
        Outcome.SYSTEM_ERROR,
        "Java was ended by SIGKILL.",
    )
    assert interpret(recorded("success"), 99).outcome is Outcome.UNKNOWN


def test_messages_are_one_line_with_the_reason() -> None:
    assert {name: read(name).message for name in READINGS if not read(name).ok} == {
        "safety": "Invariant OneMoves is violated.",
        "safety_initial": "Invariant NotZero is violated by the initial state.",
        "safety_symmetric": "Invariant NotAllLoaded is violated.",
        "action_property": "Action property StepRises is violated.",
        "liveness": "Temporal property EveryoneGoes is violated.",
        "stuttering": "Temporal property EventuallyLoaded is violated.",
        "deadlock": "Deadlock reached.",
        "assertion": (
            "The first argument of Assert evaluated to FALSE; the second argument was: "
            '<<"too far", 2>>'
        ),
        "assumption": ("Assumption line 9, col 24 to line 9, col 55 of module Counter is false."),
        "evaluation": "Attempted to apply tuple <<1, 2>> to integer 3 which is out of domain.",
        "evaluation_initial": (
            'Attempted to select field "field" from a non-record value 0 '
            "line 31, col 15 to line 31, col 21 of module Counter"
        ),
        "parse": f'Broken.tla:6: Encountered "{"=" * 77}" at line 6, column 1 and token "+"',
        "semantic": "Unknown.tla:5: Unknown operator: `missing'.",
        "config_unknown_name": (
            "The invariant NoSuch specified in the configuration file is not defined in the "
            "specification."
        ),
        "config_missing_constant": (
            "The constant parameter Mode is not assigned a value by the configuration file."
        ),
        "simulation_safety": "Invariant NotThree is violated.",
        "keep_going": "Invariant NotThree is violated.",
        "wrong_argument": (
            "Error: unrecognized option: -bogus Usage: java tlc2.TLC [-option] inputfile"
        ),
        "timeout": "Stopped after 1.0 s by the time limit.",
        "java_does_not_start": (
            "TLC said nothing (exit code 1): Error occurred during initialization of VM"
        ),
    }


def test_a_trace_has_typed_values_actions_and_places() -> None:
    first, second, third = read("safety").trace

    assert (first.number, first.action, first.location) == (1, None, None)
    assert (second.number, second.action) == (2, "Go")
    assert second.location == "line 24, col 10 to line 28, col 27 of module Lights"
    assert third.values["lamp"] == {
        "north": {"colour": "green", "since": 1},
        "east": {"colour": "green", "since": 1},
    }
    assert list(first.values) == ["last", "lamp", "queue"]
    assert first.values["last"] == ("none", -1, parse_state("x = {}")["x"])


def test_a_lasso_names_the_state_to_which_it_returns() -> None:
    result = read("liveness")

    assert result.violations[0].loop == 3
    assert [state.number for state in result.trace] == [1, 2, 3, 4, 5]
    assert not result.violations[0].stuttering
    assert result.violations[0].to_itf("Lights")["loop"] == 3


def test_stuttering_stays_in_the_last_state() -> None:
    result = read("stuttering")

    assert result.violations[0].loop == 2
    assert result.violations[0].stuttering


def test_the_violated_one_of_several_temporal_properties_is_not_guessed() -> None:
    result = interpret(recorded("liveness"), 13, properties=["One", "Other"])

    assert (result.outcome, result.violated) == (Outcome.LIVENESS, None)
    assert result.message == (
        "Temporal properties were violated. TLC does not say which of One, Other."
    )


def test_a_property_that_is_named_by_a_place_is_the_only_one() -> None:
    """TLC splits a conjunction of an initial condition and steps; that part has no name."""
    place = "line 7, col 3 to line 7, col 9 of module Log"
    error = message(2112, f"Action property {place} is violated.")

    assert interpret(error, 12, properties=["Refines"]).violated == "Refines"
    assert interpret(error, 12, properties=["One", "Other"]).violated == place


def test_an_exhausted_heap_names_the_option() -> None:
    result = interpret(message(1001, "java.lang.OutOfMemoryError: Java heap space"), 153)

    assert result.outcome is Outcome.SYSTEM_ERROR
    assert result.message == "Java ran out of memory: raise the heap (--heap, heap_mib)."


def test_the_stream_of_a_success_is_complete_and_in_order() -> None:
    read = events(recorded("coverage"))
    kinds = [one.code if isinstance(one, Message) else type(one) for one in read]
    order: list[Any] = [Code.VERSION, 2187, Code.PARSER_START, Code.PARSER_END, InitialStates]
    order += [Progress, Code.DEPTH, Code.FINISHED]

    places = [kinds.index(kind) for kind in order]
    assert places == sorted(places)


def test_numbers_of_the_start_and_the_end_are_read() -> None:
    result = read("success")
    progress = next(one for one in events(recorded("success")) if isinstance(one, Progress))

    assert (result.seed, result.depth) == (8162419266363081913, 6)
    assert (progress.generated, progress.distinct, progress.queue, progress.depth) == (7, 6, 0, 6)


def test_user_output_is_streamed_line_by_line() -> None:
    lines = [event.line for event in events(recorded("print")) if isinstance(event, UserOutput)]

    assert lines == [f'<<"step", {n}, [to |-> {n + 1}, why |-> {{"a", "b"}}]>>' for n in range(3)]


def test_wide_user_output_is_joined_to_values() -> None:
    lines = (
        event.line for event in events(recorded("print_wide")) if isinstance(event, UserOutput)
    )

    assert [value["to"] for value in join_values(lines, print)] == [0, 1]


def test_an_explanation_belongs_to_the_previous_error() -> None:
    (violation,) = read("evaluation").violations

    assert "TLC was unable to fingerprint" in violation.message
    assert len(violation.states) == 3


def test_the_output_of_the_parser_is_kept() -> None:
    assert "Fatal errors while parsing TLA+ spec in file Broken" in read("parse").output
    assert not any(line.startswith("Parsing file") for line in read("parse").output)
