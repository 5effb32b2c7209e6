"""Verdicts as JUnit for CI servers: a case for each run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from xml.etree import ElementTree

from canvass.conformance.operators import find_operator
from canvass.conformance.report import (
    fact_text,
    places_of,
    run_names,
    timing_lines,
)
from canvass.conformance.verdict import CorpusVerdict, RunVerdict, Verdict, limits_text
from canvass.lanes.model import visible

_SUITE: Final = "canvass verify"


def to_junit(found: CorpusVerdict) -> str:
    """Give the XML document; a case fails or ends in an error where the exit code is not 0."""
    verdicts = [run.verdict for run in found.runs]
    suite = ElementTree.Element(
        "testsuite",
        name=_SUITE,
        tests=str(len(verdicts)),
        failures=str(verdicts.count(Verdict.DIVERGES)),
        errors=str(verdicts.count(Verdict.MALFORMED) + verdicts.count(Verdict.INCOMPLETE)),
        skipped="0",
        time=f"{found.counts.seconds:.3f}",
    )
    # CI servers take test cases of one name for one test.
    for run, name in zip(found.runs, run_names(found.runs), strict=True):
        case = ElementTree.SubElement(suite, "testcase", classname=_SUITE, name=name)
        if given := _properties(run):
            properties = ElementTree.SubElement(case, "properties")
            for key, value in given.items():
                ElementTree.SubElement(properties, "property", name=key, value=value)
        _case_result(case, run)
        _case_remarks(case, run)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def _properties(run: RunVerdict) -> dict[str, str]:
    """The revision of a run and, if it was imported, the releases that wrote its logs."""
    releases = "" if run.releases is None else "; ".join(run.releases.lines())
    given = {"revision": run.revision, "releases": releases}
    return {name: value for name, value in given.items() if value}


def _case_result(case: ElementTree.Element, run: RunVerdict) -> None:
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
        facts = ", ".join(map(fact_text, run.facts))
        message = run.reason or facts or f"{run.unchecked} steps from an unknown state"
        ElementTree.SubElement(case, "error", type=run.verdict.value, message=message)


def _excerpt(run: RunVerdict) -> Iterator[str]:
    """Give the line of the first divergence, that of the log, and its operator in the spec."""
    first = run.divergences[0]
    for what, place in places_of(run, first).items():
        yield f"{what}: {visible(str(place))}"
    operator = find_operator(first.name)
    if operator is not None:
        yield f"in the spec: {operator.module}.tla:{operator.line}"
        yield from (visible(line) for line in operator.lines)


def _case_remarks(case: ElementTree.Element, run: RunVerdict) -> None:
    """Add as output what was not checked, and the timing warnings."""
    remarks = [limits_text(run), *(visible(": ".join(timing_lines(one))) for one in run.timing)]
    if said := "\n".join(filter(None, remarks)):
        ElementTree.SubElement(case, "system-out").text = said
