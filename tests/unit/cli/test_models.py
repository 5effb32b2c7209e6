"""A result is as expected only if outcome, property and comparable counts are as expected."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from canvass.cluster.rules import HAZARDS
from canvass.models.model_run import Standing, compare, with_rules
from canvass.spec.files import find_file, spec_root
from canvass.spec.manifest import ModelEntry
from canvass.steps.oracle import overrides
from canvass.tlc.config import read_config
from canvass.tlc.results import CheckResult, Outcome, Violation
from support.tiny_spec import model


def entry(**changes: Any) -> ModelEntry:
    return msgspec.convert(model("TinyOk", **changes), ModelEntry)


def result(outcome: Outcome = Outcome.SUCCESS, violated: str | None = None) -> CheckResult:
    violations = (Violation(outcome, violated, "said"),) if outcome.is_violation else ()
    return CheckResult(
        outcome=outcome, message="what TLC said", violations=violations, distinct=9, depth=5
    )


COUNTED = {"distinctStates": 9, "depth": 5}


def test_a_model_without_any_state_was_not_checked() -> None:
    """TLC reports no error, and would do so for any claim."""
    nothing = CheckResult(outcome=Outcome.SUCCESS, message="No error", generated=0, distinct=0)

    compared = compare(entry(), nothing, workers=1)

    assert compared.standing is Standing.NOT_CHECKED
    assert "initial predicate" in compared.reason


@pytest.mark.parametrize(
    ("expected", "found", "workers", "standing", "reason"),
    [
        (COUNTED, result(), 1, Standing.AS_EXPECTED, ""),
        ({"distinctStates": 8}, result(), 2, Standing.NOT_AS_EXPECTED, "8 distinct states, found"),
        ({"depth": 4}, result(), 1, Standing.NOT_AS_EXPECTED, "expected 4 depth, found 5"),
        ({"depth": 4}, result(), 2, Standing.AS_EXPECTED, ""),
        (
            {},
            result(Outcome.SAFETY, "TypeOK"),
            1,
            Standing.NOT_AS_EXPECTED,
            "expected success, found safety (TypeOK)",
        ),
        (
            {"expected": "safety"},
            result(),
            1,
            Standing.NOT_AS_EXPECTED,
            "expected safety, found success",
        ),
        ({"expected": "safety"}, result(Outcome.SAFETY, "TypeOK"), 1, Standing.AS_EXPECTED, ""),
        (
            {"expected": "safety", "violates": "OneNominee"},
            result(Outcome.SAFETY, "TypeOK"),
            1,
            Standing.NOT_AS_EXPECTED,
            "expected OneNominee to be violated, found TypeOK",
        ),
        (
            {"expected": "safety", "violates": "OneNominee", "distinctStates": 4},
            result(Outcome.SAFETY, "OneNominee"),
            2,
            Standing.AS_EXPECTED,
            "",
        ),
        (
            {"expected": "safety", "violates": "OneNominee", "distinctStates": 4},
            result(Outcome.SAFETY, "OneNominee"),
            1,
            Standing.NOT_AS_EXPECTED,
            "4 distinct states",
        ),
        (
            {"expected": "deadlock"},
            result(Outcome.SAFETY, "A"),
            1,
            Standing.NOT_AS_EXPECTED,
            "deadlock",
        ),
        ({}, result(Outcome.ASSERTION), 1, Standing.NOT_AS_EXPECTED, "found assertion"),
    ],
)
def test_a_finished_run_is_compared(
    expected: dict[str, Any], found: CheckResult, workers: int, standing: Standing, reason: str
) -> None:
    compared = compare(entry(**expected), found, workers=workers)

    assert compared.standing is standing
    assert reason in compared.reason
    assert bool(compared.reason) == (standing is not Standing.AS_EXPECTED)


@pytest.mark.parametrize(
    "outcome", [one for one in Outcome if one is not Outcome.SUCCESS and not one.is_violation]
)
def test_an_unfinished_check_is_never_as_expected(outcome: Outcome) -> None:
    for expected in ("success", "safety"):
        compared = compare(entry(expected=expected), result(outcome), workers=1)

        assert (compared.standing, compared.reason) == (Standing.NOT_CHECKED, "what TLC said")


@pytest.mark.parametrize(
    ("rules", "left_out"),
    [("all", set()), ("HZ8", HAZARDS - {"HZ8"}), ("HZ1, all,-HZ1", {"HZ1"})],
)
def test_hardenings_are_put_in_force_by_their_names(rules: str, left_out: set[str]) -> None:
    hazards = HAZARDS - left_out
    config = read_config(find_file("MCHazard8.cfg"))
    changed = with_rules(config, rules, "MCHazard8.cfg", spec_root())
    listed = ", ".join(f'"{hazard}"' for hazard in sorted(hazards))

    ruled = {**config.constants, **overrides("1.50", hazards), "Hardening": f"= {{{listed}}}"}
    assert changed.constants == ruled


def test_a_correction_is_left_out_by_its_name() -> None:
    config = read_config(find_file("MCHazard1LossUpstreamFix.cfg"))
    changed = with_rules(config, "all,-CountedMembers", "one.cfg", spec_root())

    left_out = config.constants.items() - changed.constants.items()
    assert left_out == {("CountedMembers", "<- UpstreamFix_CountedMembers")}
    assert changed.constants.items() <= config.constants.items()
