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
LOSS = {"expected": "safety", "violates": "OneNominee"}
YES, NO = Standing.AS_EXPECTED, Standing.NOT_AS_EXPECTED
OTHER = result(Outcome.SAFETY, "TypeOK")
SAME = result(Outcome.SAFETY, "OneNominee")


def test_a_model_without_any_state_was_not_checked() -> None:
    """TLC reports no error, and would do so for any claim."""
    nothing = CheckResult(outcome=Outcome.SUCCESS, message="No error", generated=0, distinct=0)

    compared = compare(entry(), nothing, workers=1)

    assert compared.standing is Standing.NOT_CHECKED
    assert "initial predicate" in compared.reason


@pytest.mark.parametrize(
    ("expected", "found", "workers", "standing", "reason"),
    [
        (COUNTED, result(), 1, YES, ""),
        ({"distinctStates": 8}, result(), 2, NO, "8 distinct states, found"),
        ({"depth": 4}, result(), 1, NO, "expected 4 depth, found 5"),
        ({"depth": 4}, result(), 2, YES, ""),
        ({}, OTHER, 1, NO, "expected success, found safety (TypeOK)"),
        ({"expected": "safety"}, result(), 1, NO, "expected safety, found success"),
        ({"expected": "safety"}, OTHER, 1, YES, ""),
        (LOSS, OTHER, 1, NO, "expected OneNominee to be violated, found TypeOK"),
        (LOSS | {"distinctStates": 4}, SAME, 2, YES, ""),
        (LOSS | {"distinctStates": 4}, SAME, 1, NO, "4 distinct states"),
        ({"expected": "deadlock"}, OTHER, 1, NO, "deadlock"),
        ({}, result(Outcome.ASSERTION), 1, NO, "found assertion"),
    ],
)
def test_a_finished_run_is_compared(
    expected: dict[str, Any], found: CheckResult, workers: int, standing: Standing, reason: str
) -> None:
    compared = compare(entry(**expected), found, workers=workers)

    assert compared.standing is standing
    assert reason in compared.reason
    assert bool(compared.reason) == (standing is NO)


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
