"""Long logs: they are read twice and aligned in segments, and what comes of them is the same."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from canvass.cluster.messages import Message
from canvass.traces.aeron_log.releases import releases_of
from canvass.traces.alignment.alignment import Alignment, align
from canvass.traces.alignment.run_events import RunWriter
from canvass.traces.alignment.send_windows import Windows
from support.aeron_runs import read_cluster, release_logs, write_logs
from support.aeron_simulated import options_of, simulate
from support.aeron_text import texts_of
from support.checked_runs import checked


def simulated(story: str, seed: int, steps: int, folder: Path) -> Path:
    """The logs of a simulated cluster of three members."""
    logs = simulate(options_of(story, seed, 3, steps))
    return write_logs(folder / "logs", texts_of(logs.lines))


def aligned(logs: Path, run: Path, lines: int) -> tuple[Alignment, str]:
    """The alignment of logs in segments of this many lines, and the verdict on its run."""
    cluster = read_cluster([logs], kept=lines)
    with closing(RunWriter(run)) as writer:
        found = align(cluster, writer.write, segment_lines=lines)
        count = found.rules.member_count
        writer.finish("run", releases_of(cluster), count)
    return found, checked(run).verdict.value


@pytest.mark.parametrize(
    ("story", "seed", "steps", "lines"),
    [
        ("calm", 1, 1_500, 100),
        ("kills", 6, 2_500, 200),
        *(
            pytest.param("everything-fails", seed, 30_000, 1_000, marks=pytest.mark.night)
            for seed in (5, 6, 7)
        ),
    ],
)
def test_a_log_is_explained_in_segments_as_well(
    story: str, seed: int, steps: int, lines: int, tmp_path: Path
) -> None:
    logs = simulated(story, seed, steps, tmp_path)
    whole, verdict = aligned(logs, tmp_path / "whole", 1_000_000)
    found, verdict_of_segments = aligned(logs, tmp_path / "segments", lines)

    assert verdict_of_segments == verdict
    assert not whole.gaps
    assert not whole.stopped
    assert not found.gaps
    assert not found.stopped
    assert not found.false_lines
    accounted = {i: counts.accounted for i, counts in whole.members.items()}
    assert {i: counts.accounted for i, counts in found.members.items()} == accounted


@pytest.mark.parametrize(
    "release", ["1.46.9-tail", pytest.param("1.47.7-kills", marks=pytest.mark.night)]
)
def test_a_captured_log_is_explained_in_segments_as_well(release: str, tmp_path: Path) -> None:
    logs = release_logs(release)
    whole, verdict = aligned(logs, tmp_path / "whole", 1_000_000)
    found, verdict_of_segments = aligned(logs, tmp_path / "segments", 250)

    assert verdict == verdict_of_segments == "CONFORMS"
    assert not found.gaps
    assert not found.stopped
    assert not found.false_lines
    accounted = {i: counts.accounted for i, counts in whole.members.items()}
    assert {i: counts.accounted for i, counts in found.members.items()} == accounted


def test_a_log_that_is_not_kept_says_the_same_beforehand(tmp_path: Path) -> None:
    logs = simulated("kills", 6, 1_500, tmp_path)
    whole, read_twice = read_cluster([logs]), read_cluster([logs], kept=50)

    for i, log in read_twice.members.items():
        assert len(log.records) < len(whole.members[i].records)
        assert list(log.every_record()) == whole.members[i].records
    assert read_twice.missing == whole.missing
    for i, log in whole.members.items():
        kinds = {type(record) for record in log.records}
        assert {type(record) for record in read_twice.members[i].records} == kinds


def test_a_false_line_after_many_segments_is_contradicted(tmp_path: Path) -> None:
    logs = simulated("calm", 1, 2_500, tmp_path)
    path = logs / "member-1.log"
    lines = path.read_text().splitlines()
    place = next(k for k in range(len(lines) - 100, 0, -1) if "APPEND_POSITION" in lines[k])
    lines[place] = lines[place].replace("leadershipTermId=0", "leadershipTermId=7")
    path.write_text("\n".join(lines) + "\n")
    found, verdict = aligned(logs, tmp_path / "run", 200)

    # What comes first in a channel there may have been sent before: the outcome is INCOMPLETE then.
    named = {(one.member_id, one.line) for one in (*found.false_lines, *found.stopped)}
    assert (1, place + 1) in named
    assert {(one.member_id, one.line) for one in found.false_lines} <= {(1, place + 1)}
    assert verdict == "DIVERGES"


@pytest.mark.parametrize("offset", [-4, -1, 0, 1, 5])
def test_a_false_line_at_the_border_of_segments_is_named(offset: int, tmp_path: Path) -> None:
    logs = simulated("calm", 1, 2_000, tmp_path)
    path = logs / "member-1.log"
    lines = path.read_text().splitlines()
    place = next(k for k in range(200 + offset, len(lines)) if "_POSITION" in lines[k])
    lines[place] = lines[place].replace("leadershipTermId=0", "leadershipTermId=7")
    path.write_text("\n".join(lines) + "\n")
    found, _ = aligned(logs, tmp_path / "run", 100)

    # What comes first in a channel there may have been sent before: the outcome is INCOMPLETE then.
    named = {(one.member_id, one.line) for one in (*found.false_lines, *found.stopped)}
    assert (1, place + 1) in named
    assert {(one.member_id, one.line) for one in found.false_lines} <= {(1, place + 1)}


def test_a_receipt_without_a_place_is_looked_for_in_its_process_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A segment may begin with a mark of an ended process that has no steps in the segment."""
    asked = 0
    before = Windows.sends_after

    def counted(self: Windows, t: int, to: int, m: Message) -> bool:
        nonlocal asked
        asked += 1
        return before(self, t, to, m)

    monkeypatch.setattr(Windows, "sends_after", counted)
    logs = simulated("calm", 1, 5_000, tmp_path)
    aligned(logs, tmp_path / "run", 1500)
    lines = sum(len(path.read_text().splitlines()) for path in logs.iterdir())

    assert asked < 20 * lines
