"""Verdicts as documents: a self-contained page, and JUnit for CI servers.

Lanes are drawn as text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from canvass.conformance.operators import find_operator
from canvass.conformance.report import (
    CLASS_TEXTS,
    OF_STEPS,
    Case,
    by_cause,
    fact_text,
    natural,
    notes,
    places_of,
    problem_of,
    run_names,
    timing_lines,
)
from canvass.conformance.templates import environment, page
from canvass.conformance.verdict import (
    WORST_FIRST,
    CorpusVerdict,
    RunVerdict,
    Verdict,
    limits_text,
)
from canvass.lanes.model import Diagram
from canvass.lanes.text import Line, TextLanes
from canvass.traces.schema import encode

MAX_LISTED: Final = 1_000
"""Runs in a table; runs that do not conform come first."""
_MAX_SPEC_LINES: Final = 80
_LANE_COLUMNS: Final = 40
"""Characters of each lane."""
_WORDS: Final = {
    Verdict.CONFORMS: "conforms",
    Verdict.DIVERGES: "diverges",
    Verdict.MALFORMED: "is malformed",
    Verdict.INCOMPLETE: "is incomplete",
}


def to_html(
    found: CorpusVerdict,
    cases: Sequence[Case],
    more: Sequence[str] = (),
    folder: Path | None = None,
) -> str:
    """Write the page.

    Parameters
    ----------
    found
        The verdicts.
    cases
        Divergences to show in full, one of each cause, as `make_cases` makes them.
    more
        Markup of further sections, as `canvass.explanation.explanation` makes them.
    folder
        The folder of the page, for its links to runs; None if it is not known.
    """
    runs, title = found.runs, _title(found)
    given: dict[str, Any] = {
        "found": found,
        "title": title,
        "notes": notes(found),
        "cases": cases,
        "causes": by_cause(runs),
        "more": more,
        "folder": folder,
        "warned": [(run, warning) for run in runs for warning in run.timing],
        "listed": sorted(
            runs,
            key=lambda one: (
                WORST_FIRST.index(one.verdict),
                natural(one.run_id),
                natural(one.path),
            ),
        ),
        "most": MAX_LISTED,
        "most_lines": _MAX_SPEC_LINES,
        "class_texts": CLASS_TEXTS,
        "of_steps": OF_STEPS,
    }
    words = (problem_of, encode, run_names, timing_lines)
    given |= {word.__name__: word for word in words} | {"lanes": _lanes}
    body = environment().get_template("verify.html.jinja").render(given)
    return page(f"canvass verify: {title}", [body])


def _title(found: CorpusVerdict) -> str:
    runs = found.runs
    counts = Counter(run.verdict for run in runs)
    if not runs:
        return "nothing was checked"
    if counts[Verdict.CONFORMS] == len(runs):
        return "the run conforms" if len(runs) == 1 else f"all {len(runs):,} runs conform"
    if len(runs) == 1:
        return f"the run {_WORDS[runs[0].verdict]}"
    several = (f"{counts[verdict]:,} {verdict.value}" for verdict in WORST_FIRST if counts[verdict])
    return f"{len(runs):,} runs: {', '.join(several)}"


def _lanes(diagram: Diagram) -> Iterator[Line]:
    return TextLanes(diagram, _LANE_COLUMNS * len(diagram.lanes)).lines()


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
