"""The picture of a running cluster as metrics, in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
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
    unread: Collection[int] = (),
) -> str:
    """Write the metrics.

    Parameters
    ----------
    lines, read_bytes
        Records and bytes read, by member.
    behind_s
        Seconds since all lines of the logs had been read.
    verdict
        Of the last check; empty if there was none.
    seconds_ago
        Seconds since that check.
    unread
        Members whose logs are not read.
    """
    rows: list[str] = []
    totals, found = picture.totals, picture.explanation
    rows += _metric("elections_total", "counter", "Elections that a member won.", totals.elections)
    seconds = round(totals.without_leader_ns / 1e9, 3)
    what = "Time between leaders, of gaps that have ended."
    rows += _metric("without_leader_seconds_total", "counter", what, seconds)
    last = picture.leadership
    leads = last is not None and last.ended_by == "log ends"
    leader = last.leader_member_id if last is not None and leads else None
    rows += _metric(
        "leader_member_id",
        "gauge",
        "The leader; -1 if there is none.",
        -1 if leader is None else leader,
    )
    term = -1 if last is None else last.leadership_term_id
    rows += _metric("leadership_term_id", "gauge", "The last term that was opened.", term)
    rows += _labelled(
        "member_lag_bytes", "gauge", "Behind the highest position.", "member", picture.lags()
    )
    stuck = sum(one.until_ns is None for one in found.stuck) if found else 0
    rows += _metric("stuck_members", "gauge", "Members that are stuck now.", stuck)
    risks = {severity: totals.risks.get(severity, 0) for severity in ("danger", "warning", "note")}
    rows += _labelled("risks", "counter", "What was at risk.", "severity", risks)
    rows += _labelled("lines_total", "counter", "Lines of events read.", "member", lines)
    rows += _labelled("read_bytes_total", "counter", "Bytes read.", "member", read_bytes)
    flags = {member_id: int(member_id in unread) for member_id in sorted({*lines, *unread})}
    rows += _labelled("log_unread", "gauge", "1 if the log is not read.", "member", flags)
    rows += _metric("seconds_behind", "gauge", "Since all lines had been read.", round(behind_s, 3))
    if verdict:
        rows += _labelled("verdict", "gauge", "Verdict of the last check.", "verdict", {verdict: 1})
        rows += _metric("verdict_age_seconds", "gauge", "Since then.", round(seconds_ago, 1))
    return "".join(f"{row}\n" for row in rows)


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
