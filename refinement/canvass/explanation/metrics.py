"""The picture as metrics in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from canvass.explanation.picture import Picture

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def render(
    picture: Picture,
    lines: Mapping[int, int],
    read_bytes: Mapping[int, int],
    behind_s: float,
    verdict: str,
    seconds_ago: float,
) -> str:
    """Write the metrics.

    Parameters
    ----------
    lines, read_bytes
        Records and bytes read, by member.
    behind_s
        Since all that is in the logs had been read.
    verdict
        Of the last check; empty if there was none.
    seconds_ago
        Since that check.
    """
    return "".join(
        f"{line}\n" for line in _lines(picture, lines, read_bytes, behind_s, verdict, seconds_ago)
    )


def _lines(
    picture: Picture,
    lines: Mapping[int, int],
    read_bytes: Mapping[int, int],
    behind_s: float,
    verdict: str,
    seconds_ago: float,
) -> Iterator[str]:
    totals, found = picture.totals, picture.explanation
    yield from _metric(
        "elections_total", "counter", "Elections that a member won.", totals.elections
    )
    seconds = round(totals.without_leader_ns / 1e9, 3)
    what = "Time between leaders, of gaps that have ended."
    yield from _metric("without_leader_seconds_total", "counter", what, seconds)
    last = found.leaderships[-1] if found and found.leaderships else None
    leads = last is not None and last.ended_by == "log ends"
    leader = last.leader_member_id if last is not None and leads else None
    yield from _metric(
        "leader_member_id",
        "gauge",
        "The leader; -1 if there is none.",
        -1 if leader is None else leader,
    )
    term = -1 if last is None else last.leadership_term_id
    yield from _metric("leadership_term_id", "gauge", "The last term that was opened.", term)
    yield from _labelled(
        "member_lag_bytes", "gauge", "Behind the highest position.", "member", picture.lags()
    )
    stuck = sum(one.until_ns is None for one in found.stuck) if found else 0
    yield from _metric("stuck_members", "gauge", "Members that are stuck now.", stuck)
    risks = {severity: totals.risks.get(severity, 0) for severity in ("danger", "warning", "note")}
    yield from _labelled("risks", "counter", "What was at risk.", "severity", risks)
    yield from _labelled("lines_total", "counter", "Lines of events read.", "member", lines)
    yield from _labelled("read_bytes_total", "counter", "Bytes read.", "member", read_bytes)
    yield from _metric(
        "seconds_behind", "gauge", "Since all lines had been read.", round(behind_s, 3)
    )
    if verdict:
        yield from _labelled(
            "verdict", "gauge", "Verdict of the last check.", "verdict", {verdict: 1}
        )
        yield from _metric("verdict_age_seconds", "gauge", "Since then.", round(seconds_ago, 1))


def _metric(name: str, kind: str, text: str, value: float) -> Iterator[str]:
    yield f"# HELP canvass_{name} {text}"
    yield f"# TYPE canvass_{name} {kind}"
    yield f"canvass_{name} {value}"


def _labelled(
    name: str, kind: str, text: str, label: str, values: Mapping[str, int] | Mapping[int, int]
) -> Iterator[str]:
    yield f"# HELP canvass_{name} {text}"
    yield f"# TYPE canvass_{name} {kind}"
    for key, value in values.items():
        yield f'canvass_{name}{{{label}="{key}"}} {value}'
