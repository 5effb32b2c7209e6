"""Any bytes are read to the end or refused with one line; no line is passed over in silence."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard

from canvass.cli.main import run as canvass
from canvass.traces.aeron_log.incarnations import ClusterLogs, LineCounts, MemberLog
from canvass.traces.aeron_log.records import ClusterEvent, LogRecord, TruncatedLine
from canvass.traces.aeron_log.releases import log_vocabulary
from canvass.traces.aeron_log.source import AeronLogError
from support.aeron_hostile_bytes import hostile_files
from support.aeron_lines import read
from support.aeron_runs import read_cluster


def check_error(error: AeronLogError, file: str) -> None:
    """An error is one printable line that names the file, and the line if it is about one."""
    text = str(error)
    assert text.startswith(file)
    assert text.isprintable()
    assert len(text) < 1000
    assert error.line >= 0


Outcome = tuple[list[LogRecord], LineCounts, dict[str, int]]


def outcome(data: bytes, pieces: int = 0) -> Outcome | AeronLogError:
    """The records of a file, its counts and unknown fields; or the error."""
    try:
        records, parser = read(data, pieces=pieces)
    except AeronLogError as error:
        return error
    return records, parser.counts, parser.unknown_fields


def check_read(data: bytes, pieces: int) -> str:
    """Read a file whole and in pieces (0: only whole), and hold that each line is accounted for;
    give what came of it.
    """
    whole, cut = outcome(data), outcome(data, pieces) if pieces else None
    if isinstance(whole, AeronLogError):
        check_error(whole, "file-0:")
        assert cut is None or getattr(cut, "args", None) == whole.args
        return whole.code.value
    assert cut in (None, whole)
    records, counts, unknown_fields = whole
    lines = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    glued = sum(isinstance(one, TruncatedLine) and "goes over" in one.reason for one in records)
    assert counts.lines - glued == lines
    assert all(1 <= record.line <= lines for record in records)
    events = sum(isinstance(record, ClusterEvent) for record in records)
    assert events == sum(counts.events.values())
    log = MemberLog(0, (Path("log"),), records, counts, unknown_fields)
    found = log_vocabulary(ClusterLogs({0: log}, (), ()))
    assert found.release.revision in ("1.49", "1.50")
    return "unreadable lines" if counts.unreadable else "read"


@pytest.mark.parametrize(
    ("seed", "count"),
    [(1, 1500), *(pytest.param(seed, 10_000, marks=pytest.mark.night) for seed in range(100, 110))],
)
def test_any_bytes(seed: int, count: int) -> None:
    files = enumerate(hostile_files(seed, count))
    outcomes = {check_read(data, 0 if number % 4 else 1 + number % 99) for number, data in files}

    assert outcomes >= {"read", "unreadable lines", "NOT_A_LOG"}


def packed(data: bytes, number: int) -> tuple[str, bytes]:
    """The bytes as a file of one of the three kinds, some of them damaged; and its ending."""
    if number % 3 == 0:
        return "", data
    if number % 3 == 1:
        done = gzip.compress(data, 1)
        name = ".gz"
    else:
        done = zstandard.compress(data, 1)
        name = ".zst"
    if number % 5 == 0:
        done = done[: len(done) // 2] + b"?" + done[len(done) // 2 + 1 :]
    elif number % 7 == 0:
        done = done[:-3]
    return name, done


@pytest.mark.parametrize(
    "count", [40, pytest.param(3000, marks=pytest.mark.night)], ids=["some", "many"]
)
def test_any_files_of_a_cluster(count: int, tmp_path: Path) -> None:
    """Plain and packed files, whole and damaged ones."""
    files = list(hostile_files(7, 3 * count))
    for number in range(count):
        folder = tmp_path / str(number)
        folder.mkdir()
        for member in range(3):
            name, data = packed(files[3 * number + member], number + member)
            (folder / f"member-{member}.log{name}").write_bytes(data)
        try:
            logs = read_cluster([folder])
        except AeronLogError as error:
            check_error(error, str(folder))
        else:
            assert log_vocabulary(logs).release.revision in ("1.49", "1.50")


def test_the_command_says_what_it_makes_of_any_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run, or one line of error; never a traceback."""
    for number, data in enumerate(hostile_files(11, 25)):
        log = tmp_path / f"{number}.log"
        log.write_bytes(data)
        code = canvass(["import", "aeron", str(log), "--out", str(tmp_path / f"run-{number}")])
        error = capsys.readouterr().err

        assert code in (0, 1, 2, 3)
        assert "bug in canvass" not in error
        if code == 2:
            assert len(error.splitlines()) == 1
            assert error.startswith("canvass: ")
