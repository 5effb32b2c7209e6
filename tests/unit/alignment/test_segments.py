"""Long logs: they are read twice and aligned in segments, and what comes of them is the same."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from canvass.cluster.messages import Message
from canvass.traces.alignment.alignment import Alignment, align
from canvass.traces.alignment.run_events import RunWriter
from canvass.traces.alignment.windows import Windows
from canvass.traces.releases import releases_of
from support.aeron_cluster import AeronCluster
from support.aeron_runs import read_cluster, release_logs, write_logs
from support.aeron_text import line_of_1_52
from support.checked_runs import checked


def made_up(seed: int, seconds: int, folder: Path, *, faults: bool) -> Path:
    """The logs of a made-up cluster of three members."""
    cluster = AeronCluster(seed, 3, faults=faults)
    cluster.run(seconds * 1000)
    lines = {i: [line_of_1_52(one) for one in node.lines] for i, node in enumerate(cluster.nodes)}
    return write_logs(folder / "logs", lines)


def aligned(logs: Path, run: Path, lines: int) -> tuple[Alignment, str]:
    """The alignment of logs in segments of this many lines, and the verdict on its run."""
    cluster = read_cluster([logs], kept=lines)
    with closing(RunWriter(run)) as writer:
        found = align(cluster, writer.write, segment_lines=lines)
        count = found.rules.member_count
        writer.finish("run", releases_of(cluster), count)
    return found, checked(run).verdict.value


@pytest.mark.parametrize(
    ("seed", "seconds", "lines", "faults"),
    [
        (1, 6, 200, False),
        (6, 15, 300, True),
        pytest.param(5, 200, 1000, True, marks=pytest.mark.night),
        pytest.param(6, 200, 1000, True, marks=pytest.mark.night),
        pytest.param(7, 200, 1000, True, marks=pytest.mark.night),
    ],
)
def test_a_log_is_explained_in_segments_as_well(
    seed: int, seconds: int, lines: int, faults: bool, tmp_path: Path
) -> None:
    logs = made_up(seed, seconds, tmp_path, faults=faults)
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


@pytest.mark.parametrize("release", ["1.46.9-tail", "1.47.7-kills"])
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
    logs = made_up(6, 8, tmp_path, faults=True)
    whole, read_twice = read_cluster([logs]), read_cluster([logs], kept=50)

    for i, log in read_twice.members.items():
        assert len(log.records) < len(whole.members[i].records)
        assert list(log.every_record()) == whole.members[i].records
    assert read_twice.missing == whole.missing
    for i, log in whole.members.items():
        kinds = {type(record) for record in log.records}
        assert {type(record) for record in read_twice.members[i].records} == kinds


def test_a_false_line_after_many_segments_is_contradicted(tmp_path: Path) -> None:
    logs = made_up(1, 8, tmp_path, faults=False)
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
    logs = made_up(1, 4, tmp_path, faults=False)
    path = logs / "member-1.log"
    lines = path.read_text().splitlines()
    place = next(k for k in range(400 + offset, len(lines)) if "_POSITION" in lines[k])
    lines[place] = lines[place].replace("leadershipTermId=0", "leadershipTermId=7")
    path.write_text("\n".join(lines) + "\n")
    found, _ = aligned(logs, tmp_path / "run", 200)

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
    logs = made_up(1, 20, tmp_path, faults=False)
    aligned(logs, tmp_path / "run", 1500)
    lines = sum(len(path.read_text().splitlines()) for path in logs.iterdir())

    assert asked < 20 * lines
