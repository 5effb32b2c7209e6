"""Explanations of captured clusters, compared with what services and harness observed."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
import pytest

from canvass.explanation.explanation import Explanation, explain
from canvass.explanation.timeline import Evidence, Sentence, make_timeline
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.incarnations import ClusterLogs, MemberLog
from canvass.traces.aeron_log.records import ElectionStateChange, LogRecord
from canvass.traces.timeouts import DEFAULTS, STARTUP_CANVASS, beside
from support.aeron_runs import MORE_RELEASES, captures, more_captures, read_cluster, truth_of

ABSENT = pytest.param(MORE_RELEASES, marks=pytest.mark.skip("the captures are not on this machine"))
MORE = more_captures()
RELEASES = [path for path in MORE if path.parent == MORE_RELEASES]
NIGHT = pytest.mark.parametrize("path", MORE or [ABSENT], ids=lambda path: path.name)
DROPPED = (records.CanvassPosition, records.AppendPosition, records.CommitPosition)
"""Events that clusters in production do not log."""
RESOLUTION_NS = 500_000_000
"""From the line that closes a leader's election until its service has the term's first entry."""


def truth_at(path: Path, name: str) -> Path:
    """A file that tells what was really there; or where it would be."""
    return path / name if (path / name).is_file() else truth_of(path, name)


def each(truth: str = "member-0.log.gz") -> pytest.MarkDecorator:
    """Every capture of which there is some file."""
    small = [path for path in captures() if truth_at(path, truth).is_file()]
    more = [pytest.param(path, marks=pytest.mark.night) for path in more_captures()]
    return pytest.mark.parametrize("path", [*small, *more] or [ABSENT], ids=lambda path: path.name)


@cache
def logs_of(path: Path) -> ClusterLogs:
    return read_cluster([path])


def without(logs: ClusterLogs, kinds: tuple[type[LogRecord], ...]) -> dict[int, MemberLog]:
    """The logs as if events had been disabled."""
    return {
        member_id: replace(
            log, records=[record for record in log.records if not isinstance(record, kinds)]
        )
        for member_id, log in logs.members.items()
    }


@cache
def explained(path: Path, production: bool = False) -> Explanation:
    logs = logs_of(path)
    members = without(logs, DROPPED) if production else logs.members
    return explain(make_timeline(members, logs.missing))


def new_terms(path: Path) -> dict[tuple[int, int], dict[int, int]]:
    """For each term and leader when each service had the term's first entry, for the first time."""
    pattern = re.compile(
        r"\[(\d+)\.(\d{9})\] member=(\d+) NEW_TERM leadershipTermId=(\d+) .*leaderId=(\d+)"
    )
    found: dict[tuple[int, int], dict[int, int]] = {}
    for member_id in logs_of(path).members:
        with gzip.open(truth_at(path, f"service-{member_id}.log.gz"), "rt") as file:
            for match in filter(None, map(pattern.match, file)):
                led = found.setdefault((int(match[4]), int(match[5])), {})
                led.setdefault(int(match[3]), int(match[1] + match[2]))
    return found


def sentences_of(value: object) -> Iterator[Sentence]:
    if isinstance(value, Sentence):
        yield value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from sentences_of(getattr(value, name))
    elif isinstance(value, tuple | list):
        for part in value:
            yield from sentences_of(part)


@each("service-0.log.gz")
@pytest.mark.parametrize("production", [False, True], ids=["all events", "production events"])
def test_leaderships_are_those_that_the_services_saw(path: Path, production: bool) -> None:
    terms = new_terms(path)
    rows = explained(path, production).leaderships

    assert {(row.leadership_term_id, row.leader_member_id) for row in rows} == terms.keys()


@each("service-0.log.gz")
def test_a_leadership_begins_when_its_leaders_service_has_the_terms_first_entry(path: Path) -> None:
    """The service has it once it is committed: later, if the followers are away, never earlier."""
    terms = new_terms(path)
    late = 0
    for row in explained(path).leaderships:
        assert row.leader_member_id is not None
        assert row.from_ns is not None
        seen = terms.get((row.leadership_term_id, row.leader_member_id), {})
        if row.leader_member_id in seen and not _is_repeated(path, row.leadership_term_id):
            after_ns = seen[row.leader_member_id] - row.from_ns
            assert after_ns > 0
            late += after_ns > RESOLUTION_NS

    assert late <= 1


def _is_repeated(path: Path, term: int) -> bool:
    """Whether a term was led more than once, after disks had been wiped."""
    return sum(row.leadership_term_id == term for row in explained(path).leaderships) > 1


@each("timeline.jsonl")
def test_an_end_of_a_leadership_is_where_the_timeline_has_it(path: Path) -> None:
    """A leader that was killed had been heard of shortly before, and not after."""
    text = truth_at(path, "timeline.jsonl").read_text()
    steps = [json.loads(line) for line in text.splitlines()]
    kills = [
        (step["member"], int(step["monotonic"].replace(".", "")))
        for step in steps
        if step["action"] == "kill -9"
    ]
    for row in explained(path).leaderships:
        if row.ended_by != "process ended" or row.until_ns is None or row.until_latest_ns is None:
            continue
        if "hosts" in path.name:
            continue  # The timeline is of another clock than the logs.
        within = [
            at
            for member, at in kills
            if member == row.leader_member_id and row.until_ns - 10**7 <= at <= row.until_latest_ns
        ]
        assert within, row


@each("timeline.jsonl")
def test_a_leader_that_is_paused_for_too_long_does_not_lead_from_then_on(path: Path) -> None:
    """The pauses are those of the harness. The leader's own end comes only when it wakes."""
    text = truth_at(path, "timeline.jsonl").read_text()
    steps = [json.loads(line) for line in text.splitlines()]
    found = explained(path)
    for step in steps:
        if step["action"] != "pause (SIGSTOP)" or step.get("seconds", 0) < 1.5:
            continue
        if "hosts" in path.name:
            continue  # The timeline is of another clock than the logs.
        at = int(step["monotonic"].replace(".", ""))
        woken = at + round(step["seconds"] * 1e9)
        if any(
            row.leader_member_id == step["member"]
            and row.from_ns is not None
            and row.until_ns is not None
            and row.from_ns < at - 500_000_000
            and woken - 100_000_000 <= row.until_ns <= woken + 500_000_000
            for row in found.leaderships
        ):
            soon = at + 100_000_000
            gaps = [(gap.from_ns, gap.until_ns) for gap in found.gaps if gap.from_ns is not None]
            assert any(begin <= soon < end for begin, end in gaps), step


@each()
def test_every_sentence_names_lines_that_are_there(path: Path) -> None:
    found = explained(path)
    named = {line for sentence in sentences_of(found) for line in sentence.evidence}
    named |= {line for row in found.leaderships for line in row.evidence}
    lines = {name: _lines(path / name) for name in {line.file for line in named}}

    assert all(sentence.evidence for sentence in sentences_of(found))
    assert [line for line in named if not _is_there(lines[line.file], line)] == []


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", errors="replace") as file:
        return file.read().split("\n")


def _is_there(lines: list[str], line: Evidence) -> bool:
    text = lines[line.line - 1]
    stamp = f"[{line.time_ns // 10**9}.{line.time_ns % 10**9:09d}]"
    return stamp in text or not line.time_ns


@pytest.mark.parametrize("path", captures()[:3], ids=lambda path: path.name)
def test_lines_that_are_missing_make_no_leader_that_there_was_not(path: Path) -> None:
    """Whatever is missing, no sentence is without a line, and no leader is made up."""
    terms = {(row.leadership_term_id, row.leader_member_id) for row in explained(path).leaderships}
    logs = logs_of(path)
    chance = random.Random(path.name)
    for share in (0.02, 0.2, 0.6):
        kept = {
            member_id: replace(
                log, records=[record for record in log.records if chance.random() > share]
            )
            for member_id, log in logs.members.items()
        }
        found = explain(make_timeline(kept, logs.missing))
        named = {
            (row.leadership_term_id, row.leader_member_id)
            for row in found.leaderships
            if row.leader_member_id is not None
        }

        assert named <= terms
        assert all(sentence.evidence for sentence in sentences_of(found))


@each()
def test_a_leaders_own_line_may_be_missing(path: Path) -> None:
    """The lines of others show who led, and where none is exact the beginning is left open."""
    terms = {(row.leadership_term_id, row.leader_member_id) for row in explained(path).leaderships}
    logs = logs_of(path)
    kept = {
        member_id: replace(
            log, records=[record for record in log.records if not _closes_own(record, member_id)]
        )
        for member_id, log in logs.members.items()
    }
    found = explain(make_timeline(kept, logs.missing)).leaderships

    named = {(row.leadership_term_id, row.leader_member_id) for row in found}
    assert named <= terms  # After a disk was wiped, a term can have two leaders.
    assert dict(named).keys() == dict(terms).keys()
    assert not any(row.is_exact for row in found)


def _closes_own(record: LogRecord, member_id: int) -> bool:
    if not isinstance(record, ElectionStateChange) or record.new_state != "CLOSED":
        return False
    return record.leader_member_id == member_id


KNOWN = {
    "1.50.4-behind-700073": ("committed on too few disks", "HZ2"),
    "1.52.2-kills-244": ("committed on too few disks", "HZ6"),
    "1.52.2-wipe-241": ("two leaders in one term", ""),
    "1.52.2-wipe-251": ("lost disk", ""),
}
"""The entries known to have been at risk in captures."""


@pytest.mark.night
@pytest.mark.parametrize("path", RELEASES or [ABSENT], ids=lambda path: path.name)
def test_a_danger_is_named_where_there_was_one_and_nowhere_else(path: Path) -> None:
    dangers = {
        (risk.kind, risk.page) for risk in explained(path).risks if risk.severity == "danger"
    }

    assert (KNOWN[path.name] in dangers) if path.name in KNOWN else not dangers


def unsettled(path: Path) -> set[int]:
    """The members that had run for long where the harness gave up waiting for a settled cluster,
    and whose election did not close within a canvass timeout from then on, as their logs show.
    """
    canvass_s = beside(path).get(STARTUP_CANVASS, DEFAULTS[STARTUP_CANVASS]) / 1e9
    closed = {
        (member_id, record.time_ns / 1e9)
        for member_id, log in logs_of(path).members.items()
        for record in log.records
        if isinstance(record, ElectionStateChange) and record.new_state == "CLOSED"
    }
    found, began = set[int](), dict[int, float]()
    for line in (path / "timeline.jsonl").read_text().splitlines():
        step = json.loads(line)
        action, member = step["action"], step.get("member", -1)
        if action == "start":
            began[member] = float(step["monotonic"])
        elif action in ("kill -9", "exited", "exited by itself"):
            began.pop(member, None)
        elif action == "no settled cluster":
            now = float(step["monotonic"])
            states = dict(enumerate(step["states"]))
            states |= {k: "CLOSED" for k, at in closed if now < at < now + canvass_s}
            found |= {
                k for k, at in began.items() if states[k] != "CLOSED" and now - at > 3 * canvass_s
            }
    return found


@pytest.mark.night
@NIGHT
def test_a_member_that_did_not_settle_is_stuck(path: Path) -> None:
    logs = logs_of(path)
    found = explain(make_timeline(logs.members, logs.missing, beside(path)))

    assert unsettled(path) <= {one.member_id for one in found.stuck}


@pytest.mark.night
def test_what_is_known_to_have_been_stuck_is_among_the_captures() -> None:
    known = {path.name: path for path in more_captures()}
    if not known:
        pytest.skip("the captures are not on this machine")
    stuck = explained(known["1.52.2-chaos-100"]).stuck

    assert unsettled(known["1.52.2-wipe-241"]) == {0}
    assert (1, "start") in {(one.member_id, one.kind) for one in stuck}
