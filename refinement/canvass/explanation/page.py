"""An explanation as markup: leaderships, elections, stuck members and risks, in a page of their own
or in the report of a verification.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from canvass.conformance.page import page, table, text
from canvass.explanation.evidence import Evidence, Sentence, seconds_of, shown_ns
from canvass.explanation.report import Explanation

MAX_ROWS: Final = 200
"""Of each table; the last ones are shown."""


def to_html(found: Explanation, source: str) -> str:
    """Write a page.

    Parameters
    ----------
    source
        What was explained, for the title.
    """
    without = shown_ns(found.without_leader_ns)
    span = shown_ns(found.end_ns - found.begin_ns)
    members = f"{found.member_count} members, {len(found.members)} logs"
    body = [
        f"<h1>{text(source)}: {len(found.leaderships)} leaderships in {text(span)}</h1>",
        f'<p class="note">{members}, {without} without a leader</p>',
        *sections(found),
    ]
    return page(f"canvass explain: {source}", body)


def sections(found: Explanation) -> Iterator[str]:
    """Give the parts of a page, the tables first."""
    yield "<section><h2>Who led when</h2>"
    yield from _leaderships(found)
    yield "</section><section><h2>Elections</h2>"
    yield from _elections(found)
    yield "</section>"
    stuck = [sentence for one in found.stuck for sentence in one.sentences]
    risks = [
        sentence for one in found.risks if one.severity != "note" for sentence in one.sentences
    ]
    yield from _listed("Stuck", stuck)
    yield from _listed("At risk", risks)
    yield from _listed("Sessions", found.sessions.sentences)
    yield from _listed("Missing", found.missing)


def _leaderships(found: Explanation) -> Iterator[str]:
    rows = [
        (
            str(row.leadership_term_id),
            "?" if row.leader_member_id is None else str(row.leader_member_id),
            seconds_of(row.from_ns),
            seconds_of(row.until_ns),
            text(row.reason or row.ended_by),
            _places(row.evidence),
        )
        for row in found.leaderships[-MAX_ROWS:]
    ]
    head = ("term", "leader", "from, s", "until, s", "ended by", "lines")
    yield table(head, rows, numbers=frozenset({0, 1, 2, 3}))
    yield from _left_out(len(found.leaderships))


def _elections(found: Explanation) -> Iterator[str]:
    rows = [
        (
            str(one.number),
            "?" if one.leadership_term_id is None else str(one.leadership_term_id),
            "none" if one.leader_member_id is None else str(one.leader_member_id),
            f"{one.duration_ms:,.0f}",
            str(sum(ballot.outcome == "failed" for ballot in one.ballots)),
            f"{text(one.slowest.text)} {_places(one.slowest.evidence)}",
        )
        for one in found.elections[-MAX_ROWS:]
    ]
    head = ("election", "term", "winner", "ms", "failed ballots", "slowest part")
    yield table(head, rows, numbers=frozenset({0, 1, 2, 3, 4}))
    yield from _left_out(len(found.elections))


def _left_out(count: int) -> Iterator[str]:
    if count > MAX_ROWS:
        yield f'<p class="note">{count - MAX_ROWS:,} before these are not listed.</p>'


def _listed(title: str, sentences: Iterable[Sentence]) -> Iterator[str]:
    shown = list(sentences)
    if shown:
        yield f"<section><h2>{title}</h2><ul>"
        for one in shown[-MAX_ROWS:]:
            yield f"<li>{text(one.text)} {_places(one.evidence)}</li>"
        yield "</ul></section>"


def _places(evidence: Iterable[Evidence]) -> str:
    places = ", ".join(dict.fromkeys(str(one) for one in evidence))
    return f'<span class="note"><code>{text(places)}</code></span>'
