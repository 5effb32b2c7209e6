"""Logs that cannot be read while they are followed: the others are, and the picture shows it."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from canvass.explanation import picture as picture_module
from canvass.explanation.followed_logs import FollowedLogs
from canvass.explanation.metrics import render
from canvass.explanation.picture import News, Picture
from canvass.traces.aeron_log.errors import AeronLogError
from canvass.traces.limits import MAX_LINE_BYTES
from support.aeron_story import StoryLog, lead, write_story

ENDLESS = b"\x80" * (MAX_LINE_BYTES + 1)
"""Bytes that are no text, without a line end."""


class Following:
    """The logs of a leader and two followers, with their picture."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stories = [StoryLog(member_id) for member_id in range(3)]
        lead(self.stories[0], self.stories[1:], 100.0, 103.0)
        write_story(folder, self.stories)
        self.logs = FollowedLogs(folder)
        self.picture = Picture()

    def path(self, member_id: int) -> Path:
        return self.folder / f"member-{member_id}.log"

    def read(self) -> list[News]:
        """Read all that is there, and update the picture."""
        at_end = False
        while not at_end:
            found, at_end = self.logs.read()
            self.picture.add(found)
        names = {member_id: log.names for member_id, log in self.logs.members.items()}
        return self.picture.update(names)

    def append(self, member_id: int, data: bytes) -> None:
        with self.path(member_id).open("ab") as file:
            file.write(data)

    def write(self, member_id: int, at: float, count: int = 1) -> bytes:
        """Lines of a member that appends session after session, as bytes."""
        story = StoryLog(member_id)
        for number in range(count):
            fields = f"leadershipTermId=0 sessionId={number} logPosition=96"
            story.event(at, "APPEND_SESSION_OPEN", f"{fields} timestamp=1 timeUnit=ms")
        return "".join(f"{line}\n" for line in story.lines).encode()

    def metrics(self) -> str:
        lines = {member_id: log.lines for member_id, log in self.logs.members.items()}
        return render(self.picture, lines, lines, 0.0, "", 0.0, self.logs.unread())

    def ended_by(self) -> list[str]:
        assert self.picture.explanation is not None
        return [row.ended_by for row in self.picture.explanation.leaderships]


@pytest.fixture
def following(tmp_path: Path) -> Iterator[Following]:
    with ExitStack() as stack:
        made = Following(tmp_path / "logs")
        stack.enter_context(made.logs)
        yield made


def becomes_endless(one: Following, path: Path) -> None:
    with path.open("ab") as file:
        file.write(ENDLESS)


def becomes_a_folder(one: Following, path: Path) -> None:
    path.unlink()
    path.mkdir()


def becomes_a_loop(one: Following, path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def becomes_foreign_text(one: Following, path: Path) -> None:
    path.write_text("some text\n" * 1_000)


def is_there_twice(one: Following, path: Path) -> None:
    text = path.read_text()
    path.write_text(text + text)


TWICE = "this header is there already: the log, or a part of it, is there twice"
FAULTS: dict[str, tuple[Callable[[Following, Path], None], str]] = {
    "bytes": (becomes_endless, ":{}: the line is longer than 1048576 bytes (LINE_TOO_LONG)"),
    "folder": (becomes_a_folder, ": not a regular file (UNREADABLE)"),
    "loop": (becomes_a_loop, ": Too many levels of symbolic links (UNREADABLE)"),
    "text": (
        becomes_foreign_text,
        ":1:1: no line is of the form `[seconds.nanoseconds] COMPONENT: EVENT ...` (NOT_A_LOG)",
    ),
    "copy": (is_there_twice, f":{{}}: {TWICE} (DUPLICATE_LOG)"),
}
"""How a log becomes unreadable, and the error without its file."""


@pytest.mark.parametrize("kind", FAULTS)
def test_the_other_logs_are_read_if_one_cannot_be_read(following: Following, kind: str) -> None:
    one, (fault, reason) = following, FAULTS[kind]
    one.read()
    line = one.logs.members[1].lines + 1
    fault(one, one.path(1))
    one.append(2, one.write(2, 104.0))
    before = one.logs.members[2].lines
    one.read()

    assert one.logs.members[2].lines == before + 1
    (error,) = one.logs.unread().values()
    assert str(error) == f"{one.path(1)}{reason.format(line)}"
    assert 'canvass_log_unread{member="0"} 0\ncanvass_log_unread{member="1"} 1\n' in one.metrics()
    assert one.ended_by() == ["log ends"]  # Member 0 leads.


@pytest.mark.parametrize("kind", FAULTS)
def test_a_log_is_read_on_in_the_file_that_takes_the_place_of_a_bad_one(
    following: Following, kind: str
) -> None:
    one, (fault, _) = following, FAULTS[kind]
    one.read()
    fault(one, one.path(1))
    one.read()
    before = one.logs.members[1].lines
    one.path(1).rename(one.folder / "member-1.log.1")
    one.path(1).write_bytes(b"")
    one.read()
    assert list(one.logs.unread()) == [1]  # No line of the file shows that it is a log.
    one.append(1, one.write(1, 110.0, 3))
    one.read()

    assert one.logs.unread() == {}
    log = one.logs.members[1]
    assert log.lines == before + 3
    rolled = kind not in ("folder", "loop")
    assert str(log.last_error).startswith(f"{one.path(1)}{'.1:' if rolled else ': '}")
    assert "canvass_log_unread" in one.metrics()
    assert 'canvass_log_unread{member="1"} 1' not in one.metrics()


@pytest.mark.parametrize("copied", [False, True])
def test_a_bad_file_is_not_read_again_when_logs_are_rolled(
    following: Following, copied: bool
) -> None:
    """Its copy is left out, too, if a tool copies and truncates it."""
    one = following
    becomes_endless(one, one.path(1))
    one.read()
    rolled = one.folder / "member-1.log.1"
    if copied:
        shutil.copy(one.path(1), rolled)
    else:
        one.path(1).rename(rolled)
    (one.folder / "member-1.log.2").write_bytes(one.write(1, 110.0))
    one.path(1).write_bytes(one.write(1, 111.0))
    before = one.logs.members[1].lines
    one.read()
    one.path(1).rename(one.folder / "member-1.log.3")
    one.path(1).write_bytes(one.write(1, 112.0))
    one.read()

    log = one.logs.members[1]
    assert log.lines == before + 3
    assert log.names == ["member-1.log.1", "member-1.log.2", "member-1.log.3", "member-1.log"]
    assert log.last_error is not None
    assert log.last_error.file == str(rolled)
    assert rolled.stat().st_ino in one.logs.bad_files
    assert one.path(1).stat().st_ino not in one.logs.bad_files


def test_a_file_that_can_be_opened_again_is_read(following: Following) -> None:
    one = following
    one.read()
    one.path(1).rename(one.folder / "member-1.log.1")
    one.path(1).symlink_to(one.path(1).name)
    one.read()
    assert list(one.logs.unread()) == [1]
    one.path(1).unlink()
    (one.folder / "elsewhere").write_bytes(one.write(1, 110.0, 2))
    one.path(1).symlink_to("elsewhere")
    before = one.logs.members[1].lines
    one.read()

    assert one.logs.unread() == {}
    assert one.logs.members[1].lines == before + 2
    assert one.path(1).stat().st_ino not in one.logs.bad_files


def test_the_command_ends_if_no_log_can_be_read(following: Following) -> None:
    one = following
    one.read()
    for member_id in range(3):
        becomes_endless(one, one.path(member_id))

    with pytest.raises(AeronLogError) as caught:
        one.read()
    said = str(caught.value)
    assert said.startswith(f"{one.path(0)}:")
    assert said.count("the line is longer than 1048576 bytes") == 3
    assert all(f"also {one.path(member_id)}:" in said for member_id in (1, 2))


def test_a_leader_whose_log_cannot_be_read_is_no_known_leader(following: Following) -> None:
    one = following
    one.read()
    assert "canvass_leader_member_id 0\n" in one.metrics()
    assert one.picture.lags() == {0: 0, 1: 0, 2: 0}
    becomes_endless(one, one.path(0))
    one.read()

    assert "canvass_leader_member_id -1\n" in one.metrics()
    assert one.ended_by() == ["unknown"]
    assert one.picture.lags() == {0: 0}  # The followers' logs have the leader's position only.


def test_the_time_without_a_leader_does_not_begin_where_its_log_could_not_be_read(
    following: Following,
) -> None:
    """It is 100 s until the next election; nobody knows how long the leader worked."""
    one = following
    becomes_endless(one, one.path(0))
    one.read()
    later = one.stories[1]
    later.election(204.0, "leader heartbeat timeout", (0, 96))
    ballot = "CANVASS NOMINATE CANDIDATE_BALLOT LEADER_LOG_REPLICATION LEADER_REPLAY LEADER_INIT"
    later.state(205.0, f"{ballot} LEADER_READY CLOSED", leader=1, term=1, log=(0, 96))
    write_story(one.folder, one.stories[1:])
    one.read()

    assert one.picture.explanation is not None
    assert [gap.from_ns for gap in one.picture.explanation.gaps][1:] == [None]
    assert one.picture.totals.without_leader_ns < 10**9
    assert one.picture.leadership is not None
    assert one.picture.leadership.leadership_term_id == 1


def test_a_leadership_does_not_last_again_when_old_lines_are_forgotten(
    following: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture_module, "MAX_RECORDS", 400)
    one = following
    becomes_endless(one, one.path(0))
    one.read()
    one.path(0).rename(one.folder / "member-0.log.1")
    one.path(0).write_bytes(one.write(0, 110.0, 1_000))
    for _ in range(3):
        one.read()

    assert one.picture.leadership is not None
    assert one.picture.leadership.ended_by == "unknown"


def elect(one: Following, *members: int) -> None:
    """These members begin an election, and write nothing for 100 s; member 2 writes on."""
    for member_id in members:
        one.stories[member_id].election(104.0, "leader heartbeat timeout", (0, 96))
    one.stories[2].committed(204.0, 0, 0, 96)
    write_story(one.folder, [one.stories[member_id] for member_id in {*members, 2}])


def test_a_member_whose_log_cannot_be_read_is_not_silent(following: Following) -> None:
    one = following
    elect(one, 1)
    one.append(1, ENDLESS)
    news = one.read()

    assert [each for each in news if each.kind == "stuck"] == []


def test_a_member_stays_stuck_while_its_log_cannot_be_read(following: Following) -> None:
    one = following
    one.stories[1].election(104.0, "leader heartbeat timeout", (0, 96))
    one.stories[1].canvassed(204.0, 2, (0, 96))
    write_story(one.folder, one.stories)
    (stuck,) = [each for each in one.read() if each.kind == "stuck"]
    assert stuck.text.startswith("Member 1 was in CANVASS for 100.0 s, and its log ends there;")
    one.append(1, ENDLESS)

    assert [each for each in one.read() if each.kind == "stuck"] == []
    assert "canvass_stuck_members 1\n" in one.metrics()


def test_the_current_file_is_read_if_a_rolled_one_is_damaged(tmp_path: Path) -> None:
    leader, one = StoryLog(0), StoryLog(1)
    lead(leader, (one,), 100.0, 103.0)
    write_story(tmp_path, [leader, one])
    packed = gzip.compress((tmp_path / "member-1.log").read_bytes())
    (tmp_path / "member-1.log.1.gz").write_bytes(packed[:20] + bytes(100))
    (tmp_path / "member-1.log.2").write_text("")
    with FollowedLogs(tmp_path) as logs:
        while not logs.read()[1]:
            pass
        log = logs.members[1]

    assert (log.lines, logs.unread()) == (len(one.lines), {})
    assert log.last_error is not None
    assert str(log.last_error).startswith(
        f"{tmp_path}/member-1.log.1.gz: the compressed data is damaged: "
    )
    assert logs.bad_files == {(tmp_path / "member-1.log.1.gz").stat().st_ino}


def test_the_only_log_of_a_member_can_be_a_damaged_file(tmp_path: Path) -> None:
    leader, one = StoryLog(0), StoryLog(1)
    lead(leader, (one,), 100.0, 103.0)
    write_story(tmp_path, [leader])
    (tmp_path / "member-1.log.gz").write_bytes(b"no gzip")
    with FollowedLogs(tmp_path) as logs:
        while not logs.read()[1]:
            pass

    assert logs.members[0].lines == len(leader.lines)
    assert {member_id: error.code.value for member_id, error in logs.unread().items()} == {
        1: "COMPRESSED_DATA"
    }


def test_lines_that_cannot_be_read_are_counted(following: Following) -> None:
    one = following
    one.read()
    line = one.logs.members[1].lines + 1
    one.append(1, b"\x00\x01\n\x00\x02\n" + one.write(1, 104.0))
    one.read()

    log = one.logs.members[1]
    assert (log.unreadable, one.logs.unread()) == (2, {})
    assert log.damaged is not None
    assert (log.damaged.line, log.damaged.code) == (line + 1, "BINARY")
