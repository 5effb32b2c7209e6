"""The whole explanation: leaderships, elections, stuck members, risks, and the questions that the
logs leave open. It is also given as HTML, for the page of a verification.

It lists the events between elections, too: of modules and services, and of members that join a
leader again. For logs that grow, `Changes` gives what earlier explanations did not say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeAlias

from canvass.cluster.messages import Record
from canvass.explanation.elections import ElectionReport, find_elections
from canvass.explanation.leaderships import (
    ALIVE_NS,
    Gap,
    Leadership,
    Span,
    find_gaps,
    find_leaderships,
    sentence_of,
)
from canvass.explanation.risks import FEW_DISKS, TRUNCATED, RiskReport, find_risks
from canvass.explanation.stuck import StuckReport, find_stuck, goes_back
from canvass.explanation.timeline import (
    ACTIVE,
    CLOSED,
    Evidence,
    MemberTimeline,
    Sentence,
    Timeline,
    seconds_of,
    shown_ns,
)
from canvass.explanation.timeouts import Timeout, find_timeouts
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.releases import LogReleases
from canvass.traces.errors import counted

_Timed: TypeAlias = tuple[int, Sentence]
_IN_ORDER: Final = frozenset({"", "closed", "expected termination"})
"""The reasons of a member that closes because it was asked to."""
_OUTCOMES: Final = {
    "closed": "joined after {}",
    "process ended": "its process ended after {}, before it had joined",
    "new election": "began again after {}",
    "log ends": "has not joined after {}, where its log ends",
}


def _find_between(
    timeline: Timeline, spans: list[Span], elections: list[ElectionReport]
) -> list[Sentence]:
    """List the events in the order of time.

    They are: a leader's module leaves ACTIVE; a member closes without being asked to; a service
    does not acknowledge a snapshot; a member starts, or begins an election, while a leader works.
    """
    found = [event for one in timeline.members.values() for event in _modules(one, spans)]
    found += _rejoins(timeline, spans, elections)
    return [sentence for _, sentence in sorted(found, key=lambda event: event[0])]


def _modules(one: MemberTimeline, spans: list[Span]) -> Iterator[_Timed]:
    kinds = (records.StateChange, records.ProcessStart)
    places = [k for k, record in enumerate(one.records) if isinstance(record, kinds)]
    services = {
        record.service_id for record in one.records if isinstance(record, records.ServiceAck)
    }
    for place, following in pairwise([*places, len(one.records)]):
        record = one.records[place]
        if not isinstance(record, records.StateChange) or record.new_state in (ACTIVE, "INIT"):
            continue
        mine = (s for s in spans if s.one is one and s.begin <= place < s.end)
        span, reason = next(mine, None), record.reason or ""
        ended = following < len(one.records) and isinstance(
            one.records[following], records.StateChange
        )
        last = following if ended else max(following - 1, place)
        lasted = one.times[last] - one.times[place]
        missing = set[int]()
        if record.new_state == "SNAPSHOT" and not ended and lasted > ALIVE_NS:
            acks = (r for r in one.records[place:following] if isinstance(r, records.ServiceAck))
            missing = services - {ack.service_id for ack in acks}
        if record.new_state == CLOSED and reason not in _IN_ORDER:
            what = "closed"
        elif record.new_state != CLOSED and (span is not None or missing):
            what = f"was in {record.new_state}"
            what += f" for {shown_ns(lasted)}" if ended else ""
        else:
            continue
        text = f"Member {one.member_id}"
        if span is not None:
            text = f"Term {span.row.leadership_term_id}: leader {one.member_id}"
        text += f" {what}" + (f" ({reason})" if reason else "")
        for service in sorted(missing):
            text += f"; for {shown_ns(lasted)} no SERVICE_ACK of service {service} came"
        yield one.times[place], one.say(f"{text}.", place, *([last] if ended or missing else []))


def _rejoins(
    timeline: Timeline, spans: list[Span], elections: list[ElectionReport]
) -> Iterator[_Timed]:
    """List the elections of one member that are no part of an election of the cluster."""
    listed = {(phase.member_id, phase.from_ns) for one in elections for phase in one.phases}
    for attempt in timeline.attempts():
        one = attempt.one
        end = min(attempt.end, len(one.records) - 1)
        begin_ns, end_ns = one.times[attempt.begin], one.times[end]
        stands = (
            span
            for span in spans
            if span.row.is_exact
            and span.one is not one
            and span.from_ns <= begin_ns
            and end_ns <= (timeline.end_ns if span.until_ns is None else span.until_ns)
        )
        first, span = one.records[attempt.begin].time_ns, next(stands, None)
        if span is None or end == attempt.begin or (one.member_id, first) in listed:
            continue
        why = "started" if attempt.is_startup else f"began an election ({attempt.reason or '?'})"
        how = _OUTCOMES[attempt.outcome].format(shown_ns(end_ns - begin_ns))
        text = f"Member {one.member_id} {why} while member {span.one.member_id} led term"
        text += f" {span.row.leadership_term_id}, and {how}"
        changes = (phase.left_by for phase in attempt.phases if phase.left_by is not None)
        returns = Counter((by.old_state, by.new_state) for by in changes if goes_back(by))
        for (state, back), count in returns.most_common(2):
            text += f", with {counted(count, 'return')} from {state} to {back}"
        yield begin_ns, one.say(f"{text}.", attempt.begin, end)


class Explanation(Record, frozen=True):
    """The explanation of a cluster's logs.

    Parameters
    ----------
    begin_ns, end_ns
        The first and the last stamp, on the common clock.
    clock_offsets_ns
        For each member, the common clock minus the member's own clock.
    leaderships
        The leaderships in the order in which they began. The times are those of the leader's own
        clock.
    without_leader_ns
        The sum of the gaps whose beginning is known.
    interruptions
        The events between elections, in the order of time.
    positions
        The last known position of each member; none if the logs have no reports of followers.
    releases
        The releases that wrote the logs, and the revision of the spec for them; None for a run that
        was not imported.
    """

    member_count: int
    members: tuple[int, ...]
    begin_ns: int
    end_ns: int
    clock_offsets_ns: dict[int, int]
    timeouts: tuple[Timeout, ...]
    leaderships: tuple[Leadership, ...]
    gaps: tuple[Gap, ...]
    without_leader_ns: int
    interruptions: tuple[Sentence, ...]
    elections: tuple[ElectionReport, ...]
    stuck: tuple[StuckReport, ...]
    positions: tuple[Sentence, ...]
    risks: tuple[RiskReport, ...]
    missing: tuple[Sentence, ...]
    releases: LogReleases | None = None


def explain(
    timeline: Timeline,
    settings: Mapping[str, int] | None = None,
) -> Explanation:
    """Explain what happened.

    Parameters
    ----------
    timeline
        The timeline, from `timeline.make_timeline`.
    settings
        The timeouts that the user gave, in ns by property.
    """
    timeouts = find_timeouts(timeline, settings or {})
    spans = find_leaderships(timeline)
    gaps = find_gaps(timeline, spans)
    elections = find_elections(timeline, spans, timeouts)
    ballots = [ballot for election in elections for ballot in election.ballots]
    without_ns = sum(gap.until_ns - gap.from_ns for gap in gaps if gap.from_ns is not None)
    return Explanation(
        timeline.member_count, tuple(timeline.members), timeline.begin_ns, timeline.end_ns,
        {member_id: one.offset_ns for member_id, one in timeline.members.items()},
        tuple(timeouts.values()), tuple(span.row for span in spans), tuple(gaps), without_ns,
        tuple(_find_between(timeline, spans, elections)), tuple(elections),
        tuple(find_stuck(timeline, timeouts)), tuple(_find_positions(timeline)),
        tuple(find_risks(timeline, spans, ballots)),
        (*_find_missing(timeline), *_unseen(spans)), timeline.releases,
    )  # fmt: skip


def _unseen(spans: list[Span]) -> Iterator[Sentence]:
    """Name the terms whose leader's own line is missing: their elections are not listed."""
    for span in spans:
        if not span.row.is_exact:
            term = span.row.leadership_term_id
            text = f"No line of its leader shows the opening of term {term}, nor its election."
            yield Sentence(text, span.row.evidence)


def _find_positions(timeline: Timeline) -> Iterator[Sentence]:
    """Say for each member its last known position, and how far behind the furthest member it is."""
    last: dict[int, tuple[int, Evidence]] = {}
    reported = timeline.merged(records.AppendPosition)
    for _, one, index in timeline.merged(records.ClusterEvent) if reported else ():
        match one.records[index]:
            case records.AppendPosition(follower_member_id=who, log_position=position):
                pass
            case records.CommitPosition(leader_member_id=who, log_position=position):
                # The leader's own log reaches further.
                if who in last and last[who][0] >= position:
                    continue
            case records.ElectionStateChange(append_position=position):
                who = one.member_id
            case _:
                continue
        last[who] = position, one.evidence(index)
    most, first = max(((position, -who) for who, (position, _) in last.items()), default=(0, 0))
    for who, (position, line) in sorted(last.items(), key=lambda item: item[0]):
        text, behind = f"Member {who} was last seen at {position}", most - position
        text += f", {behind:,} behind member {-first}" if behind else ""
        yield Sentence(f"{text}.", (line,))


_NEEDED: Final[dict[str, tuple[type[records.Line], str]]] = {
    "ELECTION_STATE_CHANGE": (records.ElectionStateChange, "elections and leaderships"),
    "NEW_ELECTION": (records.NewElection, "why elections begin"),
    "CANVASS_POSITION": (records.CanvassPosition, "what a candidate waited for"),
    "VOTE": (records.Vote, "who voted how"),
    "APPEND_POSITION": (
        records.AppendPosition,
        "how far followers were, and when a leader stopped",
    ),
    "COMMIT_POSITION": (records.CommitPosition, "how far the log was committed"),
}
"""For each event, the question that stays open if no log has that event."""


def _find_missing(timeline: Timeline) -> list[Sentence]:
    """List what is missing; each sentence has a line that shows it."""
    first = tuple(one.evidence(0) for one in timeline.members.values())
    found = [
        Sentence(f"The log of member {member_id} is not here.", first[:1])
        for member_id in timeline.missing
    ]
    if not timeline.merged(records.ClusterEvent):
        text = "No log has a CLUSTER line: the events may be off, or no process began an election."
        found.append(Sentence(text, first))
    elif timeline.member_count > 1:
        found += [
            Sentence(f"No log has the event {event}: it does not show {what}.", first)
            for event, (kind, what) in _NEEDED.items()
            if not timeline.merged(kind)
        ]
    for one in timeline.members.values():
        found += _of_member(one)
    return found


def _of_member(one: MemberTimeline) -> Iterator[Sentence]:
    if not isinstance(one.records[0], records.ProcessStart):
        text = f"The log of member {one.member_id} begins within a process."
        yield Sentence(text, (one.evidence(0),))
    damaged = {
        k: line for k, line in enumerate(one.records) if isinstance(line, records.TruncatedLine)
    }
    if damaged:
        places = list(damaged) if len(damaged) < 4 else [min(damaged), max(damaged)]
        first = "; the first one" if len(damaged) > 1 else ""
        text = (
            f"{counted(len(damaged), 'line')} of member {one.member_id} cannot be read"
            f"{first}: {damaged[places[0]].reason}."
        )
        yield Sentence(text, tuple(one.evidence(k) for k in places))
    for attempt in one.attempts:
        for earlier, later in pairwise(attempt.phases):
            if later.own.old_state != earlier.state:
                text = (
                    f"Lines of member {one.member_id} are missing: it was in {earlier.state} and"
                    f" comes from {later.own.old_state}."
                )
                yield one.say(text, earlier.begin, later.begin)


def time_without_leader(found: Explanation) -> str:
    """Say for how long no member led, if the logs show it."""
    if not found.leaderships and not found.gaps:
        return "no line shows who led"
    at_least = "at least " if any(gap.from_ns is None for gap in found.gaps) else ""
    return f"{at_least}{shown_ns(found.without_leader_ns)} without a leader"


def clocks_apart(found: Explanation) -> str:
    """Say which members' clocks differ, to a tenth of a second; empty if none do.

    Messages show no smaller difference with certainty, because they take some time themselves.
    """
    (first, base_ns), *others = found.clock_offsets_ns.items()
    apart = [
        f"member {member_id} is {abs(ahead_s):,.1f} s {'ahead of' if ahead_s > 0 else 'behind'}"
        for member_id, offset_ns in others
        if (ahead_s := round((base_ns - offset_ns) / 1e9, 1))
    ]
    if not apart:
        return ""
    shown = ", ".join(f"{one} member {first}" for one in apart)
    return f"Clocks: {shown}; times are each member's own."


def written_by(found: Explanation) -> list[str]:
    """Say which releases wrote the logs, which revision is used, and the limits of that choice."""
    return [] if found.releases is None else found.releases.lines()


MAX_ROWS: Final = 200
"""The most rows of each table in a page. If there are more, the last ones are shown."""


def sections(found: Explanation) -> str:
    """Give the parts of a page as markup: tables with the lines of evidence in the last column."""
    from canvass.conformance.report import environment  # Loads the checker: only a page needs it.

    template = environment(Path(__file__).parent).get_template("explain.html.jinja")
    return template.render(found=found, most=MAX_ROWS, seconds_of=seconds_of)


_SEVERITIES: Final = ("note", "warning", "danger")


@dataclass(frozen=True, slots=True)
class NewFinding:
    """Something that earlier explanations did not show.

    Parameters
    ----------
    kind
        ``election``, ``leadership``, ``stuck`` or ``risk``.
    severity
        ``danger``, ``warning`` or ``note``. The end of a risk or of a stuck phase is a note.
    title
        The text before the first sentence; empty if there is none.
    sentences
        All sentences about the finding; for an end the first one, and for a risk also the last.
    """

    kind: str
    severity: str
    title: str
    sentences: tuple[Sentence, ...]

    def __str__(self) -> str:
        return " ".join(filter(None, (f"{self.severity}:", self.title, *map(str, self.sentences))))


@dataclass(slots=True)
class Changes:
    """Remembers what was said, and gives what is new.

    A stuck phase or a risk is over only when a line shows its end. If lines are rotated away, or a
    log cannot be read any more, nothing is said to be over.
    """

    _said: set[tuple[object, ...]] = field(default_factory=set)

    def of(self, found: Explanation) -> Iterator[NewFinding]:
        """Give what is new in an explanation."""
        for one in found.elections:
            won = one.leader_member_id is not None and one.opened
            if won and self._is_new("election", one.sentence.evidence):
                yield NewFinding("election", "note", "", (one.sentence,))
        for row in found.leaderships:
            ended = row.ended_by not in ("log ends", "unknown")
            if ended and self._is_new("leadership", row.evidence[:1]):
                yield NewFinding("leadership", "note", "", (sentence_of(row),))
        for stuck in found.stuck:
            begin = stuck.sentences[0].evidence[:1]
            if self._is_new(stuck.kind, begin):
                yield NewFinding("stuck", "warning", "stuck:", stuck.said)
                self._is_over(stuck.kind, stuck.until_ns, begin)
            elif self._is_over(stuck.kind, stuck.until_ns, begin):
                yield NewFinding("stuck", "note", "no longer stuck:", stuck.sentences[:1])
        for risk in found.risks:
            kind = TRUNCATED if risk.kind == FEW_DISKS else risk.kind
            lines = risk.sentences[0].evidence
            if self._is_graver(kind, risk.severity, lines):
                yield NewFinding("risk", risk.severity, f"{risk.title}:", risk.sentences)
                self._is_over(kind, risk.until_ns, lines)
            elif self._is_over(kind, risk.until_ns, lines):
                said = dict.fromkeys((risk.sentences[0], risk.sentences[-1]))
                yield NewFinding("risk", "note", f"no longer: {risk.title}:", tuple(said))

    def _is_graver(self, kind: str, severity: str, lines: tuple[Evidence, ...]) -> bool:
        """Whether no risk of this severity or a graver one has been reported for these lines.

        A later line can turn a note into a danger. A line that is gone does not turn a danger into
        a note.
        """
        graver = _SEVERITIES[_SEVERITIES.index(severity) :]
        if any(_key(f"{one} {kind}", lines) in self._said for one in graver):
            return False
        return self._is_new(f"{severity} {kind}", lines)

    def _is_over(self, kind: str, until_ns: int | None, lines: Iterable[Evidence]) -> bool:
        """Whether an end is known that was not known before."""
        return until_ns is not None and self._is_new(f"end of {kind}", lines)

    def _is_new(self, kind: str, lines: Iterable[Evidence]) -> bool:
        key = _key(kind, lines)
        if key in self._said:
            return False
        self._said.add(key)
        return True


def _key(kind: str, lines: Iterable[Evidence]) -> tuple[object, ...]:
    """A key without files and line numbers: they change if a file is rolled or truncated."""
    return kind, *((line.member_id, line.time_ns) for line in lines)
