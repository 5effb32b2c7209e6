"""Verdicts as SARIF: the rules of its schema, and places that are right."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import jsonschema
import pytest

from canvass.conformance.check import check_units
from canvass.conformance.machine_reports import MAX_RESULTS, to_sarif
from canvass.conformance.verdict import (
    CorpusVerdict,
    Divergence,
    DivergenceClass,
    RunVerdict,
    TimeoutSource,
    TimingRule,
    TimingWarning,
    Verdict,
)
from canvass.spec.files import spec_root
from canvass.traces.releases import LogReleases, NotedReleases, RevisionChoice
from support import corruptions
from support.core_lookup import core_lookup
from support.corruptions import Streams, corrupted
from support.report_schemas import SARIF

LEVELS = {"none", "note", "warning", "error"}


def gap_then_forged(streams: Streams) -> None:
    """A step is missing early in a stream whose commit position is wrong later."""
    corruptions.commit_too_far(streams)
    for member, place, line in list(corruptions.events(streams, "ConsumeLog"))[3:4]:
        earlier = next(k for k, one in enumerate(streams[member][:place]) if k and not one["sends"])
        assert line
        del streams[member][earlier]


@pytest.fixture(scope="module")
def found(good_run: Path, tmp_path_factory: pytest.TempPathFactory) -> CorpusVerdict:
    """One run of each verdict, and two of which the second diverges after a gap."""
    root = tmp_path_factory.mktemp("a b%")
    corrupted(good_run, root / "diverges", corruptions.commit_too_far)
    corrupted(good_run, root / "after-gap", gap_then_forged)
    corrupted(good_run, root / "gap", corruptions.event_dropped)
    shutil.copytree(good_run, root / "malformed")
    (root / "malformed" / "member-1.ndjson").write_text('{"step":0,"no":1}\n')
    return check_units([good_run, *sorted(root.iterdir())], core_lookup())


def test_the_log_is_one_of_the_standard(found: CorpusVerdict) -> None:
    document = json.loads(json.dumps(to_sarif(found)))
    checker = jsonschema.Draft202012Validator(SARIF, format_checker=jsonschema.FormatChecker())

    assert [error.message for error in checker.iter_errors(document)] == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda log: log.pop("version"),
        lambda log: log["runs"][0].pop("tool"),
        lambda log: log["runs"][0]["results"][0].pop("message"),
        lambda log: log["runs"][0]["results"][0].update(level="fatal"),
        lambda log: log["runs"][0]["results"][0].update(colour="red"),
        lambda log: log["runs"][0]["invocations"][0].pop("executionSuccessful"),
        lambda log: log["runs"][0]["tool"]["driver"]["rules"][0].pop("id"),
    ],
)
def test_a_log_that_is_none_of_the_standard_is_refused(
    found: CorpusVerdict, spoil: Callable[[dict[str, Any]], object]
) -> None:
    document = json.loads(json.dumps(to_sarif(found)))
    spoil(document)

    assert not jsonschema.Draft202012Validator(SARIF).is_valid(document)


@pytest.fixture(scope="module")
def log(found: CorpusVerdict) -> dict[str, Any]:
    document = json.loads(json.dumps(to_sarif(found)))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    assert isinstance(run, dict)
    return run


def path_of(result: dict[str, Any]) -> Path:
    location = result["locations"][0]["physicalLocation"]["artifactLocation"]
    parts = urlparse(location["uri"])
    return Path(unquote(parts.path))


def test_every_result_has_what_the_schema_requires(log: dict[str, Any]) -> None:
    driver = log["tool"]["driver"]
    rules = driver["rules"]

    assert driver["name"] == "canvass"
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert log["results"]
    for result in log["results"]:
        assert result["message"]["text"]
        assert result["level"] in LEVELS
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        for location in (*result["locations"], *result.get("relatedLocations", ())):
            physical = location["physicalLocation"]
            assert " " not in physical["artifactLocation"]["uri"]
            assert all(number >= 1 for number in physical.get("region", {}).values())
    assert log["columnKind"] == "unicodeCodePoints"
    assert log["invocations"] == [{"executionSuccessful": False, "exitCode": 1}]


def test_a_rule_is_named_by_class_and_what_is_broken(
    log: dict[str, Any], found: CorpusVerdict
) -> None:
    expected = {f"{each.kind.value}/{each.name}" for run in found.runs for each in run.divergences}
    expected |= {"MALFORMED/BAD_VALUE", "INCOMPLETE/GAP", "INCOMPLETE/UNKNOWN_STATE"}
    expected |= {"PARTIAL_CHECK/SAFETY_PROPERTIES"}

    assert {rule["id"] for rule in log["tool"]["driver"]["rules"]} == expected
    assert "SAFETY_PROPERTY/CommitBounded" in expected


def test_a_divergence_is_at_the_line_of_its_step_even_after_a_gap(log: dict[str, Any]) -> None:
    checked = set()
    for result in log["results"]:
        if result["ruleId"].split("/")[0] in DivergenceClass.__members__:
            path = path_of(result)
            line = result["locations"][0]["physicalLocation"]["region"]["startLine"]
            name = result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]
            event = json.loads(path.read_text().splitlines()[line - 1])
            assert name.endswith(f"/step {event['step']}")
            checked.add((path.parent.name, line == event["step"] + 1))

    assert {("diverges", True), ("after-gap", False)} <= checked


def test_the_spec_is_pointed_at(log: dict[str, Any]) -> None:
    (related, *_) = (
        one["relatedLocations"][0] for one in log["results"] if "relatedLocations" in one
    )
    where = related["physicalLocation"]
    lines = (spec_root() / where["artifactLocation"]["uri"]).read_text().splitlines()

    assert "==" in lines[where["region"]["startLine"] - 1]
    assert where["artifactLocation"]["uriBaseId"] in log["originalUriBaseIds"]


def test_what_is_no_trace_is_at_its_line_and_column(log: dict[str, Any]) -> None:
    (result,) = (one for one in log["results"] if one["ruleId"].startswith("MALFORMED"))

    assert path_of(result).name == "member-1.ndjson"
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"]) == (1, 11)


def test_a_run_names_the_safety_properties_that_were_not_asked() -> None:
    run = RunVerdict("run", "run", Verdict.CONFORMS, not_asked=("AppliedWithinCommitted",))
    (log,) = to_sarif(CorpusVerdict((run,)))["runs"]
    (result,) = log["results"]

    assert result["ruleId"] == "PARTIAL_CHECK/SAFETY_PROPERTIES"
    assert result["level"] == "note"
    assert result["message"]["text"] == "run: not checked: AppliedWithinCommitted"


def test_results_and_the_log_have_the_revision_and_the_releases() -> None:
    wrong = Divergence(DivergenceClass.CAUSALITY, "MessageCausality", 0, 1, "text")
    noted = NotedReleases({0: ("1.48.0",)}, RevisionChoice.RELEASE)
    runs = (
        RunVerdict("a", "a", Verdict.CONFORMS, revision="1.50"),
        RunVerdict(
            "b",
            "b",
            Verdict.DIVERGES,
            divergences=(wrong,),
            revision="1.49",
            releases=LogReleases.of(noted, "1.49"),
        ),
    )
    (log,) = to_sarif(CorpusVerdict(runs))["runs"]
    (result,) = log["results"]
    said = "Aeron 1.48.0 (member 0); revision 1.49 of the spec, chosen by the release"

    assert result["properties"] == {"revision": "1.49", "releases": said}
    assert log["properties"]["revisions"] == [
        "1 of 2 runs: revision 1.50 of the spec, which the run names",
        f"1 of 2 runs: {said}",
    ]


@pytest.mark.parametrize(("fails", "level"), [(False, "warning"), (True, "error")])
def test_a_timing_warning_is_an_error_where_it_fails_the_command(fails: bool, level: str) -> None:
    late = TimingWarning(
        TimingRule.EARLY_TIMEOUT, 0, 4, "Nominate", "early", "a.timeout", 5, TimeoutSource.GIVEN
    )
    run = RunVerdict("run", "run", Verdict.CONFORMS, timing=(late,))
    (log,) = to_sarif(CorpusVerdict((run,), timing_fails=fails))["runs"]

    assert [result["level"] for result in log["results"]] == [level]


def test_relative_paths_stay_relative_and_what_is_left_out_is_said() -> None:
    wrong = Divergence(DivergenceClass.CAUSALITY, "MessageCausality", 0, 1, "text")
    runs = [RunVerdict("r", "runs/a b", Verdict.DIVERGES, divergences=(wrong,))] * (MAX_RESULTS + 3)

    (log,) = to_sarif(CorpusVerdict(tuple(runs)))["runs"]

    assert len(log["results"]) == MAX_RESULTS
    assert log["properties"]["resultsLeftOut"] == 3
    location = log["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location["uri"] == "runs/a%20b"
