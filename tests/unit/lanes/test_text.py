"""A diagram in a terminal."""

from __future__ import annotations

import pytest

from canvass.lanes.diagram import MIN_WIDTH, Diagram, Fate, LaneEvent, LaneMessage, Mark, TextLanes

VOTE = Diagram(
    lanes=("member 0", "member 1", "member 2"),
    events=(
        LaneEvent(0, "CandidateBallot", "0:7", given="timeout", changes=("role: A → B",)),
        LaneEvent(2, "OnRequestVote", "2:5", mark=Mark.DIVERGES, remark="not so"),
        LaneEvent(1, "Restart", "1:9", mark=Mark.RESTART, skipped=3),
        LaneEvent(0, "OnVote", "0:8"),
    ),
    messages=(
        LaneMessage("RequestVote", 0, 1, sent=0, fate=Fate.LOST),
        LaneMessage("RequestVote", 0, 2, sent=0, received=1, text="candidateTermId=1"),
        LaneMessage("Vote", 2, 0, received=3, fate=Fate.UNSENT),
    ),
    before=1,
    after=1_200,
)
DRAWN = """\
member 0                      member 1                      member 2
⋮ 1 event before, not shown
● 7 CandidateBallot           │                             │
│   given timeout             │                             │
│   → 1 RequestVote, never    │                             │
│     received                │                             │
│   → 2 RequestVote           │                             │
│   role: A → B               │                             │
├──────── RequestVote ────────┼─────────────────────────────▶
│                             │                             ✖ 5 OnRequestVote
│                             │                             │   DIVERGES: not so
│                             │                             │   ← candidateTermId=1
⋮ 3 events between, not shown
│                             ◆ 9 Restart                   │
│                             │   RESTART                   │
◀─────── Vote, not sent ──────┼─────────────────────────────┤
● 8 OnVote                    │                             │
⋮ 1,200 events after, not shown
"""


def drawn(diagram: Diagram, width: int) -> str:
    lines = TextLanes(diagram, width, contents=True).lines()
    return "".join("".join(text for text, _ in line) + "\n" for line in lines)


def test_lanes_are_columns_and_messages_arrows() -> None:
    assert drawn(VOTE, 90) == DRAWN


@pytest.mark.parametrize("width", [1, 60, 77, 200])
def test_no_line_is_wider_than_the_lanes(width: int) -> None:
    column = max(MIN_WIDTH, width // 3)

    assert max(map(len, drawn(VOTE, width).splitlines())) <= 3 * column


def test_unprintable_characters_are_escaped() -> None:
    hostile = "\x1b[31m\u202e\r\n\x00"
    diagram = Diagram(
        lanes=(hostile, "b"),
        events=(
            LaneEvent(0, hostile, hostile, given=hostile, changes=(hostile,), remark=hostile),
            LaneEvent(1, hostile, mark=Mark.GAP, remark=hostile, aside=(hostile,)),
        ),
        messages=(LaneMessage(hostile, 0, 1, sent=0, received=1, text=hostile),),
    )

    assert all(character.isprintable() or character == "\n" for character in drawn(diagram, 80))


def test_one_lane_and_no_lane_can_be_drawn() -> None:
    assert drawn(Diagram(("a",), (LaneEvent(0, "Restart", "0:0"),)), 80) == "a\n● 0 Restart\n"
    assert drawn(Diagram((), ()), 80) == "\n"
