"""Verdicts as a JUnit file: one test case for each run, for the report pages of CI servers."""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree

from canvass.conformance.report import run_names, timing_lines
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
        failures=str(sum(_fails(run, found) for run in found.runs)),
        errors=str(verdicts.count(Verdict.MALFORMED)),
        skipped=str(sum(_is_skipped(run, found) for run in found.runs)),
        time=f"{found.counts.seconds:.3f}",
    )
    # CI servers take test cases of one name for one test.
    for run, name in zip(found.runs, run_names(found.runs), strict=True):
        case = ElementTree.SubElement(suite, "testcase", classname=_SUITE, name=name)
        if not _fails(run, found) or run.verdict is Verdict.DIVERGES:
            _result(case, run)
        _timing(case, run, fails=_fails(run, found))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def _is_skipped(run: RunVerdict, found: CorpusVerdict) -> bool:
    return run.verdict is Verdict.INCOMPLETE and not _fails(run, found)


def _fails(run: RunVerdict, found: CorpusVerdict) -> bool:
    is_sound = run.verdict in (Verdict.CONFORMS, Verdict.INCOMPLETE)
    late = found.timing_fails and is_sound and bool(run.timing)
    return run.verdict is Verdict.DIVERGES or late


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


def _timing(case: ElementTree.Element, run: RunVerdict, *, fails: bool) -> None:
    """Add the timing warnings: as a failure if they are to fail, else as output."""
    if not run.timing:
        return
    text = "\n".join(visible(": ".join(timing_lines(warning))) for warning in run.timing)
    if fails and run.verdict is not Verdict.DIVERGES:
        rule = run.timing[0].rule.value
        ElementTree.SubElement(case, "failure", type=f"TIMING/{rule}", message=text)
    else:
        ElementTree.SubElement(case, "system-out").text = text
