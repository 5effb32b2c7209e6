"""``canvass watch``: a captured cluster that loses what was committed, written while it is watched.

Nothing waits here: lines are written, then the command's own poll reads them.
"""

from __future__ import annotations

import gzip
import io
import os
import shlex
import socket
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from canvass.cli import live_check, watch
from canvass.cli.live_check import Checked, LiveCheck
from canvass.cli.metrics_server import serve
from canvass.cli.watch import Display, ExitOn, Watch, poll
from canvass.explanation import followed_logs, picture
from canvass.explanation.followed_logs import FollowedLogs
from canvass.explanation.picture import Picture
from canvass.traces.aeron_log.logs import read_cluster
from canvass.traces.limits import MAX_LINE_BYTES
from support.aeron_runs import HOSTS, lines_of

ROOT = Path(__file__).parents[3]
LOSES = ROOT / "samples" / "aeron-hz6"
LOSES_FOR_EVER = ROOT / "samples" / "aeron-hz3"
KEEPS = ROOT / "samples" / "aeron" / "b-leader-killed"
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _at_the_priority_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_check, "NICE", 0)


def stamp(line: str) -> float:
    return float(line[1 : line.index("]")]) if line.startswith("[") else 0.0


class Writing:
    """Writes the lines of a capture up to a time, and rolls the files."""

    def __init__(self, capture: Path, folder: Path) -> None:
        self.folder = folder
        members = range(len(list(capture.glob("member-*.log.gz"))))
        self.lines = {i: lines_of(capture, i) for i in members}
        self.begin = min(
            stamp(line) for rows in self.lines.values() for line in rows if "[" in line
        )
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

    def roll(self) -> None:
        self.rolled += 1
        for i in self.lines:
            path = self.folder / f"member-{i}.log"
            path.rename(self.folder / f"{path.name}.{self.rolled}")


class Watching:
    """The command's state, polled by the test."""

    def __init__(self, folder: Path, exit_on: ExitOn, command: str | None) -> None:
        self.out = io.StringIO()
        self.logs = FollowedLogs(folder)
        self.state = Watch(self.logs, Picture(), LiveCheck(folder))
        self.display = Display(Console(file=self.out, width=1000, soft_wrap=True))
        self.exit_on, self.command = exit_on, command

    def poll(self) -> int | None:
        """Poll until all that is there has been read and shown."""
        while True:
            self.display.due_at = self.state.published_at = 0.0
            at_end, code = poll(self.state, self.display, self.exit_on, self.command)
            if at_end or code is not None:
                return code


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Callable[..., Watching]]:
    made: list[Watching] = []

    def make(exit_on: ExitOn = ExitOn.NEVER, command: str | None = None) -> Watching:
        made.append(Watching(tmp_path / "logs", exit_on, command))
        return made[-1]

    (tmp_path / "logs").mkdir()
    yield make
    for one in made:
        one.logs.__exit__()


def test_a_log_that_is_written_while_it_is_watched_ends_the_command_where_it_diverges(
    tmp_path: Path, watching: Callable[..., Watching]
) -> None:
    """Member 0 truncates what was committed 95.1 s after the first line: DIVERGES, exit code 1."""
    writing, said = Writing(LOSES, tmp_path / "logs"), tmp_path / "said"
    program = f"import os; open({str(said)!r}, 'a').write(os.environ['CANVASS_EVENT'] + '\\n')"
    command = f"{shlex.quote(sys.executable)} -c {shlex.quote(program)}"
    writing.until(20)
    one = watching(ExitOn.DIVERGENCE, command)
    server = serve(lambda: one.state.metrics, 0)

    def metrics() -> str:
        url = f"http://127.0.0.1:{server.server_address[1]}/metrics"
        with urllib.request.urlopen(url) as answer:
            return str(answer.read().decode())

    try:
        assert one.poll() is None
        assert "canvass_elections_total 1\n" in metrics()
        assert "canvass_verdict" not in metrics()
        writing.roll()
        writing.until(60)
        one.poll()
        assert one.state.checks.check().verdict == "CONFORMS"
        assert one.poll() is None
        assert 'canvass_verdict{verdict="CONFORMS"} 1\n' in metrics()
        assert not said.exists()
        writing.roll()
        writing.until(200)
        one.poll()
        assert one.state.checks.check().verdict == "DIVERGES"
        assert one.poll() == 1
    finally:
        server.shutdown()
        server.server_close()
    first, *others = said.read_text().splitlines()
    assert others == []
    assert first.startswith("verdict: DIVERGES: member 0 at [")
    assert "CommittedIsDurable" in first
    written = one.out.getvalue().splitlines()
    assert "verdict: CONFORMS" in written
    assert first in written
    whole = read_cluster([writing.folder]).members
    read = {member_id: log.lines for member_id, log in one.logs.members.items()}
    assert read == {member_id: len(log.records) for member_id, log in whole.items()}


def test_the_end_of_a_log_that_is_too_long_is_checked_alone(
    tmp_path: Path, watching: Callable[..., Watching], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more than so many bytes are read of one member, and a log without its beginning is
    incomplete. The revision is that of the release that the beginning names.
    """
    monkeypatch.setattr(live_check, "MAX_BYTES", 20_000)
    writing = Writing(KEEPS, tmp_path / "logs")
    writing.until(10)
    writing.roll()
    writing.until(100)
    one = watching()
    one.poll()
    given: dict[str, int] = {}
    before = LiveCheck._canvass

    def seen(self: LiveCheck, words: list[str], limit_s: float) -> tuple[int, bytes, str]:
        if words[0] == "import":
            given.update({path.name: path.stat().st_size for path in Path(words[2]).iterdir()})
            assert words[-2:] == ["--revision", "1.50"]
        return before(self, words, limit_s)

    monkeypatch.setattr(LiveCheck, "_canvass", seen)
    found = one.state.checks.check()
    one.poll()

    assert (found.verdict, found.is_whole) == ("INCOMPLETE", False), found.sentence
    assert sorted(given) == ["member-0.log", "member-1.log", "member-2.log"]
    assert all(0 < size <= 20_000 for size in given.values())
    assert "verdict: INCOMPLETE (the end of the logs)" in one.out.getvalue()


def test_a_check_that_cannot_run_is_no_verdict(
    tmp_path: Path, watching: Callable[..., Watching]
) -> None:
    (tmp_path / "logs" / "member-0.log").write_text("no log\n" * 3)
    one = watching()

    found = one.state.checks.check()

    assert found.verdict == ""
    assert "member-0.log" in found.sentence
    assert "canvass_verdict" not in one.state.metrics


def test_once_reads_and_checks_what_is_there(command: Command, tmp_path: Path) -> None:
    Writing(LOSES, tmp_path).until(200)

    code, out, err = command("watch", tmp_path, "--once")

    assert (code, err) == (1, "")
    assert "Who led when" in out
    assert out.splitlines()[-1].startswith("verdict: DIVERGES: member 0 at [")


def test_once_shows_all_dangers_of_a_long_log(command: Command, tmp_path: Path) -> None:
    """The logs have more lines than the picture of a running cluster keeps."""
    Writing(LOSES_FOR_EVER, tmp_path).until(200)

    code, out, _ = command("watch", tmp_path, "--once", "--verify", 0)

    assert code == 0
    assert out.count("danger: committed on too few disks") == 3
    assert "begins within a process" not in out


def test_clocks_that_differ_are_no_danger(
    tmp_path: Path, watching: Callable[..., Watching]
) -> None:
    """The clock of member 2 was 75,033.903 s ahead, and no disk was lost."""
    (folder,) = HOSTS
    Writing(folder, tmp_path / "logs").until(100_000)
    one = watching()
    one.poll()
    screen = watch._screen(one.state)

    assert "danger" not in screen
    assert "Clocks: member 2 is 75,033.9 s ahead of member 0; times are each" in screen


def test_a_danger_stays_in_the_picture_when_its_lines_are_forgotten(
    tmp_path: Path, watching: Callable[..., Watching], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture, "MAX_RECORDS", 300)
    writing = Writing(LOSES_FOR_EVER, tmp_path / "logs")
    writing.until(50)
    one = watching()
    for seconds in (60, 75, 90, 200):
        writing.until(seconds)
        one.poll()
        one.state.changed = True
    one.poll()
    screen = watch._screen(one.state)

    assert one.out.getvalue().count("danger: committed on too few disks") == 3
    assert screen.count("danger: committed on too few disks") == 3
    assert screen.count("  The picture no longer follows these lines.\n") == 3
    assert "\nTerm 11: member 3 led, until it began an election" in screen


def test_nothing_is_announced_before_all_logs_are_read(
    tmp_path: Path, watching: Callable[..., Watching], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The logs differ in length. Else the end of the shortest one would look like a silence."""
    monkeypatch.setattr(followed_logs, "CHUNK_BYTES", 10_000)
    Writing(LOSES, tmp_path / "logs").until(200)
    one = watching()
    pieces = 0
    while not poll(one.state, one.display, one.exit_on, one.command)[0]:
        one.display.due_at = 0.0
        assert one.out.getvalue() == ""
        pieces += 1
    one.poll()

    assert pieces > 3
    assert one.out.getvalue().count("danger: ") == 1


def test_a_terminal_wraps_long_lines() -> None:
    out = io.StringIO()
    console = Console(file=out, width=60, height=40, force_terminal=True, soft_wrap=True)
    with Display(console) as display:
        display.show(f"danger: {'word ' * 40}the end", [])

    assert "the end" in out.getvalue()


def test_a_folder_without_a_log_is_one_line(command: Command, tmp_path: Path) -> None:
    code, out, err = command("watch", tmp_path, "--once")

    assert (code, out) == (2, "")
    assert err.startswith(f"canvass: {tmp_path}: there is no member-<id>.log, ")
    assert err.count("\n") == 1


def test_a_log_is_not_its_folder(command: Command, tmp_path: Path) -> None:
    for name, hint in ("cluster.txt", ""), ("member-0.log", f", `canvass watch {tmp_path}`"):
        (log := tmp_path / name).write_text("")

        code, out, err = command("watch", log)

        assert (code, out) == (2, "")
        assert err == f"canvass: {log}: a file: name the folder of the members' logs{hint}\n"


UNREADABLE: dict[str, tuple[Callable[[str], bytes], str]] = {
    "utf-16": (lambda text: text.encode("utf-16"), "the file is UTF-16: convert it to UTF-8"),
    "prefix": (
        lambda text: text.replace("[", "web-1 | [").encode(),
        "remove 'web-1 | ', which is before the stamp",
    ),
    "binary": (lambda text: bytes(range(256)) * (len(text) // 256), "no line is of the form"),
}
"""Logs that no command can read: how their bytes are made of the text, and what is said."""


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize(
    "words",
    [("watch", "--once", "--verify", "0"), ("explain",), ("import", "aeron", "--out", "run")],
)
def test_logs_that_cannot_be_read_end_the_command_with_2_and_are_all_named(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    words: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    bytes_of, reason = UNREADABLE[kind]
    for i in range(3):
        rows = [line for line in lines_of(KEEPS, i) if line.startswith("[")]
        (tmp_path / f"member-{i}.log").write_bytes(bytes_of("\n".join([*rows[:300], ""])))

    code, out, err = command(*words, tmp_path)

    assert (code, out) == (2, "")
    assert err.startswith(f"canvass: {tmp_path / 'member-0.log'}:")
    assert err.count(reason) == 3
    assert err.count("\n") == 1


def test_each_file_that_is_no_log_is_named_once_while_logs_are_watched(
    tmp_path: Path, watching: Callable[..., Watching], capsys: pytest.CaptureFixture[str]
) -> None:
    writing = Writing(KEEPS, tmp_path / "logs")
    writing.until(5)
    (tmp_path / "logs" / "member-2.log").write_text("some text\n", encoding="utf-16")
    (tmp_path / "logs" / "member-0 (copy).log").write_text("")
    os.mkfifo(tmp_path / "logs" / "member-3.log")
    (tmp_path / "logs" / "member-4.log").symlink_to("nowhere")
    one = watching()
    one.poll()
    one.poll()

    *left_out, fault = capsys.readouterr().err.splitlines()
    assert left_out == [
        f"canvass: {tmp_path}/logs/member-0 (copy).log: not read: the name is not that of a log",
        f"canvass: {tmp_path}/logs/member-3.log: not read: not a regular file",
        f"canvass: {tmp_path}/logs/member-4.log: not read: No such file or directory",
    ]
    assert fault.startswith(f"canvass: {tmp_path}/logs/member-2.log:1:1: no line is of the form ")


def test_a_log_that_becomes_unreadable_is_named_and_the_others_are_watched(
    tmp_path: Path, watching: Callable[..., Watching], capsys: pytest.CaptureFixture[str]
) -> None:
    """It is read on when the file is rolled. Until then a check says which lines it lacks."""
    writing = Writing(KEEPS, tmp_path / "logs")
    writing.until(5)
    one = watching(ExitOn.STUCK)
    one.poll()
    before = one.out.getvalue()
    caught_up_at = one.state.caught_up_at
    log, line = tmp_path / "logs" / "member-1.log", writing.done[1] + 1
    with log.open("ab") as file:
        file.write(b"\xff" * (MAX_LINE_BYTES + 1))
    for i in (0, 2):
        with (tmp_path / "logs" / f"member-{i}.log").open("a") as file:
            file.writelines(f"{row}\n" for row in writing.lines[i][writing.done[i] :])
    one.poll()
    assert one.poll() is None
    error = f"{log}:{line}: the line is longer than 1048576 bytes (LINE_TOO_LONG)"

    complaint = f"canvass: {error}; the log of member 1 is not read\n"
    assert capsys.readouterr().err == complaint
    assert one.state.caught_up_at == caught_up_at
    assert 'canvass_log_unread{member="1"} 1\n' in one.state.metrics
    said = one.out.getvalue().removeprefix(before)
    assert f"warning: the log of member 1 is not read: {error}\n" in said
    assert "note: Term 1: member 0 led, until its process ended without a line." in said
    assert f"\nwarning: the log of member 1 is not read: {error}\n" in watch._screen(one.state)

    assert one.state.checks.check().verdict == "INCOMPLETE"
    one.poll()
    lacks = "verdict: INCOMPLETE (without lines of member 1 that cannot be read)"
    assert lacks in one.out.getvalue()
    assert lacks in watch._screen(one.state)

    log.rename(rolled := log.with_name("member-1.log.1"))
    log.write_text("".join(f"{row}\n" for row in writing.lines[1][writing.done[1] :]))
    one.poll()
    text = "warning: the log of member 1 was not read for some time, and lines may be missing: "
    assert f"{text}{rolled}:{line}: " in one.out.getvalue()
    assert "is not read:" not in watch._screen(one.state)
    assert one.state.caught_up_at > caught_up_at
    assert 'canvass_log_unread{member="1"} 0\n' in one.state.metrics


def test_a_check_without_the_log_of_a_member_does_not_conform(
    tmp_path: Path, watching: Callable[..., Watching]
) -> None:
    """A pipe has the name of a log. No other log names that member, so no line is missing."""
    writing = Writing(KEEPS, tmp_path / "logs")
    writing.until(200)
    one = watching()
    assert one.state.checks.check().verdict == "CONFORMS"

    os.mkfifo(tmp_path / "logs" / "member-3.log")
    one.logs.look()
    one.poll()
    found = one.state.checks.check()
    assert (found.verdict, found.unread) == ("INCOMPLETE", frozenset({3}))


def test_lines_that_cannot_be_read_are_in_the_picture(
    tmp_path: Path, watching: Callable[..., Watching]
) -> None:
    """A line for each of them would be too many."""
    writing = Writing(KEEPS, tmp_path / "logs")
    writing.until(5)
    one = watching()
    one.poll()
    log, lines = tmp_path / "logs" / "member-1.log", writing.done[1]
    for seconds in (10, 100):
        with log.open("ab") as file:
            file.write(b"\x00\x01\n" * 3)
        writing.until(seconds)
        one.poll()

    said = [row for row in one.out.getvalue().splitlines() if row.startswith("warning: ")]
    last = f"{log}:{lines + 3}:1: the line holds control characters (BINARY)"
    assert said == [f"warning: 3 lines of member 1 cannot be read; the last one is {last}"]
    row = f"\nwarning: 6 lines of member 1 cannot be read; the last one is {log}:"
    assert row in watch._screen(one.state)


def test_a_folder_without_a_line_of_a_cluster_shows_which_log_is_not_read(
    tmp_path: Path, watching: Callable[..., Watching]
) -> None:
    (tmp_path / "logs" / "member-0.log").write_text("")
    (tmp_path / "logs" / "member-1.log").mkdir()
    one = watching()
    one.poll()
    error = f"{tmp_path}/logs/member-1.log: not a regular file (UNREADABLE)"

    assert watch._screen(one.state).splitlines() == [
        f"watching {tmp_path}/logs: no line of a cluster yet",
        f"warning: the log of member 1 is not read: {error}",
    ]


@pytest.mark.parametrize("words", [("watch", "--once"), ("explain",)])
def test_a_file_whose_name_resembles_that_of_a_log_is_named(
    command: Command, tmp_path: Path, words: tuple[str, ...]
) -> None:
    Writing(KEEPS, tmp_path).until(5)
    for name in ("member-1.log.bak", "member-2 (copy).log"):
        (tmp_path / name).write_text("")

    code, _, err = command(*words, tmp_path)

    assert code == 0
    assert err == (
        "canvass: not read, as the name is not that of a log:"
        " member-1.log.bak, member-2 (copy).log\n"
    )


def test_packed_logs_and_links_are_watched(command: Command, tmp_path: Path) -> None:
    logs, elsewhere = tmp_path / "logs", tmp_path / "elsewhere"
    logs.mkdir()
    elsewhere.mkdir()
    Writing(KEEPS, elsewhere).until(100)
    for i in (0, 2):
        (logs / f"member-{i}.log").symlink_to(elsewhere / f"member-{i}.log")
    packed = gzip.compress((elsewhere / "member-1.log").read_bytes())
    (logs / "member-1.log.gz").write_bytes(packed)

    code, out, err = command("watch", logs, "--once")

    assert (code, err) == (0, "")
    assert out.startswith("3 members, 3 logs, ")
    assert out.endswith("verdict: CONFORMS\n")


@pytest.mark.parametrize(
    "words", [("watch", "--once"), ("explain",), ("import", "aeron", "--out", "run")]
)
def test_empty_logs_are_named_as_such(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    for i in range(2):
        (tmp_path / f"member-{i}.log").write_text("")

    code, out, err = command(*words, tmp_path)

    assert (code, out) == (2, "")
    log = tmp_path / "member-0.log"
    assert err == f"canvass: {log}: the log is empty and all others (NO_LOG)\n"


def test_logs_that_cannot_be_checked_end_the_command_with_2(
    command: Command, tmp_path: Path
) -> None:
    """A log of starts alone shows something, and is nothing that could be verified."""
    text = "[10.000000000] log started 2026-11-28 03:00:10.000+0000\n"
    (tmp_path / "member-0.log").write_text(text)

    code, out, _ = command("watch", tmp_path, "--once")

    assert code == 2
    assert "verdict: not checked: canvass: " in out


def test_a_verdict_is_announced_once(watching: Callable[..., Watching]) -> None:
    one = watching()
    one.state.checks.last, one.state.checks.count = Checked("CONFORMS"), 1
    one.poll()
    one.poll()

    assert one.out.getvalue() == "verdict: CONFORMS\n"


def test_the_reason_why_a_check_cannot_run_is_said_when_it_changes(
    tmp_path: Path, watching: Callable[..., Watching]
) -> None:
    alarms = tmp_path / "alarms"
    one = watching(command=f"echo alarm >> {shlex.quote(str(alarms))}")
    results = ["CONFORMS", "gone", "gone", "not a log", "CONFORMS", "DIVERGES", "gone", "DIVERGES"]
    for result in results:
        is_verdict = result.isupper()
        one.state.checks.last = Checked(result) if is_verdict else Checked(sentence=result)
        one.state.checks.count += 1
        one.poll()
        one.poll()

    assert one.out.getvalue().splitlines() == [
        "verdict: CONFORMS",
        "verdict: not checked: gone",
        "verdict: not checked: not a log",
        "verdict: CONFORMS",
        "verdict: DIVERGES",
        "verdict: not checked: gone",
        "verdict: DIVERGES",
    ]
    assert alarms.read_text() == "alarm\n"


def test_a_reason_names_the_logs_and_no_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is another one each time, so that each check would give a new reason."""
    monkeypatch.setattr(live_check, "MAX_BYTES", 30)
    (tmp_path / "member-0.log").write_text("[10.000000000] no event\n" * 3)
    found = LiveCheck(tmp_path).check()

    assert found.sentence.startswith(f"canvass: {tmp_path}/member-0.log: ")
    assert "canvass-watch-" not in found.sentence


def test_a_check_that_is_killed_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "member-0.log").write_text("[10.000000000] no event\n")
    monkeypatch.setattr(sys, "executable", "/bin/false")

    assert LiveCheck(tmp_path).check().sentence == "canvass import ended with 1"


@pytest.mark.parametrize(
    "words", [("--run", "page-me.sh"), ("--exit-on", "danger"), ("--metrics", "9100")]
)
def test_what_only_a_command_that_follows_does_is_refused_with_once(
    command: Command, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Else somebody waits for a page that never comes."""
    code, out, err = command("watch", tmp_path, "--once", *words)

    assert (code, out) == (2, "")
    assert err == "canvass: --once looks once: leave out --exit-on, --run and --metrics\n"


def test_a_port_of_metrics_that_is_taken_is_named(command: Command, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = command("watch", tmp_path, "--verify", "0", "--metrics", port)

    assert (code, out) == (2, "")
    assert err == f"canvass: --metrics {port}: Address already in use; 0 takes a free port\n"
