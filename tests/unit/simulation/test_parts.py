"""The parts of the simulator: logs, links, and the watch over safety."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from canvass.archive.memory import MemoryStorage
from canvass.archive.recording import Recording
from canvass.cluster.core import step
from canvass.cluster.effects import Send
from canvass.cluster.member import ElectionState, Input, Member, ModuleState, Role, TermEntry
from canvass.cluster.messages import Vote
from canvass.cluster.outcome import Outcome
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.conformance.safety_monitors import PROPERTIES as CHECKED_ON_TRACES
from canvass.log.entries import LOG_MESSAGES, TimerEvent
from canvass.simulation.faults import links_of
from canvass.simulation.healing import reasons
from canvass.simulation.log_contents import Entry, EntryLog
from canvass.simulation.network import CONSENSUS, LOG, STREAMS, Network
from canvass.simulation.options import CUT_KINDS, MUTE, Faults, Options
from canvass.simulation.safety_monitor import PROPERTIES, SafetyMonitor

RULES = Rules.of("hardened")


def log_of(*entries: tuple[int, int, int]) -> EntryLog:
    """A log of entries (end, term, content), whose checksums tell of all before them."""
    log = EntryLog()
    for end, term, content in entries:
        last = log.at(log.end)
        before = 0 if last is None else last.checksum
        log.append((Entry(end, term, hash((before, end, term, content))),))
    return log


def test_checksum_tells_logs_with_another_past_apart() -> None:
    one, other = log_of((32, 0, 1), (64, 0, 2)), log_of((32, 0, 9), (64, 0, 2))

    assert one.at(64) == log_of((32, 0, 1), (64, 0, 2)).at(64)
    assert one.at(64) != other.at(64)


def test_a_log_is_cut_before_the_entry_that_a_position_is_in_the_middle_of() -> None:
    log = log_of((32, 0, 1), (64, 0, 2), (96, 1, 3))
    log.cut(80)

    assert (log.end, len(log), log.at(96)) == (64, 2, None)


def recording(*events: tuple[int, int]) -> Recording:
    """A recording of timer events (term, id)."""
    made = Recording(MemoryStorage())
    for term, key in events:
        made.append(LOG_MESSAGES.encode(TimerEvent(term, key, 0)))
    return made


def test_a_log_follows_a_recording_that_was_cut_and_goes_on_otherwise() -> None:
    first, second = recording((0, 1), (0, 2), (0, 3)), recording((0, 1), (1, 9), (1, 8))
    log = EntryLog()
    log.follow(first, first.end)
    assert [entry.term for entry in log.between(0, log.end)] == [0, 0, 0]
    log.follow(second, second.end)

    assert [entry.term for entry in log.between(0, log.end)] == [0, 1, 1]
    assert log.between(0, log.end)[-1].checksum == second.checksum(second.end)


class Net:
    """A network, with what has arrived of what was sent."""

    def __init__(self, **faults: float) -> None:
        self.due: list[tuple[int, int]] = []
        self.counts: Counter[str] = Counter()
        self.net = Network(
            Options(1, faults=Faults(**faults)),  # type: ignore[arg-type]
            self.counts,
            lambda at_ns, _: self.due.append((at_ns, self.number)),
        )

    def send(self, number: int, stream: str = CONSENSUS, i: int = 0, j: int = 1) -> bool:
        self.number = number
        return self.net.send(number, i, j, stream, lambda: None)


def test_messages_of_a_channel_arrive_in_order_however_late() -> None:
    net = Net(delay_tail_probability=0.5)
    for number in range(50):
        net.send(number)

    assert net.due == sorted(net.due)
    assert net.counts["message late"] > 9


def test_what_is_no_consensus_message_may_arrive_once_more_and_later() -> None:
    net = Net(duplicate_probability=0.5)
    for number in range(40):
        net.send(number, (CONSENSUS, LOG)[number % 2])
    arrived = Counter(number for _, number in net.due)

    assert {arrived[number] for number in range(0, 40, 2)} == {1}
    assert {arrived[number] for number in range(1, 40, 2)} == {1, 2}
    assert net.counts["duplicate message"] == len(net.due) - 40
    due = reversed(net.due)
    firsts = [at_ns for _, at_ns in sorted({number: at_ns for at_ns, number in due}.items())[1::2]]
    assert firsts == sorted(firsts)


def test_channels_overtake_each_other() -> None:
    net = Net(delay_tail_probability=0.5)
    for number in range(50):
        net.send(number, (CONSENSUS, LOG)[number % 2])

    assert net.due != sorted(net.due)
    for odd in (0, 1):
        of_one = [one for one in net.due if one[1] % 2 == odd]
        assert of_one == sorted(of_one)


def test_a_cut_loses_one_direction_of_one_stream_until_it_is_mended() -> None:
    made = Net()
    net, links = made.net, ((0, 1, CONSENSUS),)
    net.cut(links)
    net.cut(links)

    assert not made.send(0)
    assert made.send(0, i=1, j=0)
    assert made.send(0, LOG)
    assert (net.works(0, 1, LOG), net.accepts(1, 0)) == (True, False)

    net.mend(links)
    assert not net.works(0, 1, CONSENSUS)
    net.mend(links)
    assert net.works(0, 1, CONSENSUS)


def test_nothing_is_dropped_once_the_faults_have_stopped() -> None:
    net = Net(drop_probability=1.0)
    assert not net.send(0)

    net.net.heal()
    assert net.send(1)


@pytest.mark.parametrize("kind", [*CUT_KINDS, MUTE])
def test_each_kind_of_cut_takes_links_of_known_streams(kind: str) -> None:
    rng = random.Random(1)
    drawn = {links_of(rng, kind, 3) for _ in range(60)}

    assert len(drawn) > 2
    assert all(i != j and stream in STREAMS for links in drawn for i, j, stream in links)
    one_way = all((j, i, stream) not in links for links in drawn for i, j, stream in links)
    assert one_way is (kind in ("one way", MUTE))


def test_a_member_that_is_mute_hears_all_others_and_is_heard_by_none() -> None:
    links = links_of(random.Random(2), MUTE, 4)
    (mute,) = {i for i, _, _ in links}

    assert {j for _, j, _ in links} == set(range(4)) - {mute}
    assert len(links) == 3 * len(STREAMS)


def begun() -> Member:
    outcome = step(RULES, 0, persistent_member(RULES), "Restart", Input())
    assert outcome is not None
    return outcome.next


class Watched:
    """Three members and their logs, all alike at first."""

    def __init__(self, *entries: tuple[int, int, int], revision: str = "1.50") -> None:
        self.logs = [log_of(*entries) for _ in range(3)]
        end = self.logs[0].end
        self.members = [replace(begun(), recorded_position=end) for _ in range(3)]
        self.watch = SafetyMonitor(
            Rules.of(revision), self.logs.__getitem__, EntryLog(), self.members
        )

    def take(self, i: int, action: str, *sends: Send, **changes: object) -> list[str]:
        """Let a member change; give the names of what that violates."""
        before = self.members[i]
        self.members[i] = replace(before, **changes)
        recorded = self.watch.step(i, action, before, Outcome(self.members[i], sends))
        return [name for name, _ in recorded]


def test_commit_of_what_a_quorum_has_is_safe() -> None:
    watched = Watched((32, 0, 1))

    assert watched.take(0, "ConsumeLog", commit_position=32) == []
    assert watched.watch.committed.end == 32


def test_commit_of_what_one_member_has_is_not_durable() -> None:
    watched = Watched((32, 0, 1))
    for log in watched.logs[1:]:
        log.cut(0)

    assert watched.take(0, "ConsumeLog", commit_position=32) == ["CommittedIsDurable"]


def test_commit_of_something_else_is_reported() -> None:
    watched = Watched((32, 0, 1))
    watched.take(0, "ConsumeLog", commit_position=32)
    watched.logs[1].cut(0)
    watched.logs[1].append((Entry(32, 0, 99),))

    assert watched.take(1, "ConsumeLog", commit_position=32) == ["StateMachineSafety"]


def test_an_entry_at_one_place_of_one_term_with_other_contents_is_reported() -> None:
    watched = Watched()
    for i, content in enumerate((1, 2)):
        watched.logs[i].append((Entry(32, 0, content),))
        recorded = watched.take(i, "RecordLog", recorded_position=32)

    assert recorded == ["LogMatching"]


def test_a_leader_without_what_older_terms_committed_is_reported() -> None:
    watched = Watched((32, 0, 1))
    watched.take(0, "ConsumeLog", commit_position=32)
    watched.logs[1].cut(0)
    closed = {
        "election_state": ElectionState.CLOSED,
        "role": Role.LEADER,
        "module_state": ModuleState.ACTIVE,
        "module_leadership_term_id": 1,
    }

    assert watched.take(1, "LeaderReady", **closed) == ["LeaderCompleteness"]


def test_two_leaders_of_a_term_are_reported() -> None:
    watched = Watched()
    leads = {
        "election_state": ElectionState.LEADER_LOG_REPLICATION,
        "leadership_term_id": 3,
    }

    assert watched.take(0, "CandidateBallot", **leads) == []
    assert watched.take(1, "CandidateBallot", **leads) == ["ElectionSafety"]


def test_two_votes_of_a_member_in_a_term_are_reported() -> None:
    watched = Watched()
    votes = [Send(j, Vote(1, 0, 0, j, 0, vote=True)) for j in (1, 2)]

    assert watched.take(0, "OnRequestVote", votes[0]) == []
    assert watched.take(0, "OnRequestVote", votes[1]) == ["OneVotePerTerm"]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"commit_position": 0}, "CommitMonotonic"),
        ({"recorded_position": 0}, "NoTruncationBelowCommit"),
        ({"commit_position": 64}, "CommitBounded"),
        ({"persisted_candidate_term_id": 1}, "CandidateTermMonotonic"),
        ({"recording_log": (TermEntry(1, 0, 0), TermEntry(0, 0, -1))}, "RecordingLogCoherent"),
    ],
)
def test_a_state_that_must_not_be_is_reported(changes: dict[str, object], name: str) -> None:
    watched = Watched((32, 0, 1))
    watched.take(0, "ConsumeLog", commit_position=32, persisted_candidate_term_id=2)

    assert name in watched.take(0, "OnVote", **changes)


def test_a_leader_of_149_may_lower_its_commit_position() -> None:
    for revision, found in (("1.49", []), ("1.50", ["CommitMonotonic"])):
        watched = Watched((32, 0, 1), revision=revision)
        watched.take(0, "ConsumeLog", commit_position=32, role=Role.LEADER)

        assert watched.take(0, "UpdateLeaderPosition", commit_position=0) == found


def test_a_disk_that_forgets_is_reported() -> None:
    watched = Watched((32, 0, 1))
    watched.take(0, "ConsumeLog", commit_position=32)
    last = replace(watched.members[1], persisted_candidate_term_id=2)
    assert watched.watch.restart(1, last, last) == []
    for log in watched.logs[1:]:
        log.cut(0)
    recorded = watched.watch.restart(1, last, replace(last, persisted_candidate_term_id=1))

    assert [name for name, _ in recorded] == ["CandidateTermMonotonic", "CommittedIsDurable"]


def test_the_properties_are_those_of_the_spec() -> None:
    spec = (Path(__file__).parents[3] / "spec" / "Properties.tla").read_text(encoding="utf-8")

    assert [name for name in sorted(PROPERTIES) if f"\n{name} ==" not in spec] == []
    assert set(CHECKED_ON_TRACES) > PROPERTIES


def test_each_property_is_found_once() -> None:
    watched = Watched((32, 0, 1))

    assert watched.take(0, "OnVote", commit_position=64) == ["CommitBounded"]
    assert watched.take(0, "OnVote", commit_position=96) == []


def test_a_member_that_waits_for_ever_is_reported_with_its_hazard() -> None:
    waits = replace(
        begun(),
        election_state=ElectionState.FOLLOWER_REPLAY,
        notified_commit_position=0,
        recorded_position=96,
    )
    deep = replace(begun(), commit_position=96, recorded_position=32)

    said = reasons([waits, deep, begun()], storm=True)
    assert said[0] == "no leader serves, in a storm of messages"
    assert ["(L-B)" in said[1], "(L-D)" in said[2], said[3].endswith("CANVASS")] == [True] * 3


def test_a_member_that_promised_a_higher_term_is_reported_apart_from_one_with_a_newer_log() -> None:
    leader = replace(
        begun(),
        election_state=ElectionState.CLOSED,
        role=Role.LEADER,
        module_leadership_term_id=2,
    )
    promised = replace(begun(), candidate_term_id=3)
    newer = replace(begun(), log_leadership_term_id=3)

    said = reasons([leader, promised, newer])
    assert said[0] == "a leader serves"
    assert ["serves as LEADER" in said[1], "HZ3" in said[2], "(L-C)" in said[3]] == [True] * 3
