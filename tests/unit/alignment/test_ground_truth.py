"""Imports of captured logs, compared with the ground truth: the members' logs and recording logs,
the messages that they sent, and the entries that their services processed.
"""

from __future__ import annotations

import gzip
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from canvass.cluster.member import ElectionState
from canvass.traces.alignment.driven_member import DrivenMember
from support.aeron_runs import aligned, times_of, truth_of, with_truth

Fields: TypeAlias = dict[str, str]
Entry: TypeAlias = tuple[int, int, str, Fields]
"""Begin, end, kind and fields of an entry of a log."""
Sent: TypeAlias = tuple[int, int, str, str]
"""Sender, receiver, term and position of a message, or what it has of these."""

LOGS = pytest.mark.parametrize("path", with_truth("log-content-0.txt.gz"), ids=lambda p: p.name)
SENDS = pytest.mark.parametrize("path", with_truth("sends-0.log.gz"), ids=lambda p: p.name)


def entries_of(path: Path, member_id: int) -> list[Entry]:
    """The log that was found in a member's archive afterwards."""
    entries = []
    with gzip.open(truth_of(path, f"log-content-{member_id}.txt.gz"), "rt") as file:
        for line in file:
            if line[:1].isdigit():
                begin, end, kind, *fields = line.split()
                named = dict(field.split("=", 1) for field in fields if "=" in field)
                entries.append((int(begin), int(end), kind, named))
    return entries


def opened_terms(live: DrivenMember) -> Iterator[tuple[int, int, int, int]]:
    """Term, leader, and begin and end of the first entry of each term that a member has opened."""
    before = live.windows.trajectory.before
    for step in live.emitted:
        s = step.state
        if step.action == "LeaderReady" and s.election_state is ElectionState.CLOSED:
            entry = (before.publication_position, s.publication_position)
            yield s.module_leadership_term_id, live.member_id, *entry
        before = s


@LOGS
def test_the_terms_that_leaders_opened_are_those_in_every_log(path: Path) -> None:
    """Term, leader, and where the term's first entry lies, to the byte."""
    members = aligned(path).members
    inferred = {term for live in members.values() for term in opened_terms(live)}
    for member_id in members:
        written = {
            (int(named["leadershipTermId"]), int(named["leaderMemberId"]), begin, end)
            for begin, end, kind, named in entries_of(path, member_id)
            if kind == "NewLeadershipTermEvent"
        }

        assert inferred == written


@LOGS
def test_what_is_recorded_at_last_is_what_the_archive_holds(path: Path) -> None:
    for member_id, live in aligned(path).members.items():
        _, end, _, _ = entries_of(path, member_id)[-1]

        assert end == live.emitted[-1].state.recorded_position


@LOGS
def test_every_inferred_position_is_an_end_of_an_entry(path: Path) -> None:
    """Positions of the log that a member has recorded at last are those of its archive."""
    for member_id, live in aligned(path).members.items():
        ends = {end for _, end, _, _ in entries_of(path, member_id)}
        last = live.emitted[-1].state
        processed = {
            step.state.commit_position
            for step in live.emitted
            if step.state.commit_position <= last.recorded_position
        } - {0}

        assert processed <= ends


@pytest.mark.parametrize("path", with_truth("recording-log-0.txt"), ids=lambda path: path.name)
def test_the_terms_of_the_recording_logs_are_those_inferred(path: Path) -> None:
    """An entry without a term's first event may be missing where the term was never opened."""
    for member_id, live in aligned(path).members.items():
        text = truth_of(path, f"recording-log-{member_id}.txt").read_text()
        written = {
            int(term): int(base)
            for term, base in re.findall(
                r"leadershipTermId=(\d+), termBaseLogPosition=(\d+)[^}]*type=TERM", text
            )
        }
        inferred = {
            entry.leadership_term_id: entry.term_base_log_position
            for entry in live.emitted[-1].state.recording_log
        }

        assert inferred.items() <= written.items()


# Services.

ROUNDING_NS = 5_000_000
"""A service and its module write their lines in threads of their own."""


def processed_by_service(path: Path, member_id: int) -> list[tuple[int, int]]:
    """When a service had processed what; its last words before it is ended are left out."""
    found = []
    with gzip.open(truth_of(path, f"service-{member_id}.log.gz"), "rt") as file:
        for line in file:
            match = re.match(r"\[(\d+)\.(\d{9})\] .*\bposition=(\d+)", line)
            if match and "TERMINATE" not in line:
                found.append((int(match[1] + match[2]), int(match[3])))
    return found


def committed_at_most(live: DrivenMember) -> list[int]:
    """How far a member knows the log to be committed after each step, in the life that it is of."""
    known: list[int] = []
    for step in live.emitted:
        s = step.state
        reported = (s.module_notified_commit_position, s.notified_commit_position)
        known.append(max(s.commit_position, *reported))
    return known


@pytest.mark.parametrize("path", with_truth("service-0.log.gz"), ids=lambda path: path.name)
def test_services_process_only_what_is_inferred_to_be_committed(path: Path) -> None:
    """But for one entry before a kill, of which the line was lost."""
    for member_id, live in aligned(path).members.items():
        known = committed_at_most(live)
        times = times_of(live)
        seen = processed_by_service(path, member_id)
        early = [
            position
            for time_ns, position in seen
            if position > known[bisect_right(times, time_ns + ROUNDING_NS) - 1]
        ]

        assert len(seen) > 100
        assert len(early) <= 1


# Sends.


def really_sent(path: Path, member_id: int) -> Counter[tuple[str, Sent]]:
    """The messages that a member really sent, by the name of the message."""
    sends: Counter[tuple[str, Sent]] = Counter()
    with gzip.open(truth_of(path, f"sends-{member_id}.log.gz"), "rt") as file:
        for line in file:
            match = re.search(r"SEND: (\w+): memberId=\d toMemberId=(\d) (.*)", line)
            if match:
                fields = dict(field.split("=", 1) for field in match[3].split() if "=" in field)
                term = fields.get("candidateTermId") or fields.get("leadershipTermId", "")
                name = "".join(word.capitalize() for word in match[1].split("_"))
                key = (member_id, int(match[2]), term, fields.get("logPosition", ""))
                sends[name, key] += 1
    return sends


def inferred_sends(live: DrivenMember) -> Counter[tuple[str, Sent]]:
    """The same of what is inferred."""
    sends: Counter[tuple[str, Sent]] = Counter()
    for step in live.emitted:
        for to, message in ((send.to, send.message) for send in step.outcome.sends):
            term = getattr(message, "candidate_term_id", getattr(message, "leadership_term_id", ""))
            position = getattr(message, "log_position", "")
            key = (live.member_id, to, str(term), str(position))
            sends[type(message).__name__, key] += 1
    return sends


def compared_sends(path: Path, names: tuple[str, ...] = ()) -> tuple[int, int, int]:
    """How many messages of some kinds were sent, are inferred, and are in both."""
    real: Counter[tuple[str, Sent]] = Counter()
    inferred: Counter[tuple[str, Sent]] = Counter()
    for member_id, live in aligned(path).members.items():
        real += really_sent(path, member_id)
        inferred += inferred_sends(live)
    if names:
        real, inferred = (
            Counter({key: count for key, count in one.items() if key[0] in names})
            for one in (real, inferred)
        )
    return real.total(), inferred.total(), (real & inferred).total()


@SENDS
def test_answers_are_exactly_those_really_given(path: Path) -> None:
    """Votes, ends of catch-ups and of the cluster: each one inferred was made, and no other."""
    kinds = ("Vote", "CatchupPosition", "StopCatchup", "TerminationPosition", "TerminationAck")
    real, inferred, common = compared_sends(path, kinds)

    assert real == inferred == common > 0


@SENDS
def test_no_ballot_or_report_is_inferred_that_was_not_made(path: Path) -> None:
    """Some that nobody received are not inferred."""
    real, inferred, common = compared_sends(path, ("RequestVote", "AppendPosition"))

    assert inferred == common
    assert common >= 0.97 * real


@SENDS
def test_almost_all_that_was_sent_is_inferred(path: Path) -> None:
    """More is inferred: in the spec a leader sends commit positions to those that are down, too."""
    real, inferred, common = compared_sends(path)

    assert common >= 0.98 * real
    assert common >= 0.87 * inferred
