"""One clock for all records: reboots and changes of a host, and clocks of several hosts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from canvass.explanation.explanation import explain
from canvass.explanation.reading import read
from canvass.traces.alignment.importer import import_logs
from canvass.traces.errors import TraceError
from support.aeron_runs import SAMPLES
from support.aeron_story import StoryLog, lead, write_story


@pytest.mark.parametrize("start", [5, 500_005])
def test_on_another_clock_wall_clocks_say_what_time_has_passed(start: int, tmp_path: Path) -> None:
    """After a reboot, or on another host, stamps have another zero. Each line keeps its own."""
    log = StoryLog(0)
    lead(log, (), 100.0, 101.0)
    log.lines.append(f"[{start}.000000000] log started 2026-01-31 10:22:40.000+0000")
    log.election(start + 0.5, "node started", (0, 96))
    states = "CANVASS NOMINATE CANDIDATE_BALLOT LEADER_LOG_REPLICATION LEADER_REPLAY LEADER_INIT"
    log.state(start + 1.0, f"{states} LEADER_READY CLOSED", leader=0, term=1, log=(0, 96))
    timeline = read(write_story(tmp_path, [log]))
    found = explain(timeline)
    first, second = found.leaderships

    assert first.until_latest_ns == start * 10**9
    assert second.from_ns == (start + 1) * 10**9
    assert found.end_ns - found.begin_ns == 121_000_000_000
    assert second.evidence[0].time_ns == (start + 1) * 10**9


def test_a_clock_of_another_host_is_put_on_the_common_one(tmp_path: Path) -> None:
    """Messages show how the clocks stand to each other; a leadership has its leader's own time."""
    leader, one = StoryLog(0), StoryLog(1)
    lead(leader, (one,), 100.0, 103.0)
    one.lines = [_later(line, 5000) for line in one.lines]
    timeline = read(write_story(tmp_path, [leader, one]))
    found = explain(timeline)

    assert found.leaderships[0].from_ns == 100_300_000_000
    assert -5_001 * 10**9 < found.clock_offsets_ns[1] - found.clock_offsets_ns[0] < -4_999 * 10**9


def _later(line: str, seconds: int) -> str:
    stamp, rest = line[1:].split(".", 1)
    return f"[{int(stamp) + seconds}.{rest}"


@pytest.mark.parametrize("logs", SAMPLES, ids=lambda path: path.name)
def test_an_imported_run_has_the_ends_of_leaderships_that_the_logs_have(
    logs: Path, tmp_path: Path
) -> None:
    """No step of the spec is the line with which a member closes."""
    import_logs([logs], tmp_path / "run")
    of_logs, of_run = (explain(read(path)) for path in (logs, tmp_path / "run"))

    assert [row.ended_by for row in of_run.leaderships] == [
        row.ended_by for row in of_logs.leaderships
    ]
    last, closed = of_logs.leaderships[-1], of_run.leaderships[-1]
    assert (closed.ended_by, closed.until_ns) == ("process closed", last.until_ns)


@pytest.mark.parametrize("closed", [[1], {"x": []}, {"1": [{"reason": "closed"}]}])
def test_closings_that_are_none_are_an_error_of_the_run(closed: object, tmp_path: Path) -> None:
    import_logs([SAMPLES[1]], tmp_path / "run")
    about = tmp_path / "run" / "run.json"
    run = json.loads(about.read_text())
    run["source"]["closed"] = closed
    about.write_text(json.dumps(run))

    with pytest.raises(TraceError, match=r"run\.json: BAD_VALUE: (Expected|Object)"):
        read(tmp_path / "run")
