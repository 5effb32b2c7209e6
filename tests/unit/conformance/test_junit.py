"""Verdicts as JUnit: a document that CI servers read, whatever the runs are called."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from canvass.conformance.findings import (
    CorpusVerdict,
    Divergence,
    DivergenceClass,
    RunVerdict,
    TimingRule,
    TimingWarning,
    Verdict,
)
from canvass.conformance.report import to_junit
from canvass.traces.aeron_log.releases import LogReleases, NotedReleases, RevisionChoice
from canvass.traces.schema import Fact, FactKind
from support.report_schemas import JUNIT_ATTRIBUTES

WRONG = Divergence(DivergenceClass.CAUSALITY, "MessageCausality", 0, 1, "a <text> & \x00 more")
LATE = TimingWarning(TimingRule.EARLY_TIMEOUT, 0, 4, "Nominate", "too early", "a.timeout", 5)
RELEASES = LogReleases.of(
    NotedReleases({0: ("1.52.2",), 1: ()}, RevisionChoice.RELEASE), revision="1.50"
)
CORPUS = CorpusVerdict(
    (
        RunVerdict("good", "good", Verdict.CONFORMS, events=3, revision="1.50", releases=RELEASES),
        RunVerdict("bad", "bad", Verdict.DIVERGES, events=3, divergences=(WRONG, WRONG)),
        RunVerdict("no-trace", "no", Verdict.MALFORMED, reason="no/\x1b[1m: no trace\ufffe"),
        RunVerdict("gap", "gap", Verdict.INCOMPLETE, facts=(Fact(FactKind.GAP, "gap", 1, 4, 5),)),
        RunVerdict("unknown", "unknown", Verdict.INCOMPLETE, unchecked=2),
    )
)


def test_junit_each_run_is_a_case_with_one_outcome_at_most() -> None:
    suite = ElementTree.fromstring(to_junit(CORPUS))
    outcomes = [[one.tag for one in case if one.tag != "properties"] for case in suite]

    assert suite.tag == "testsuite"
    assert [case.get("name") for case in suite] == [run.run_id for run in CORPUS.runs]
    assert outcomes == [[], ["failure"], ["error"], ["error"], ["error"]]


def test_junit_a_run_that_is_not_whole_says_what_is_missing() -> None:
    suite = ElementTree.fromstring(to_junit(CORPUS))

    assert [(error.get("type"), error.get("message")) for error in suite.iter("error")][1:] == [
        ("INCOMPLETE", "GAP of member 1 at line 5"),
        ("INCOMPLETE", "2 steps from an unknown state"),
    ]


def test_junit_a_case_names_the_safety_properties_that_were_not_asked() -> None:
    run = RunVerdict(
        "run",
        "run",
        Verdict.CONFORMS,
        timing=(LATE,),
        not_checked=("AppliedWithinCommitted",),
        checked_in_part=("LogMatching",),
    )
    suite = ElementTree.fromstring(to_junit(CorpusVerdict((run,))))
    (output,) = (one.text for one in suite.iter("system-out"))

    assert output is not None
    assert output.splitlines()[0] == (
        "not checked: AppliedWithinCommitted;"
        " checked only on the known parts of the logs: LogMatching"
    )


@pytest.mark.parametrize("timing", [(), (LATE,)])
@pytest.mark.parametrize("verdict", Verdict)
def test_junit_a_case_is_red_where_the_exit_code_is_not_0(
    verdict: Verdict, timing: tuple[TimingWarning, ...]
) -> None:
    wrong = (WRONG,) if verdict is Verdict.DIVERGES else ()
    run = RunVerdict("run", "run", verdict, divergences=wrong, unchecked=1, timing=timing)
    found = CorpusVerdict((run,))
    suite = ElementTree.fromstring(to_junit(found))
    red = len(suite.findall("testcase/failure")) + len(suite.findall("testcase/error"))

    assert red == (1 if found.exit_code else 0)
    assert red == int(suite.get("failures", "")) + int(suite.get("errors", ""))


def test_junit_the_suite_counts_what_is_in_it() -> None:
    suite = ElementTree.fromstring(to_junit(CORPUS))
    tags = [outcome.tag for case in suite for outcome in case]
    counted = {"failures": "failure", "errors": "error", "skipped": "skipped"}

    assert suite.get("tests") == str(len(suite))
    assert {name: suite.get(name) for name in counted} == {
        name: str(tags.count(tag)) for name, tag in counted.items()
    }
    assert float(suite.get("time", "")) >= 0


def test_junit_elements_have_the_attributes_that_servers_read_and_no_others() -> None:
    for element in ElementTree.fromstring(to_junit(CORPUS)).iter():
        assert set(element.attrib) == JUNIT_ATTRIBUTES[element.tag]
        assert element.tag in JUNIT_ATTRIBUTES


def test_junit_what_xml_cannot_hold_is_written_as_an_escape() -> None:
    text = to_junit(CORPUS)

    assert "\\x00 more" in text
    assert "\\x1b[1m" in text


def test_junit_a_case_has_the_revision_and_the_releases_as_properties() -> None:
    good, bad, *_ = ElementTree.fromstring(to_junit(CORPUS))
    given = {one.get("name"): one.get("value") for one in good.iterfind("properties/property")}

    assert given == {
        "revision": "1.50",
        "releases": "Aeron 1.52.2 (member 0), release unknown (member 1); revision 1.50 of the"
        " spec, chosen by the release; note: the release of member 1 is taken to be that of the"
        " other members",
    }
    assert bad.find("properties") is None
