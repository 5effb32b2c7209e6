"""Lanes of behaviours of a cluster: each message goes from its sending step to its receipt."""

from __future__ import annotations

from typing import Any

from canvass.lanes.diagram import Diagram, Fate, Mark
from canvass.lanes.drawing import cluster_diagram, field_changes

Tree = dict[str, Any]


def state(channel: dict[str, list[Tree]] | None = None, **members: int) -> Tree:
    """A cluster of members a, b and c; channels are named by sender and receiver."""
    queues: dict[str, dict[str, list[Tree]]] = {i: {j: [] for j in "abc"} for i in "abc"}
    for name, queue in (channel or {}).items():
        queues[name[0]][name[1]] = queue
    return {"member": {i: {"n": members.get(i, 0)} for i in "abc"}, "channel": queues}


def message(number: int) -> Tree:
    return {"type": "Vote", "number": number}


def drawn(states: list[Tree], actions: list[str], claim: str = "") -> Diagram:
    found = cluster_diagram(states, ["", *actions], claim)
    assert found is not None
    return found


def test_messages_arrive_in_the_order_in_which_they_were_sent() -> None:
    one, two = message(1), message(2)
    diagram = drawn(
        [
            state(),
            state({"ab": [one]}, a=1),
            state({"ab": [one, two]}, a=2),
            state({"ab": [two]}, a=2, b=1),
            state(a=2, b=2),
        ],
        ["RETakeSend", "Send", "TakeOnVote(1, 2)", "TETakeOnVote"],
    )

    assert diagram.lanes == ("member a", "member b", "member c")
    assert [event.lane for event in diagram.events] == [0, 0, 1, 1]
    assert [event.title for event in diagram.events] == ["Send", "Send", "OnVote(1, 2)", "OnVote"]
    assert diagram.events[2].changes == ("n: 0 → 1",)
    assert [(one.text, one.sent, one.received, one.fate) for one in diagram.messages] == [
        ("number=1", 0, 2, Fate.DELIVERED),
        ("number=2", 1, 3, Fate.DELIVERED),
    ]


def test_a_message_that_is_lost_arrives_nowhere() -> None:
    diagram = drawn([state(), state({"ac": [message(1)]}, a=1), state(a=1)], ["Send", "Lose"])

    assert [(one.sent, one.received, one.fate) for one in diagram.messages] == [
        (0, None, Fate.LOST)
    ]
    assert diagram.events[1].lane == 2


def test_messages_before_an_arriving_one_are_lost() -> None:
    queued = [message(1), message(2), message(3)]
    diagram = drawn([state({"ab": queued}), state({"ab": queued[2:]}, b=1)], ["TakeOnVote"])

    assert [(one.text, one.received, one.fate) for one in diagram.messages] == [
        ("number=2", 0, Fate.DELIVERED),
        ("number=1", None, Fate.LOST),
    ]
    assert diagram.events[0].lane == 1
    assert diagram.events[0].aside == ("Vote of member a is lost",)


def test_a_restart_loses_messages_under_way_to_the_member() -> None:
    queued = [message(1), message(2)]
    diagram = drawn(
        [state(), state({"ab": queued}, a=1), state(a=1, b=1)], ["Send", "RestartMember(b)"]
    )

    assert [one.fate for one in diagram.messages] == [Fate.LOST, Fate.LOST]
    assert diagram.events[1].lane == 1
    assert diagram.events[1].mark is Mark.RESTART


def test_a_restart_receives_nothing_if_one_message_was_under_way() -> None:
    diagram = drawn(
        [state(), state({"ab": [message(1)]}, a=1), state(a=1, b=1)], ["Send", "RestartMember(b)"]
    )

    assert [(one.received, one.fate) for one in diagram.messages] == [(None, Fate.LOST)]


def test_an_answer_is_sent_in_the_step_that_receives_the_question() -> None:
    diagram = drawn(
        [
            state(),
            state({"ab": [message(1)]}, a=1),
            state({"ba": [message(2)]}, a=1, b=1),
        ],
        ["Send", "OnVote"],
    )

    assert [(one.sender, one.receiver, one.sent, one.received) for one in diagram.messages] == [
        (0, 1, 0, 1),
        (1, 0, 1, None),
    ]


def test_a_message_under_way_at_the_start_has_no_sending_event() -> None:
    diagram = drawn([state({"cb": [message(1)]}), state(b=1)], ["OnVote"])

    assert [(one.sent, one.received) for one in diagram.messages] == [(None, 0)]


def test_the_last_step_violates_the_property() -> None:
    diagram = drawn([state(), state(a=1), state(a=2)], ["Step", "Step"], "Safe is violated")

    assert [event.mark for event in diagram.events] == [None, Mark.DIVERGES]
    assert diagram.events[-1].remark == "violates Safe"


def test_behaviours_of_other_models_have_no_lanes() -> None:
    others: list[list[Tree]] = [
        [],
        [{"x": 1}],
        [{"member": 1, "channel": {}}],
        [{"member": {"a": 1}, "channel": {}}],
        [{"member": {"a": {}}, "channel": {"b": {}}}],
        [{"member": {"a": {}}, "channel": {"a": {"a": 1}}}],
        [state(), {**state(), "member": {"a": {}, "b": {}}}],
    ]
    for states in others:
        assert cluster_diagram(states, [""] * len(states)) is None


def test_a_place_is_written_as_in_a_run() -> None:
    """``members[0].vote`` everywhere; a dot stands before names only."""
    before = {"members": {"0": {"vote": -1}}, "sent": {"<<0, 1>>": 1}, "role": "FOLLOWER"}
    after = {"members": {"0": {"vote": 1}}, "sent": {"<<0, 1>>": 2}, "role": "LEADER"}

    assert [path for path, _, _ in field_changes(before, after)] == [
        "members[0].vote",
        "sent[<<0, 1>>]",
        "role",
    ]
