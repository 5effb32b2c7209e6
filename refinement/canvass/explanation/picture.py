"""The picture of a running cluster, in bounded memory, what is new in it, and its metrics.

Of positions that are reported all the time only the latest before each other line are kept; of the
rest the last elections. The metrics are in Prometheus' text format.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from canvass.explanation.evidence import Evidence, Sentence
from canvass.explanation.leaderships import sentence_of
from canvass.explanation.report import Explanation, explain
from canvass.explanation.timeline import make_timeline
from canvass.traces.aeron_log.logs import MemberLog, members_named
from canvass.traces.aeron_log.records import (
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    LogRecord,
    NewElection,
)

MAX_RECORDS: Final = 1_500
"""Of one member; then the older half is forgotten, up to the beginning of an election."""
_MAX_KEYS: Final = 10_000
"""Of what was announced; the oldest are forgotten."""


class KeptRecords:
    """The records of one member that the picture needs.

    Attributes
    ----------
    newest_ns
        The stamp of the last line.
    """

    def __init__(self) -> None:
        self._kept: list[LogRecord] = []
        self._latest: dict[tuple[type, int], LogRecord] = {}
        self.newest_ns = 0

    def add(self, records: Iterable[LogRecord]) -> bool:
        """Add records; say whether one of them is more than a position."""
        news = False
        for record in records:
            if isinstance(record, AppendPosition | CanvassPosition):
                self._latest[type(record), record.follower_member_id] = record
            elif isinstance(record, CommitPosition):
                self._latest[type(record), record.leader_member_id] = record
            else:
                self._kept += self._positions()
                self._latest.clear()
                self._kept.append(record)
                news = True
            self.newest_ns = record.time_ns or self.newest_ns
        if len(self._kept) > MAX_RECORDS:
            self._forget()
        return news

    def _positions(self) -> list[LogRecord]:
        return sorted(self._latest.values(), key=lambda record: (record.file, record.line))

    def _forget(self) -> None:
        half = len(self._kept) // 2
        starts = (k for k in range(half, len(self._kept)) if isinstance(self._kept[k], NewElection))
        del self._kept[: next(starts, half)]

    def records(self) -> list[LogRecord]:
        """What is kept, in the order of the lines."""
        return [*self._kept, *self._positions()]


@dataclass(frozen=True, slots=True)
class News:
    """Something that the picture did not show before.

    Parameters
    ----------
    kind
        ``election``, ``leadership``, ``stuck`` or ``risk``.
    severity
        ``danger``, ``warning`` or ``note``.
    """

    kind: str
    severity: str
    sentence: Sentence


@dataclass(slots=True)
class Totals:
    """What counters show: it only grows."""

    elections: int = 0
    without_leader_ns: int = 0
    risks: dict[str, int] = field(default_factory=dict)


class Picture:
    """What is known of a cluster whose logs are being written.

    Parameters
    ----------
    settings
        Timeouts, as for `explain`.

    Attributes
    ----------
    explanation
        Of what is kept; none before the first line of a cluster.
    totals
        Since the beginning.
    """

    def __init__(self, settings: Mapping[str, int] | None = None) -> None:
        self.explanation: Explanation | None = None
        self.totals = Totals()
        self._settings = dict(settings or {})
        self._members: dict[int, KeptRecords] = {}
        self._seen: set[tuple[object, ...]] = set()
        self._order: deque[tuple[object, ...]] = deque()

    def add(self, found: Mapping[int, list[LogRecord]]) -> bool:
        """Add records of members; say whether the picture changes."""
        news = False
        for member_id, records in found.items():
            kept = self._members.setdefault(member_id, KeptRecords())
            news |= kept.add(records)
        return news

    def lags(self) -> dict[int, int]:
        """For each member how far it is behind the highest position that any line shows."""
        ends: dict[int, int] = {}
        for kept in self._members.values():
            for record in kept.records()[-64:]:
                if isinstance(record, AppendPosition):
                    who, position = record.follower_member_id, record.log_position
                elif isinstance(record, CommitPosition):
                    who, position = record.leader_member_id, record.log_position
                else:
                    continue
                ends[who] = max(ends.get(who, 0), position)
        highest = max(ends.values(), default=0)
        return {member_id: highest - end for member_id, end in sorted(ends.items())}

    def update(self, names: Mapping[int, list[str]]) -> list[News]:
        """Explain what is kept, and say what is new.

        Parameters
        ----------
        names
            Of each member's files.
        """
        logs = {
            member_id: MemberLog(
                member_id, tuple(Path(name) for name in names[member_id]), kept.records()
            )
            for member_id, kept in self._members.items()
        }
        named = set().union(*(members_named(log.records) for log in logs.values()))
        timeline = make_timeline(logs, tuple(sorted(named - logs.keys() - {NULL_VALUE})))
        if not timeline.members:
            return []
        self.explanation = explain(timeline, None, self._settings)
        return list(self._news(self.explanation))

    def _news(self, found: Explanation) -> Iterator[News]:
        for one in found.elections:
            won = one.leader_member_id is not None and one.opened
            if won and self._is_new("election", one.sentence.evidence):
                self.totals.elections += 1
                yield News("election", "note", one.sentence)
        for row in found.leaderships:
            ended = row.ended_by not in ("log ends", "unknown")
            if ended and self._is_new("leadership", row.evidence[:1]):
                yield News("leadership", "note", sentence_of(row))
        for gap in found.gaps:
            if gap.leadership_term_id is not None and self._is_new("gap", gap.sentence.evidence):
                self.totals.without_leader_ns += gap.until_ns - (gap.from_ns or gap.until_ns)
        yield from self._troubles(found)

    def _troubles(self, found: Explanation) -> Iterator[News]:
        for stuck in found.stuck:
            if self._is_new(stuck.kind, stuck.sentences[0].evidence[:1]):
                yield News("stuck", "warning", stuck.sentences[0])
        for risk in found.risks:
            if self._is_new(risk.kind, risk.sentences[0].evidence):
                risks = self.totals.risks
                risks[risk.severity] = risks.get(risk.severity, 0) + 1
                yield News("risk", risk.severity, risk.sentences[0])

    def _is_new(self, kind: str, lines: Iterable[Evidence]) -> bool:
        # Not by the name of the file: a file that is rolled gets another one.
        key = (kind, *((line.member_id, line.line, line.time_ns) for line in lines))
        if key in self._seen:
            return False
        self._seen.add(key)
        self._order.append(key)
        if len(self._order) > _MAX_KEYS:
            self._seen.discard(self._order.popleft())
        return True


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
    rows: list[str] = []
    totals, found = picture.totals, picture.explanation
    rows += _metric("elections_total", "counter", "Elections that a member won.", totals.elections)
    seconds = round(totals.without_leader_ns / 1e9, 3)
    what = "Time between leaders, of gaps that have ended."
    rows += _metric("without_leader_seconds_total", "counter", what, seconds)
    last = found.leaderships[-1] if found and found.leaderships else None
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
