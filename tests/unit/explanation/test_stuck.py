"""Members that do not get on: the silent ones, and the timeouts against which they are measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.explanation.reading import read
from canvass.explanation.report import Explanation, explain
from canvass.traces.timeouts import SettingFault
from support.aeron_story import StoryLog, lead, write_story

LOG = (0, 96)
TWO_SECONDS = '{"properties": {"aeron.cluster.leader.heartbeat.timeout": "2s"}}'


def explained(folder: Path, *logs: StoryLog) -> Explanation:
    timeline, states, _ = read(write_story(folder, logs), infer=False)
    return explain(timeline, states)


def isolated(silent_s: float) -> tuple[StoryLog, StoryLog, StoryLog]:
    """Member 2 loses the others at 110 s and hears nobody; they go on for some time."""
    leader, one, two = StoryLog(0), StoryLog(1), StoryLog(2)
    lead(leader, (one, two), 100.0, 110.5 + silent_s)
    two.lines = [line for line in two.lines if line < "[100.5"]
    two.election(110.5, "leader heartbeat timeout", LOG)
    return leader, one, two


def test_a_member_that_hears_nobody_is_stuck_while_the_others_go_on(tmp_path: Path) -> None:
    [stuck] = explained(tmp_path, *isolated(60)).stuck

    assert (stuck.member_id, stuck.kind, stuck.state, stuck.until_ns) == (
        2, "silent", "CANVASS", None,
    )  # fmt: skip
    assert "wrote no line in CANVASS for 59" in stuck.sentences[0].text
    assert "it heard nobody, or its process had ended" in stuck.sentences[0].text
    assert {line.file for line in stuck.sentences[0].evidence} > {"member-2.log"}


def test_a_member_is_not_stuck_within_its_timeout(tmp_path: Path) -> None:
    assert explained(tmp_path, *isolated(12)).stuck == ()


def test_a_silent_member_was_stuck_until_its_next_process(tmp_path: Path) -> None:
    leader, one, two = isolated(60)
    two.start(150.0)
    [stuck] = explained(tmp_path, leader, one, two).stuck

    assert (stuck.kind, stuck.until_ns) == ("silent", 150_000_000_000)
    assert "until its next process started" in stuck.sentences[0].text


def test_timeouts_beside_the_logs_are_those_of_the_cluster(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(TWO_SECONDS)
    found = explained(tmp_path, *isolated(12))

    heartbeat = next(one for one in found.timeouts if one.setting.endswith("heartbeat.timeout"))
    assert (heartbeat.value_ns, heartbeat.source) == (2_000_000_000, "given")
    assert [one.member_id for one in found.stuck] == [2]


def test_a_timeout_beside_the_logs_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(TWO_SECONDS.replace("2s", "soon"))

    with pytest.raises(SettingFault, match="'soon' is no duration"):
        explained(tmp_path, *isolated(12))
