"""The picture of the distances over a run: the places of its marks."""

from __future__ import annotations

from xml.etree import ElementTree

from msgspec.structs import replace

from canvass.cli.distance import curve
from canvass.distance.report import MomentReport

SVG = "{http://www.w3.org/2000/svg}"


def moment(seconds: float, steps: int | None, counted_too_far: int = 0) -> MomentReport:
    return MomentReport(
        moment="event 1",
        event=1,
        time_ns=int(seconds * 1e9),
        steps=steps,
        faults={},
        searched=6,
        complete=True,
        states=1,
        seconds=0.1,
        positions=[0],
        under_way=0,
        repeats=0,
        counted_too_far=counted_too_far,
    )


def marks(text: str) -> list[tuple[str, float, float]]:
    return [
        (one.attrib["class"], float(one.attrib["cx"]), float(one.attrib["cy"]))
        for one in ElementTree.fromstring(text).iter(f"{SVG}circle")
    ]


def test_a_nearer_loss_has_a_lower_mark_and_time_runs_to_the_right() -> None:
    drawn = marks(curve([moment(0, None), moment(5, None, 96), moment(7, 4), moment(8, 0)], "t"))

    assert [kind for kind, _, _ in drawn] == ["far", "exposed", "near", "near"]
    assert [x for _, x, _ in drawn] == sorted({x for _, x, _ in drawn})
    heights = [y for _, _, y in drawn]
    assert heights[0] == heights[1] < heights[2] < heights[3]


def test_a_near_mark_has_its_time_and_the_title_is_text() -> None:
    text = curve([moment(8.125, 2)], "a < b")
    said = [one.text for one in ElementTree.fromstring(text).iter(f"{SVG}text")]

    assert "8.125 s" in said
    assert "a < b" in said
    assert "<script" not in text


def test_a_run_with_one_moment_at_its_start_is_drawn() -> None:
    assert len(marks(curve([moment(0, None)], "t"))) == 1


def test_a_stopped_search_has_its_mark_at_the_searched_depth() -> None:
    early, whole = moment(0, None), moment(1, None)
    drawn = marks(curve([replace(early, searched=2), whole], "t"))

    assert drawn[0][2] > drawn[1][2]
