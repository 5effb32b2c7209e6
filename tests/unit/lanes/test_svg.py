"""A diagram as SVG: nothing overlaps, and no text becomes markup."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from canvass.lanes.model import Diagram, Fate, LaneEvent, LaneMessage, Mark
from canvass.lanes.svg import SvgLanes

NAMESPACE = "{http://www.w3.org/2000/svg}"
ELEMENTS = {"svg", "path", "rect", "text", "g", "title", "circle"}
HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "]]>&lt;&#x3c;",
    "\x00\x1b[31m\u202e\ud800\uffff",
    "x" * 5_000,
    "字" * 300,
    "a b " * 500,
)


def arbitrary(seed: int) -> Diagram:
    """A diagram with many messages under way at once."""
    rng = random.Random(seed)
    count = rng.choice((1, 2, 3, 5, 9))
    events: list[LaneEvent] = []
    messages: list[LaneMessage] = []
    waiting: list[int] = []
    for number in range(60):
        lane = rng.randrange(count)
        mine = [k for k in waiting if messages[k].receiver == lane]
        if mine and rng.random() < 0.7:
            waiting.remove(mine[0])
            old = messages[mine[0]]
            messages[mine[0]] = LaneMessage(old.name, old.sender, lane, old.sent, number)
        for receiver in range(count):
            if receiver != lane and rng.random() < 0.4:
                fate = Fate.LOST if rng.random() < 0.2 else Fate.DELIVERED
                messages.append(LaneMessage("RequestVote", lane, receiver, number, fate=fate))
                if fate is Fate.DELIVERED:
                    waiting.append(len(messages) - 1)
            elif receiver != lane and rng.random() < 0.1:
                messages.append(LaneMessage("Vote", receiver, lane, None, number))
        changes = tuple("electionState: CANVASS → NOMINATE" for _ in range(rng.randrange(9)))
        mark = rng.choice((None, None, None, *Mark))
        skipped = rng.choice((0, 0, 4))
        events.append(
            LaneEvent(lane, "OnRequestVote", f"{lane}:{number}", "", (), changes, mark, "", skipped)
        )
    return Diagram(tuple(f"member {k}" for k in range(count)), tuple(events), tuple(messages), 7, 8)


def drawing(diagram: Diagram) -> ElementTree.Element:
    return ElementTree.fromstring(SvgLanes(diagram, "a picture").draw())


def boxes(svg: ElementTree.Element) -> list[tuple[float, float, float, float]]:
    found = []
    for rect in svg.iter(f"{NAMESPACE}rect"):
        x, y, width, height = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
        found.append((x, y, x + width, y + height))
    return found


def segments(svg: ElementTree.Element) -> Iterator[list[tuple[float, float, float, float]]]:
    """The straight parts of each arrow, left to right and top to bottom."""
    for path in svg.iter(f"{NAMESPACE}path"):
        if path.attrib["class"].startswith("arrow") and "H" in path.attrib["d"]:
            steps = re.findall(r"([MHV])([\d.]+)(?: ([\d.]+))?", path.attrib["d"])
            x = y = 0.0
            parts = []
            for command, first, second in steps:
                was = (x, y)
                x = float(first) if command in "MH" else x
                y = float(second) if command == "M" else float(first) if command == "V" else y
                if command != "M":
                    parts.append((min(was[0], x), min(was[1], y), max(was[0], x), max(was[1], y)))
            yield parts


@pytest.mark.parametrize("seed", range(12))
def test_boxes_do_not_overlap_and_no_arrow_crosses_one(seed: int) -> None:
    svg = drawing(arbitrary(seed))
    width, height = float(svg.attrib["width"]), float(svg.attrib["height"])
    all_boxes = boxes(svg)

    for number, (x0, y0, x1, y1) in enumerate(all_boxes):
        assert x0 >= 0
        assert y0 >= 0
        assert x1 <= width
        assert y1 <= height
        for u0, v0, u1, v1 in all_boxes[:number]:
            assert x1 <= u0 or u1 <= x0 or y1 <= v0 or v1 <= y0
    for parts in segments(svg):
        for a0, b0, a1, b1 in parts:
            assert not any(
                a1 > x0 + 0.2 and a0 < x1 - 0.2 and b1 > y0 + 0.2 and b0 < y1 - 0.2
                for x0, y0, x1, y1 in all_boxes
            )


@pytest.mark.parametrize("seed", range(12))
def test_no_two_arrows_share_a_track(seed: int) -> None:
    upright = [
        part for parts in segments(drawing(arbitrary(seed))) for part in parts if part[0] == part[2]
    ]

    for number, (x, top, _, bottom) in enumerate(upright):
        for other, above, _, below in upright[:number]:
            assert x != other or bottom < above or below < top


@pytest.mark.parametrize("seed", range(4))
def test_text_stays_in_its_box(seed: int) -> None:
    svg = drawing(arbitrary(seed))

    for group in svg.iter(f"{NAMESPACE}g"):
        rect = group.find(f"{NAMESPACE}rect")
        if rect is not None:
            right = float(rect.attrib["x"]) + float(rect.attrib["width"])
            bottom = float(rect.attrib["y"]) + float(rect.attrib["height"])
            for text in group.iter(f"{NAMESPACE}text"):
                assert float(text.attrib["x"]) + 7.3 * len(text.text or "") <= right
                assert float(text.attrib["y"]) < bottom


@pytest.mark.parametrize("payload", HOSTILE)
def test_no_text_becomes_markup(payload: str) -> None:
    diagram = Diagram(
        (payload, "b"),
        (
            LaneEvent(0, payload, payload, payload, (payload,), (payload,), Mark.ERROR, payload),
            LaneEvent(1, payload),
        ),
        (LaneMessage(payload, 0, 1, 0, 1, text=payload), LaneMessage(payload, 0, 1, 0)),
    )

    svg = ElementTree.fromstring(SvgLanes(diagram, payload).draw())

    assert {element.tag.removeprefix(NAMESPACE) for element in svg.iter()} <= ELEMENTS
    assert not any(name.startswith("on") for element in svg.iter() for name in element.attrib)
    assert all(text.isprintable() for text in svg.itertext() if text.strip("\n"))
    assert float(svg.attrib["height"]) < 2_000


def test_a_diverging_event_and_a_restart_are_recognised_by_sign_and_word() -> None:
    diagram = Diagram(
        ("a",),
        (
            LaneEvent(0, "OnVote", mark=Mark.DIVERGES, remark="no such vote"),
            LaneEvent(0, "Restart", mark=Mark.RESTART),
        ),
    )

    shown = [text for text in drawing(diagram).itertext() if text.strip()]

    assert "✖ OnVote" in shown
    assert "DIVERGES: no such vote" in shown
    assert "↻ Restart" in shown
