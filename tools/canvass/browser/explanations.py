"""Explanations on the page: of a run by `canvass explain`, and of a hazard by its page in the docs.

The page shows the rows of `canvass.explanation`, and gets the event to which each line of evidence
leads. ``docs/findings`` has the pages on hazards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from canvass.browser import api
from canvass.browser.memory import in_own_process
from canvass.browser.questions import not_found
from canvass.browser.runs import OpenRun
from canvass.explanation.evidence import Evidence, shown_ns
from canvass.explanation.explanation import Explanation, explain, time_without_leader
from canvass.explanation.reading import read
from canvass.explanation.risks import shown_hazards
from canvass.traces.counts import counted

MAX_ROWS: Final = 100
"""Most rows of each table."""
MAX_BALLOTS: Final = 20
"""Most ballots of each election."""

_HERE: Final = Path(__file__).resolve().parent
_FOLDERS: Final = (_HERE / "findings", _HERE.parents[2] / "docs" / "findings")
"""The folder of the pages in a wheel, and in a checkout."""
_NAME: Final = re.compile(r"\b(?:HZ\d{1,2}|L-[A-E])\b")


def explanation_of(opened: OpenRun) -> api.ExplanationView:
    """Explain a run folder.

    Raises
    ------
    TraceError
        If it is not a trace.
    """
    found = in_own_process(opened.total, _explained, opened.path)
    span = shown_ns(found.end_ns - found.begin_ns)
    terms = counted(len(found.leaderships), "leadership")
    rows = {
        name: getattr(found, name)[-MAX_ROWS:]
        for name in ("leaderships", "interruptions", "elections", "stuck", "risks", "missing")
    }
    left_out = sum(len(getattr(found, name)) - len(kept) for name, kept in rows.items())
    left_out += sum(max(0, len(one.ballots) - MAX_BALLOTS) for one in rows["elections"])
    # The page needs only the first phase: that of the member that began the election.
    rows["elections"] = tuple(
        msgspec.structs.replace(one, phases=one.phases[:1], ballots=one.ballots[-MAX_BALLOTS:])
        for one in rows["elections"]
    )
    hazards = shown_hazards(found.risks)
    known = found.leaderships or found.gaps
    evidence = dict.fromkeys(_evidence((tuple(rows.values()), tuple(hazards))))
    return api.ExplanationView(
        summary=f"{terms} in {span}, {time_without_leader(found)}.",
        election_count=len(found.elections),
        without_leader_ms=found.without_leader_ns / 1e6 if known else None,
        hazards=tuple(hazards),
        left_out=left_out,
        places={str(one): _place(opened, one) for one in evidence},
        **rows,
    )


def _explained(path: Path) -> Explanation:
    return explain(read(path))


def _evidence(value: object) -> Iterator[Evidence]:
    """Give all evidence in a part of an explanation."""
    if isinstance(value, Evidence):
        yield value
    elif isinstance(value, msgspec.Struct):
        yield from _evidence(tuple(getattr(value, name) for name in value.__struct_fields__))
    elif isinstance(value, tuple):
        for one in value:
            yield from _evidence(one)


def _place(opened: OpenRun, one: Evidence) -> api.EvidencePlace:
    """Find the event of a line: line ``n`` of a member's stream is the member's event ``n``."""
    rows, places = opened.member_rows[one.member_id], opened.places[one.member_id]
    if not 0 < one.line <= len(rows):
        return api.EvidencePlace(str(one), None)
    line = opened.when(int(rows[one.line - 1])).place
    return api.EvidencePlace(line or str(one), int(places[one.line - 1]))


def hazards_in(*texts: str) -> tuple[str, ...]:
    """List the hazards that the texts name, if they have a page."""
    names = dict.fromkeys(name for text in texts for name in _NAME.findall(text))
    return tuple(name for name in names if _file(name) is not None)


@cache
def hazard_page(name: str) -> api.HazardPage:
    """Read the page on a hazard.

    Raises
    ------
    Refusal
        If the hazard has no page.
    """
    file = _file(name)
    if file is None:
        raise not_found("there is no page on that hazard")
    return api.HazardPage(name, tuple(file.read_text(encoding="utf-8").splitlines()))


def _file(name: str) -> Path | None:
    if not _NAME.fullmatch(name):
        return None
    return next((f / f"{name}.md" for f in _FOLDERS if (f / f"{name}.md").is_file()), None)
