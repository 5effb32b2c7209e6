"""Verdicts as JUnit for CI servers: a case for each run."""

from __future__ import annotations

from canvass.conformance.operators import find_operator
from canvass.conformance.report import fact_text, places_of, run_names, timing_lines
from canvass.conformance.templates import environment
from canvass.conformance.verdict import CorpusVerdict, RunVerdict, limits_text


def to_junit(found: CorpusVerdict) -> str:
    """Give the XML document; a case fails or ends in an error where the exit code is not 0."""
    made = environment()
    made.filters["fact"] = fact_text
    words = {word.__name__: word for word in (find_operator, limits_text, places_of)}
    names = run_names(found.runs)
    return made.get_template("junit.xml.jinja").render(
        found=found, names=names, timing=_timing, **words
    )


def _timing(run: RunVerdict) -> list[str]:
    return [": ".join(timing_lines(warning)) for warning in run.timing]
