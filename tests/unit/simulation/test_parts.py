"""The parts of the simulator: links, and the reasons why members wait."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from canvass.cluster.core import step
from canvass.cluster.member import ElectionState, Input, Member, Role
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.simulation.events import CONSENSUS, LOG, STREAMS, Events, Network
from canvass.simulation.faults import links_of
from canvass.simulation.options import CUT_KINDS, MUTE, Faults, Options
from canvass.simulation.simulator import reasons

RULES = Rules.of("hardened")


class Net(Events):
    """A network, with what has arrived of what was sent: the number of a message is its time."""

    def __init__(self, **faults: float) -> None:
        super().__init__(Options(1, faults=Faults(**faults)))  # type: ignore[arg-type]
        self.due: list[tuple[int, int]] = []
        self.net = Network(self)

    def schedule(self, at_ns: int, what: Callable[[], object]) -> None:
        self.due.append((at_ns, self.now_ns))

    def send(self, number: int, stream: str = CONSENSUS, i: int = 0, j: int = 1) -> bool:
        self.now_ns = number
        return self.net.send(i, j, stream, lambda: None)


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
