"""Verdicts as JUnit and SARIF for CI servers: a case for each run, a result for each divergence."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from xml.etree import ElementTree

from canvass.conformance.operators import find_operator
from canvass.conformance.report import (
    CLASS_TEXTS,
    Place,
    fact_text,
    limits_text,
    log_lines_of,
    place_of,
    place_of_step,
    revision_lines,
    run_names,
    stream_place,
    timing_lines,
)
from canvass.conformance.verdict import (
    CorpusVerdict,
    Divergence,
    RunVerdict,
    TimingWarning,
    Verdict,
)
from canvass.lanes.model import visible
from canvass.version import VERSION

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
MAX_RESULTS: Final = 25_000
"""Results that code-scanning services accept in one log. ``resultsLeftOut`` counts the rest."""

_SPEC: Final = "CANVASS_SPEC"
"""Stands for the folder of the TLA+ modules, wherever canvass is installed."""
_LOGS: Final = "AERON_LOGS"
"""Stands for the folder of the event logs, as a run has only the names of the files."""
_PLACE: Final = re.compile(
    r"(?P<file>.+?)(?::(?P<line>\d+):(?P<column>\d+))?: (?P<code>[A-Z_0-9]+): "
)


class _Log:
    """Results and the rules they break, each rule once."""

    def __init__(self) -> None:
        self.rules: dict[str, dict[str, Any]] = {}
        self.results: list[dict[str, Any]] = []
        self.left_out = 0

    def add(self, rule: dict[str, Any], result: dict[str, Any]) -> None:
        if len(self.results) >= MAX_RESULTS:
            self.left_out += 1
            return
        self.rules.setdefault(rule["id"], rule)
        index = list(self.rules).index(rule["id"])
        self.results.append({"ruleId": rule["id"], "ruleIndex": index, **result})


def to_sarif(found: CorpusVerdict) -> dict[str, Any]:
    """Give the log as a JSON document."""
    log = _Log()
    timing_level = "error" if found.timing_fails else "warning"
    for run in found.runs:
        for rule, result in _results(run, timing_level):
            log.add(rule, {**result, "properties": _properties(run)})
    driver = {"name": "canvass", "version": VERSION, "rules": list(log.rules.values())}
    invocation = {
        "executionSuccessful": _all_checked(found),
        "exitCode": found.exit_code,
    }
    run_log: dict[str, Any] = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "originalUriBaseIds": {
            _SPEC: {"description": {"text": "The TLA+ modules of canvass."}},
            _LOGS: {"description": {"text": "The event logs that the run was imported from."}},
        },
        "columnKind": "unicodeCodePoints",
        "results": log.results,
        "properties": {
            "runs": len(found.runs),
            "resultsLeftOut": log.left_out,
            "revisions": revision_lines(found.runs, every=True),
        },
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run_log]}


def _properties(run: RunVerdict) -> dict[str, str]:
    """The revision of a run and, if it was imported, the releases that wrote its logs."""
    releases = "" if run.releases is None else "; ".join(run.releases.lines())
    given = {"revision": run.revision, "releases": releases}
    return {name: value for name, value in given.items() if value}


def _all_checked(found: CorpusVerdict) -> bool:
    """Whether there are runs, and each of them is a trace."""
    return bool(found.runs) and all(run.verdict is not Verdict.MALFORMED for run in found.runs)


def _results(run: RunVerdict, timing_level: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    if run.verdict is Verdict.DIVERGES:
        for divergence in run.divergences:
            yield _diverges(run, divergence)
    elif run.verdict is Verdict.MALFORMED:
        yield _malformed(run)
    elif run.verdict is Verdict.INCOMPLETE:
        yield from _incomplete(run)
    if limits := limits_text(run):
        rule = _rule("PARTIAL_CHECK/SAFETY_PROPERTIES", "Not all properties were checked", "note")
        yield rule, _result(f"{run.run_id}: {limits}", "note", Place(run.path), run.run_id)
    for warning in run.timing:
        yield _timing(run, warning, timing_level)


def _timing(
    run: RunVerdict, warning: TimingWarning, level: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    name = warning.rule.value
    rule = _rule(f"TIMING/{name}", "The run's times contradict an input of a step", level)
    said = ": ".join(timing_lines(warning))
    place = place_of_step(run, warning.member, warning.step)
    step = f"{run.run_id}/member {warning.member}/step {warning.step}"
    return rule, _result(f"{run.run_id}, {said}", level, place, step)


def _diverges(run: RunVerdict, divergence: Divergence) -> tuple[dict[str, Any], dict[str, Any]]:
    kind, name = divergence.kind, divergence.name
    operator = find_operator(name)
    rule = _rule(f"{kind.value}/{name}", f"{name}: {CLASS_TEXTS[kind]}", "error")
    step = f"{run.run_id}/member {divergence.member}/step {divergence.step}"
    result = _result(
        f"{run.run_id}, member {divergence.member}, step {divergence.step}: {name}:"
        f" {divergence.text}",
        "error",
        place_of(run, divergence),
        step,
    )
    related: list[dict[str, Any]] = []
    if operator is not None:
        rule["help"] = {"text": "\n".join(operator.lines)}
        where = {"uri": f"{operator.module}.tla", "uriBaseId": _SPEC}
        end = operator.line + len(operator.lines) - 1
        related.append(_related(1, f"{name} in the spec", where, operator.line, end))
    lines = log_lines_of(run, divergence.member, divergence.step)
    if lines is not None:
        where = {"uri": _uri(lines.first.file), "uriBaseId": _LOGS}
        related.append(_related(2, lines.what, where, lines.first.line, lines.last))
    if related:
        result["relatedLocations"] = related
    return rule, result


def _related(
    number: int, text: str, where: dict[str, str], first: int, last: int
) -> dict[str, Any]:
    return {
        "id": number,
        "message": {"text": visible(text)},
        "physicalLocation": {
            "artifactLocation": where,
            "region": {"startLine": first, "endLine": last},
        },
    }


def _malformed(run: RunVerdict) -> tuple[dict[str, Any], dict[str, Any]]:
    reported = _PLACE.match(run.reason)
    code = reported["code"] if reported else "NOTHING_CHECKED"
    place = Place(run.path)
    column = 0
    if reported and reported["line"]:
        place, column = Place(reported["file"], int(reported["line"])), int(reported["column"])
    rule = _rule(f"MALFORMED/{code}", "The input is not a trace", "error")
    result = _result(run.reason, "error", place, run.run_id)
    if column:
        region = result["locations"][0]["physicalLocation"]["region"]
        region["startColumn"] = column
    return rule, result


def _incomplete(run: RunVerdict) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    if run.reason:
        rule = _rule("INCOMPLETE/IMPORT", "The import lacks lines, or an explanation", "warning")
        yield rule, _result(f"{run.run_id}: {run.reason}", "warning", Place(run.path), run.run_id)
    for fact in run.facts:
        rule = _rule(f"INCOMPLETE/{fact.kind.value}", "Steps are missing", "warning")
        place = stream_place(run, fact.member_id, fact.line)
        text = f"{run.run_id}, member {fact.member_id}: {fact.kind.value} {fact.detail}".strip()
        yield rule, _result(text, "warning", place, f"{run.run_id}/member {fact.member_id}")
    if run.unchecked:
        rule = _rule("INCOMPLETE/UNKNOWN_STATE", "Steps from an unknown state", "warning")
        text = f"{run.run_id}: {run.unchecked} steps from an unknown state"
        yield rule, _result(text, "warning", Place(run.path), run.run_id)


def _rule(identity: str, text: str, level: str) -> dict[str, Any]:
    return {
        "id": identity,
        "shortDescription": {"text": text},
        "defaultConfiguration": {"level": level},
    }


def _result(message: str, level: str, place: Place, logical: str) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.file)}}
    if place.line:
        physical["region"] = {"startLine": place.line}
    return {
        "level": level,
        "message": {"text": visible(message)},
        "locations": [
            {
                "physicalLocation": physical,
                "logicalLocations": [{"fullyQualifiedName": visible(logical)}],
            }
        ],
    }


def _uri(file: str) -> str:
    """Give a path as a URI reference: relative ones stay so, for readers of a checkout."""
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path))


_SUITE: Final = "canvass verify"


def to_junit(found: CorpusVerdict) -> str:
    """Give the XML document; a case fails or ends in an error where the exit code is not 0."""
    verdicts = [run.verdict for run in found.runs]
    late = [_is_late(run, found) for run in found.runs]
    suite = ElementTree.Element(
        "testsuite",
        name=_SUITE,
        tests=str(len(verdicts)),
        failures=str(verdicts.count(Verdict.DIVERGES) + sum(late)),
        errors=str(verdicts.count(Verdict.MALFORMED) + verdicts.count(Verdict.INCOMPLETE)),
        skipped="0",
        time=f"{found.counts.seconds:.3f}",
    )
    # CI servers take test cases of one name for one test.
    for run, name, fails in zip(found.runs, run_names(found.runs), late, strict=True):
        case = ElementTree.SubElement(suite, "testcase", classname=_SUITE, name=name)
        if given := _properties(run):
            properties = ElementTree.SubElement(case, "properties")
            for key, value in given.items():
                ElementTree.SubElement(properties, "property", name=key, value=value)
        _case_result(case, run)
        _case_remarks(case, run, timing_fails=fails)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def _is_late(run: RunVerdict, found: CorpusVerdict) -> bool:
    """Whether nothing but a timing warning makes a run fail."""
    return found.timing_fails and run.verdict is Verdict.CONFORMS and bool(run.timing)


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
    yield f"the step in the trace: {visible(str(place_of(run, first)))}"
    lines = log_lines_of(run, first.member, first.step)
    if lines is not None:
        yield f"{lines.what}: {visible(str(lines.first))}"
    operator = find_operator(first.name)
    if operator is not None:
        yield f"in the spec: {operator.module}.tla:{operator.line}"
        yield from (visible(line) for line in operator.lines)


def _case_remarks(case: ElementTree.Element, run: RunVerdict, *, timing_fails: bool) -> None:
    """Add the timing warnings as a failure or as output, and as output what was not checked."""
    limits = limits_text(run)
    remarks = [limits] if limits else []
    warnings = [visible(": ".join(timing_lines(warning))) for warning in run.timing]
    if timing_fails:
        kind = f"TIMING/{run.timing[0].rule.value}"
        ElementTree.SubElement(case, "failure", type=kind, message="\n".join(warnings))
    else:
        remarks += warnings
    if remarks:
        ElementTree.SubElement(case, "system-out").text = "\n".join(remarks)
