"""``canvass explain --follow``: logs that grow, are rolled, truncated, or become unreadable."""

from __future__ import annotations

import gzip
import io
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from canvass.cli import explain as explaining
from canvass.cli.explain import ExitOn, Follower
from canvass.explanation.explanation import Changes, explain
from canvass.explanation.reading import read
from canvass.traces.aeron_log.source import AeronLogError
from canvass.traces.schema import MAX_LINE_BYTES
from support.aeron_runs import lines_of
from support.aeron_story import StoryLog, lead, write_story

ROOT = Path(__file__).parents[3]
LOSES = ROOT / "samples" / "aeron-hz6"
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "TICK_S", 0.0)


def stamp(line: str) -> float:
    return float(line[1 : line.index("]")]) if line.startswith("[") else 0.0


class Writing:
    """Writes the lines of a capture up to a time, and rolls the files."""

    def __init__(self, capture: Path, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        members = range(len(list(capture.glob("member-*.log.gz"))))
        self.lines = {i: lines_of(capture, i) for i in members}
        self.begin = min(stamp(line) for rows in self.lines.values() for line in rows)
        self.done = dict.fromkeys(self.lines, 0)
        self.rolled = 0

    def until(self, seconds: float) -> None:
        for i, rows in self.lines.items():
            at = self.done[i]
            while at < len(rows) and stamp(rows[at]) < self.begin + seconds:
                at += 1
            with (self.folder / f"member-{i}.log").open("a") as file:
                file.writelines(f"{line}\n" for line in rows[self.done[i] : at])
            self.done[i] = at

    def roll(self, how: str) -> None:
        """Rename each file; or copy and truncate it; or truncate it without a copy."""
        self.rolled += 1
        for i in self.lines:
            path = self.folder / f"member-{i}.log"
            if how == "rename":
                path.rename(self.folder / f"{path.name}.{self.rolled}")
            elif how == "copytruncate":
                shutil.copy(path, self.folder / f"{path.name}.{self.rolled}")
            path.write_text("") if how != "rename" else path.touch()


class Following:
    """A follower whose lines are kept."""

    def __init__(self, folder: Path, exit_on: ExitOn = ExitOn.NEVER) -> None:
        self.out = io.StringIO()
        console = Console(file=self.out, width=1000, soft_wrap=True, markup=False)
        self.follower = Follower(folder, {}, exit_on, Changes(), console)

    def look(self) -> tuple[bool, list[str]]:
        """Look once; give whether that ends the command, and the lines that it printed."""
        begin = self.out.tell()
        ends = self.follower.look()
        return ends, self.out.getvalue()[begin:].splitlines()


@pytest.mark.parametrize("how", ["rename", "copytruncate"])
def test_what_is_said_of_logs_that_grow_is_what_is_said_of_the_whole(
    tmp_path: Path, how: str
) -> None:
    writing, one = Writing(LOSES, tmp_path / "logs"), Following(tmp_path / "logs")
    said: list[str] = []
    for seconds in range(5, 135, 10):
        writing.until(seconds)
        said += one.look()[1]
        if seconds in (45, 85):
            writing.roll(how)
    found = list(Changes().of(explain(read(tmp_path / "logs"))))
    words = " ".join(said)

    for change in found:
        # What lasts is said when it begins, with what is known then.
        begin = str(change).partition(" in " if change.kind == "stuck" else " [")[0]
        if change.severity != "note" or change.kind == "election":
            assert begin.partition("loops: ")[0] in words
    assert sum(line.startswith("danger: HZ6, ") for line in said) == 1
    new = [line for line in said if line.startswith(("danger: ", "warning: ", "note: "))]
    assert len({*new}) == len(new)


def test_the_last_of_several_clusters_in_one_log_is_followed(tmp_path: Path) -> None:
    name = "ClusterBackupTest.shouldBackupClusterAndJoinLive.log"
    packed = ROOT / "tests" / "captures" / "system" / f"{name}.gz"
    lines = gzip.decompress(packed.read_bytes()).splitlines(keepends=True)
    log, one = tmp_path / name, Following(tmp_path / name)
    log.write_bytes(b"".join(lines[:440]))
    _, first = one.look()
    log.write_bytes(b"".join(lines))
    _, second = one.look()

    assert not any(line.startswith("note: ") for line in first)
    assert second[0].startswith("note: 1 cluster ran before in this log")
    assert any("1 member" in line for line in second)
    assert one.look()[1] == []


def test_lines_that_are_rotated_away_end_nothing(tmp_path: Path) -> None:
    """The last danger was said; nothing says that it is over, and no leader is made up."""
    writing, one = Writing(LOSES, tmp_path / "logs"), Following(tmp_path / "logs")
    writing.until(102)
    assert any("committed on too few disks" in line for line in one.look()[1])
    writing.roll("truncate")
    assert one.look() == (False, [])
    writing.until(125)
    _, said = one.look()

    assert not [line for line in said if "no longer" in line or line.startswith("danger")]


def test_a_divergence_ends_the_command_where_the_log_diverges(tmp_path: Path) -> None:
    """Member 0 truncates what was committed 95.1 s after the first line."""
    writing = Writing(LOSES, tmp_path / "logs")
    one = Following(tmp_path / "logs", ExitOn.DIVERGENCE)
    writing.until(60)
    ends, said = one.look()
    assert (ends, said[-1].partition(":")[2].split()[0]) == (False, "CONFORMS")
    writing.roll("rename")
    writing.until(200)
    ends, said = one.look()

    assert ends
    assert said[-1].startswith("verdict: DIVERGES: member 0: CommittedIsDurable: ")
    assert said[-1].endswith("[member-0.log:245]")


def _member_that_loops(folder: Path) -> Path:
    """A member that fails in its replay again and again while the others have a leader."""
    leader, one = StoryLog(0), StoryLog(1)
    lead(leader, (one,), 100.0, 130.0)
    two = StoryLog(2)
    two.begin(100.0)
    for at in range(101, 130, 3):
        two.state(at, "CANVASS FOLLOWER_REPLAY", leader=0, term=0)
        two.state(at + 1.0, "FOLLOWER_REPLAY CANVASS", leader=0, term=0, reason="incomplete")
    return write_story(folder, [leader, one, two])


def test_a_stuck_member_ends_the_command(command: Command, tmp_path: Path) -> None:
    code, _, err = command("explain", _member_that_loops(tmp_path / "logs"), "--exit-on", "stuck")

    assert code == 1
    assert "stuck: Member 2 loops: 10 times from FOLLOWER_REPLAY back to CANVASS" in err


ENDLESS = b"\x80" * (MAX_LINE_BYTES + 1)


def becomes_endless(path: Path) -> None:
    with path.open("ab") as file:
        file.write(ENDLESS)


def becomes_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def becomes_foreign_text(path: Path) -> None:
    path.write_text("some text\n" * 1_000)


def is_there_twice(path: Path) -> None:
    path.write_text(path.read_text() * 2)


FAULTS = [becomes_endless, becomes_a_folder, becomes_foreign_text, is_there_twice]


def story(folder: Path) -> Path:
    stories = [StoryLog(member_id) for member_id in range(3)]
    lead(stories[0], stories[1:], 100.0, 103.0)
    return write_story(folder, stories)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_log_that_cannot_be_read_is_named_once(
    tmp_path: Path, fault: Callable[[Path], None]
) -> None:
    """Nothing more is said then; at the first look, the fault ends the command."""
    one = Following(story(tmp_path / "logs"))
    one.look()
    path = tmp_path / "logs" / "member-0.log"
    kept = path.read_bytes()
    fault(path)
    ends, said = one.look()

    assert not ends
    assert [line.startswith(f"warning: the logs are not read: {path}") for line in said] == [True]
    assert one.look()[1] == []
    with pytest.raises(AeronLogError, match="member-0"):
        Following(tmp_path / "logs").look()
    if path.is_dir():
        path.rmdir()
    path.write_bytes(kept)
    assert one.look()[1] == ["note: the logs are read again"]


def test_a_log_that_comes_later_is_read(tmp_path: Path) -> None:
    folder = story(tmp_path / "logs")
    moved = (folder / "member-2.log").rename(tmp_path / "member-2.log")
    one = Following(folder)
    one.look()
    shutil.move(moved, folder / "member-2.log")

    assert one.look()[0] is False
    assert sorted(read(folder).members) == [0, 1, 2]


def test_the_command_ends_by_itself_in_a_process_of_its_own(tmp_path: Path) -> None:
    writing = Writing(LOSES, tmp_path / "logs")
    writing.until(30)
    words = ["explain", str(tmp_path / "logs"), "--follow", "--exit-on", "danger"]
    with subprocess.Popen(
        [sys.executable, "-m", "canvass.cli.main", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        writing.until(125)
        _, err = process.communicate(timeout=120)

    assert process.returncode == 1
    assert first.startswith("3 members, 3 logs")
    assert err.startswith(("canvass: danger: HZ", "canvass: verdict: DIVERGES"))
