"""Verdicts as a JUnit file: one test case for each run, for the report pages of CI servers."""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree

from canvass.conformance.report import run_names
from canvass.conformance.verdict import CorpusVerdict, RunVerdict, Verdict
from canvass.lanes.model import visible

_SUITE: Final = "canvass verify"


def to_junit(found: CorpusVerdict) -> str:
    """Give the XML document."""
    verdicts = [run.verdict for run in found.runs]
    suite = ElementTree.Element(
        "testsuite",
        name=_SUITE,
        tests=str(len(verdicts)),
        failures=str(verdicts.count(Verdict.DIVERGES)),
        errors=str(verdicts.count(Verdict.MALFORMED)),
        skipped=str(verdicts.count(Verdict.INCOMPLETE)),
        time=f"{found.counts.seconds:.3f}",
    )
    # CI servers take test cases of one name for one test.
    for run, name in zip(found.runs, run_names(found.runs), strict=True):
        case = ElementTree.SubElement(suite, "testcase", classname=_SUITE, name=name)
        _result(case, run)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def _result(case: ElementTree.Element, run: RunVerdict) -> None:
    if run.verdict is Verdict.DIVERGES:
        first = run.divergences[0]
        failure = ElementTree.SubElement(
            case, "failure", type=first.kind.value, message=visible(f"{first.name}: {first.text}")
        )
        failure.text = "\n".join(
            f"member {each.member}, step {each.step}: {each.kind.value}: {each.name}:"
            f" {visible(each.text)}"
            for each in run.divergences
        )
    elif run.verdict is Verdict.MALFORMED:
        ElementTree.SubElement(case, "error", type=run.verdict.value, message=visible(run.reason))
    elif run.verdict is Verdict.INCOMPLETE:
        facts = ", ".join(f"{fact.kind.value} of member {fact.member_id}" for fact in run.facts)
        message = facts or f"{run.unchecked} steps from an unknown state"
        ElementTree.SubElement(case, "skipped", message=message)
