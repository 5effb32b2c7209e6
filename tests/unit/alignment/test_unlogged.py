"""Messages that no line shows: where their contents and their places come from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from canvass.cluster.core import step
from canvass.cluster.effects import Outcome
from canvass.cluster.member import ElectionState, Input, Member, ModuleState, Role
from canvass.cluster.messages import NULL_VALUE, AppendPosition, CanvassPosition, CommitPosition
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.event_types import Release
from canvass.traces.aeron_log.records import ElectionStateChange, Line, ProcessStart
from canvass.traces.alignment.channel_matching import Receipt
from canvass.traces.alignment.cluster_facts import ClusterFacts, cluster_facts
from canvass.traces.alignment.member_lines import MemberLines, wall_times, with_rare_events
from canvass.traces.alignment.possible_steps import Moves
from canvass.traces.alignment.printing import logged_lines
from canvass.traces.alignment.schedule import Channel
from support.aeron_runs import ALL_EVENTS

RULES = Rules(3)
PRODUCTION = replace(
    ALL_EVENTS,
    kinds=ALL_EVENTS.kinds
    - {records.CanvassPosition, records.AppendPosition, records.CommitPosition},
)
HIDDEN = PRODUCTION.silent_messages


def change(time_ns: int, new_state: str, **values: int) -> ElectionStateChange:
    known = dict.fromkeys(
        ("log_position", "log_leadership_term_id", "append_position", "catchup_join_position"), 0
    )
    known |= {"leader_member_id": NULL_VALUE, "candidate_term_id": 0, "leadership_term_id": 0}
    names = ElectionStateChange.__struct_fields__
    given = {"file": 0, "line": 1, "time_ns": time_ns, "new_state": new_state, "old_state": "INIT"}
    all_values: dict[str, Any] = {**known, **given, **values}
    fields: dict[str, Any] = {name: all_values.get(name) for name in names}
    return ElectionStateChange(**fields)


def process(time_ns: int, wall_time_ms: int) -> ProcessStart:
    given: dict[str, Any] = {"time_ns": time_ns, "wall_time_ms": wall_time_ms}
    fields: dict[str, Any] = {name: given.get(name, 0) for name in ProcessStart.__struct_fields__}
    return ProcessStart(**fields)


def lines_of(i: int, found: list[Line]) -> MemberLines:
    nothing = [None] * len(found)
    return MemberLines(i, ("log",), found, list(nothing), PRODUCTION, times=wall_times(found))


def test_each_process_has_the_clock_of_its_header() -> None:
    found = [process(1_000_000, 5), change(3_000_000, "CANVASS"), process(0, 9)]

    assert wall_times(found) == [5_000_000, 7_000_000, 9_000_000]


def test_a_member_canvassed_last_before_a_line_is_received_first() -> None:
    sent = [CanvassPosition(0, position, 0, 1) for position in (0, 64, 128)]
    facts = ClusterFacts(canvasses={1: list(zip((10, 20, 30), (11, 21, 31), sent, strict=True))})
    moves = Moves(RULES, lines_of(0, [change(25, "NOMINATE")]), facts)

    assert moves._sent_by([1], 0) == [sent[1], sent[0], sent[2]]


def test_a_member_that_led_hears_those_who_follow_it_still() -> None:
    """A member that copies its log reports in an older term."""
    canvassed = CanvassPosition(0, 0, 0, 1)
    facts = ClusterFacts(
        canvasses={1: [(5, 8, canvassed)]},
        followers={(0, 1): {2: [(0, 9)]}, (0, 2): {1: [(0, 10)]}, (0, 3): {1: [(0, 10)]}},
    )
    moves = Moves(RULES, lines_of(0, [change(25, "NOMINATE")]), facts)
    canvassing = structs.replace(persistent_member(RULES), leadership_term_id=2)

    for committed, appended in ((64, 96), (96, 64)):
        s = structs.replace(canvassing, commit_position=committed, append_position=appended)
        reports = [AppendPosition(1, 64, 2, 0), AppendPosition(2, 64, 1, 0)]
        assert moves._sent_by([1, 2], 0, s) == [*reports, canvassed]
    assert moves._sent_by([1, 2], 0) == [canvassed]


def test_a_receipt_without_a_line_can_be_of_a_later_copy() -> None:
    m = CanvassPosition(0, 0, 0, 1)
    channel = Channel([Receipt(1, m, is_inferred=True), Receipt(2, m)])
    channel.send(1, m)
    channel.send(4, m)
    channel.unclaimed += [(2, m), (3, m), (5, m)]
    channel.take_last_copies()

    assert channel.sent == [(3, m), (4, m)]
    assert channel.unclaimed == [(1, m), (2, m), (5, m)]


def test_who_shows_a_position_first_has_reported_it_first() -> None:
    facts = ClusterFacts(followers={(2, 3): {0: [(64, 10), (128, 40)], 1: [(128, 30)]}})

    assert facts.likely_reporters(2, 3, 128) == [1, 0]
    assert facts.likely_reporters(2, 3, 64) == [0, 1]
    assert facts.likely_reporters(2, 4, 64) == []


@pytest.mark.parametrize(
    ("revision", "is_ready", "terms"),
    [("1.49", False, [-1, 0, 1]), ("1.49", True, [1, 0, -1]), ("1.50", False, [1])],
)
def test_a_leader_of_1_49_publishes_the_term_of_its_module_while_it_is_elected(
    revision: str, is_ready: bool, terms: list[int]
) -> None:
    """The term that it can have published comes first."""
    led = [process(0, 1), change(1, "LEADER_LOG_REPLICATION", leadership_term_id=1)]
    led += [change(2, "LEADER_READY", leadership_term_id=1)] if is_ready else []
    facts = cluster_facts({1: lines_of(1, led)})
    rules = Rules(3, revision)
    moves = Moves(rules, lines_of(0, []), facts)
    copying = structs.replace(
        persistent_member(rules),
        election_state=ElectionState.FOLLOWER_LOG_REPLICATION,
        leader_member_id=1,
        leadership_term_id=1,
        append_position=64,
        notified_commit_position=0,
    )

    received = [given.message for _, given in moves.receipts(copying, 0, HIDDEN, set(), set())]
    assert received == [CommitPosition(term, 64, 1) for term in terms]


def test_a_leader_can_count_a_canvass_position_that_reaches_its_own() -> None:
    reached = CanvassPosition(0, 64, 0, 1)
    behind = CanvassPosition(0, 32, 0, 2)
    facts = ClusterFacts(canvasses={1: [(1, 2, reached)], 2: [(1, 2, behind)]})
    moves = Moves(RULES, lines_of(0, []), facts)
    leading = structs.replace(
        persistent_member(RULES),
        election_state=ElectionState.LEADER_LOG_REPLICATION,
        role=Role.LEADER,
        append_position=64,
        leadership_term_id=1,
    )

    found = [given.message for _, given in moves._canvasses(leading, 0)]
    assert found == [reached]


def test_the_next_exact_receipt_of_a_kind_is_found_behind_bounds() -> None:
    bound = Receipt(1, CommitPosition(1, 64, 0), is_inferred=True, is_lower_bound=True)
    exact = Receipt(2, CommitPosition(1, 128, 0), is_inferred=True)
    channel = Channel([bound, exact])

    assert channel.pending(CommitPosition) is bound
    assert channel.pending(CommitPosition, exact=True) is exact


def nominated() -> tuple[Member, Outcome]:
    before = structs.replace(
        persistent_member(RULES),
        module_state=ModuleState.ACTIVE,
        election_state=ElectionState.NOMINATE,
        candidate_term_id=0,
        leadership_term_id=0,
        log_leadership_term_id=0,
        append_position=0,
    )
    outcome = step(RULES, 0, before, "Nominate", Input(timeout=True))
    assert outcome is not None
    return before, outcome


def test_events_that_no_log_has_are_silent_but_for_rare_ones() -> None:
    kinds = ALL_EVENTS.kinds - {records.CommitPosition, records.StopCatchup}
    vocabulary = with_rare_events(replace(ALL_EVENTS, kinds=kinds), ())

    assert vocabulary.silent_messages == {"CommitPosition"}
    assert not vocabulary.prints(records.CommitPosition)
    assert vocabulary.prints(records.StopCatchup)
    nothing = replace(ALL_EVENTS, kinds=frozenset())
    assert nothing.silent_messages >= {"Vote", "CommitPosition"}


def test_a_rare_event_is_disabled_if_a_member_got_where_it_leads_and_no_line_shows_it() -> None:
    kinds = ALL_EVENTS.kinds - {records.CatchupPosition, records.StopCatchup}
    printed = replace(ALL_EVENTS, kinds=kinds)
    vocabulary = with_rare_events(printed, {"FOLLOWER_CATCHUP", "CLOSED"})

    assert vocabulary.silent_messages == {"CatchupPosition"}
    assert with_rare_events(printed, {"CLOSED"}).silent_messages == frozenset()
    assert with_rare_events(ALL_EVENTS, {"FOLLOWER_CATCHUP"}) == ALL_EVENTS


@pytest.mark.parametrize(("first", "kinds"), [(False, 0), (True, 1)])
def test_before_1_45_the_change_of_the_state_stands_before_that_of_the_role(
    first: bool, kinds: int
) -> None:
    vocabulary = replace(ALL_EVENTS, oldest=Release(1, 44 if first else 45))
    before, outcome = nominated()
    found = [line.kind for line in logged_lines(vocabulary, "Nominate", before, outcome)]

    assert found[kinds] is records.RoleChange
    assert found[1 - kinds] is records.ElectionStateChange


@pytest.mark.parametrize("left", [ElectionState.FOLLOWER_REPLAY, ElectionState.INIT])
def test_before_1_45_a_change_to_canvass_shows_the_leader_that_the_member_had(
    left: ElectionState,
) -> None:
    """After an error in an election it goes on with INIT: the leader is known as before."""
    before = structs.replace(persistent_member(RULES), election_state=left, leader_member_id=2)
    outcome = Outcome(
        structs.replace(before, election_state=ElectionState.CANVASS, leader_member_id=NULL_VALUE)
    )
    for first, leader in ((False, NULL_VALUE), (True, 2)):
        vocabulary = replace(ALL_EVENTS, oldest=Release(1, 44 if first else 45))
        (line,) = logged_lines(vocabulary, "FollowerReplay", before, outcome)
        assert line.values["leader_member_id"] == leader
