"""Verdicts as a JUnit file: one test case for each run, for the report pages of CI servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from xml.etree import ElementTree

from canvass.conformance.operators import find_operator
from canvass.conformance.report import run_names, timing_lines
from canvass.conformance.report_case import log_lines_of
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
        found = [
            f"member {each.member}, step {each.step}: {each.kind.value}: {each.name}:"
            f" {visible(each.text)}"
            for each in run.divergences
        ]
        failure.text = "\n".join([*found, *_excerpt(run)])
    elif run.verdict is Verdict.MALFORMED:
        ElementTree.SubElement(case, "error", type=run.verdict.value, message=visible(run.reason))
    elif run.verdict is Verdict.INCOMPLETE:
        facts = ", ".join(f"{fact.kind.value} of member {fact.member_id}" for fact in run.facts)
        message = facts or f"{run.unchecked} steps from an unknown state"
        ElementTree.SubElement(case, "skipped", message=message)


def _excerpt(run: RunVerdict) -> Iterator[str]:
    """Give the line of the log that shows the first divergence, and its operator in the spec."""
    first = run.divergences[0]
    lines = log_lines_of(run, first.member, first.step)
    if lines is not None:
        yield f"in Aeron's event log: {visible(str(lines[0]))}"
    operator = find_operator(first.name)
    if operator is not None:
        yield f"in the spec: {operator.module}.tla:{operator.line}"
        yield from (visible(line) for line in operator.lines)


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
