"""Scenarios, recorded as runs, conform; those of hazards break the promises that they say."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from canvass.conformance.findings import DivergenceClass, RunVerdict, Verdict
from canvass.conformance.verify import check_units
from canvass.selftest.runs import CoreThenOracle
from canvass.steps.answers import StepLookup
from support.scenario_runs import RecordedScenario, record_scenario, run_id_of, scenario_files


@dataclass(frozen=True)
class Checked:
    """All scenarios with the verdicts on their runs."""

    runs: list[tuple[RecordedScenario, RunVerdict]]
    answers: CoreThenOracle


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Checked:
    """Every scenario, recorded and checked in one go."""
    folder = tmp_path_factory.mktemp("scenarios")
    recorded = [record_scenario(path, folder / run_id_of(path)) for path in scenario_files()]
    answers = CoreThenOracle()
    found = check_units([each.folder for each in recorded], StepLookup(oracle=answers.ask))
    return Checked(list(zip(recorded, found.runs, strict=True)), answers)


def test_recorded_scenarios_take_no_step_and_no_message_that_the_spec_does_not_allow(
    checked: Checked,
) -> None:
    wrong = [
        (verdict.run_id, divergence)
        for _, verdict in checked.runs
        for divergence in verdict.divergences
        if divergence.kind is not DivergenceClass.SAFETY_PROPERTY
    ]
    unread = [verdict.reason for _, verdict in checked.runs if verdict.reason]

    assert wrong == []
    assert unread == []
    assert [each.source for each, _ in checked.runs if each.ended] == []
    assert sum(verdict.events for _, verdict in checked.runs) > 12_000


def test_recorded_scenarios_violate_the_properties_that_they_name_and_no_other(
    checked: Checked,
) -> None:
    """Properties of the whole cluster are not checked if part of a scenario was made by hand."""
    found = {
        verdict.run_id: frozenset(divergence.name for divergence in verdict.divergences)
        for _, verdict in checked.runs
        if verdict.divergences
    }
    named = {verdict.run_id: each.broken for each, verdict in checked.runs if each.broken}

    assert found == named
    assert len(found) >= 6


def test_recorded_scenarios_are_incomplete_if_something_in_them_was_made_by_hand(
    checked: Checked,
) -> None:
    """A message of nobody, a member that was never started: there steps are missing."""
    for each, verdict in checked.runs:
        missing = each.by_hand or each.silent
        if verdict.verdict is not Verdict.DIVERGES:
            expected = Verdict.INCOMPLETE if missing else Verdict.CONFORMS
            assert (expected, verdict.run_id) == (verdict.verdict, verdict.run_id)
    assert sum(each.whole and not each.broken for each, _ in checked.runs) >= 25


@pytest.mark.tlc
@pytest.mark.night
def test_recorded_scenarios_hold_only_steps_that_tlc_allows(checked: Checked) -> None:
    assert checked.answers.count > 2_000
    assert checked.answers.confirm() == []
