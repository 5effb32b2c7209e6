"""Files and folders: formats, limits, order of rolled files, whose log it is, what is missing."""

from __future__ import annotations

import gzip
import os
import pickle
import zlib
from pathlib import Path

import pytest
import zstandard

from canvass.traces.aeron_log import source
from canvass.traces.aeron_log.incarnations import MemberLog
from canvass.traces.aeron_log.logs import read_log
from canvass.traces.aeron_log.records import CommitPosition, ProcessStart, TruncatedLine
from canvass.traces.aeron_log.source import AeronLogError, LogCode
from canvass.traces.schema import MAX_MEMBERS
from support.aeron_lines import HEADER, STARTED, commit, text
from support.aeron_runs import read_cluster

LOG = text(HEADER, STARTED, *(commit(64 * n, 102 + n) for n in range(500)))


def pack(data: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.compress(data, mtime=0)
    if suffix == ".zst":
        return zstandard.ZstdCompressor().compress(data)
    return data


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(pack(data, path.suffix))
    return path


def only(path: Path) -> MemberLog:
    (log,) = read_log([path]).values()
    return log


def refused(*paths: Path) -> AeronLogError:
    with pytest.raises(AeronLogError) as caught:
        read_cluster(paths)
    return caught.value


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_log_reads_the_same_in_each_format(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path, f"member-0.log{suffix}", LOG)
    log = only(path)

    assert log.member_id == 0
    assert log.files == (path,)
    assert len(log.records) == 502
    assert log.counts.lines == 502


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_packed_parts_may_follow_each_other(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"member-0.log{suffix}"
    path.write_bytes(pack(LOG[:1000], suffix) + pack(LOG[1000:], suffix))

    assert len(only(path).records) == 502


def test_padding_after_gzip_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "member-0.log.gz"
    path.write_bytes(pack(LOG, ".gz") + b"\0" * 512)

    assert len(only(path).records) == 502


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_packed_file_that_ends_too_early_says_so(tmp_path: Path, suffix: str) -> None:
    """Even where what it holds ends with a whole line."""
    path = tmp_path / f"member-0.log{suffix}"
    path.write_bytes(pack(LOG, suffix)[:-3])
    last = only(path).records[-1]

    assert isinstance(last, TruncatedLine)
    assert last.reason == "the compressed file ends too early"


def test_an_empty_packed_file_is_cut(tmp_path: Path) -> None:
    (tmp_path / "member-0.log.gz").write_bytes(b"")

    assert [type(r) for r in only(tmp_path / "member-0.log.gz").records] == [TruncatedLine]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_damaged_packed_data_is_refused(tmp_path: Path, suffix: str) -> None:
    packed = bytearray(pack(LOG, suffix))
    packed[len(packed) // 2] ^= 0xFF
    packed[4 if suffix == ".zst" else 2] ^= 0xFF
    path = tmp_path / f"member-0.log{suffix}"
    path.write_bytes(packed)

    assert refused(path).code is LogCode.COMPRESSED_DATA


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_bomb_is_refused_before_it_unpacks(tmp_path: Path, suffix: str) -> None:
    line = commit(64).encode() + b"\n"
    path = write(tmp_path, f"member-0.log{suffix}", line * (8 << 20 >> 7))
    assert path.stat().st_size < 1 << 15

    assert refused(path).code is LogCode.COMPRESSION_RATIO


def test_a_log_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MAX_LOG_BYTES", 1000)

    assert refused(write(tmp_path, "member-0.log", LOG)).code is LogCode.TOO_LARGE


def test_what_cannot_be_read_is_one_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.log")
    for path in (
        tmp_path / "none.log",
        tmp_path / "pipe.log",
        tmp_path / "x\0y",
        Path("/dev/zero"),
    ):
        assert refused(path).code is LogCode.UNREADABLE
    (tmp_path / "sub.log").mkdir()
    assert refused(tmp_path / "sub.log", tmp_path / "sub.log").code is LogCode.UNREADABLE


def test_a_folder_without_logs_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "client.log", LOG)
    write(tmp_path, "client-2.log", LOG)

    assert refused(tmp_path).code is LogCode.NO_LOG
    assert refused().code is LogCode.NO_LOG


def test_a_log_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "member-0.log", LOG)
    write(tmp_path, "member-0.log.gz", LOG)

    assert refused(tmp_path).code is LogCode.DUPLICATE_LOG


def test_a_log_of_two_members_beside_that_of_one_is_refused(tmp_path: Path) -> None:
    mixed = write(tmp_path, "any.log", LOG + text(commit(64, 900, member=1)))
    other = write(tmp_path, "other.log", text(commit(64, 900, member=1)))
    assert read_cluster([mixed]).members.keys() == {0, 1}
    for paths in ((mixed, other), (other, mixed)):
        error = refused(*paths)
        assert (error.file, error.code, error.line) == (str(mixed), LogCode.MIXED_MEMBERS, 503)


def test_a_folder_gives_its_members_and_says_what_is_missing(tmp_path: Path) -> None:
    write(tmp_path, "member-0.log", LOG)
    write(tmp_path, "member-2.log.gz", LOG.replace(b"memberId=0", b"memberId=2"))
    for name in ("config.json", "service-1.log", "member-1.log.bz2", "member1.log"):
        write(tmp_path, name, b"{}")
    logs = read_cluster([tmp_path])

    assert list(logs.members) == [0, 2]
    assert logs.members[2].member_id == 2
    assert logs.missing == (1,)
    assert logs.ignored == ("member-1.log.bz2", "member1.log")


def test_a_link_to_a_log_is_read_in_a_folder_and_by_name(tmp_path: Path) -> None:
    log = write(tmp_path, "elsewhere", LOG)
    (folder := tmp_path / "logs").mkdir()
    (folder / "member-0.log").symlink_to(log)

    assert read_cluster([folder]).members[0].records == read_cluster([log]).members[0].records
    assert read_cluster([folder / "member-0.log"]).members.keys() == {0}


def test_a_log_that_is_a_pipe_or_a_link_to_none_is_refused_and_not_missing(tmp_path: Path) -> None:
    write(tmp_path, "member-0.log", LOG)
    os.mkfifo(tmp_path / "member-1.log")
    (tmp_path / "member-2.log").symlink_to("member-1.log")
    pipe = refused(tmp_path)
    (tmp_path / "member-1.log").unlink()
    link = refused(tmp_path)

    assert (link.code, pipe.code) == (LogCode.UNREADABLE, LogCode.UNREADABLE)
    assert "member-2.log: No such file or directory" in str(link)
    assert "member-1.log: not a regular file" in str(pipe)


def test_more_members_than_a_cluster_can_have_are_refused(tmp_path: Path) -> None:
    """A log is read once for each of its members."""
    lines = (STARTED.replace("memberId=0", f"memberId={i}") for i in range(MAX_MEMBERS + 1))
    error = refused(write(tmp_path, "all.log", text(HEADER, *lines)))

    assert (error.code, error.line) == (LogCode.TOO_MANY_MEMBERS, MAX_MEMBERS + 2)


def test_files_named_one_by_one_say_themselves_whose_they_are(tmp_path: Path) -> None:
    one = write(tmp_path, "b", LOG.replace(b"memberId=0", b"memberId=1"))
    two = write(tmp_path, "a.gz", LOG)
    logs = read_cluster([one, two])

    assert {member: log.files for member, log in logs.members.items()} == {0: (two,), 1: (one,)}


def rolled(second: int, wall: str, *lines: str) -> bytes:
    header = HEADER.replace("[100.", f"[{second}.").replace("10:20:30.123", wall)
    return text(header, *lines)


@pytest.mark.parametrize("explicit", [False, True])
def test_rolled_files_are_read_in_the_order_of_their_headers(
    tmp_path: Path, explicit: bool
) -> None:
    """The number 1 was free again when the second process rolled its file."""
    start, later = "10:20:30.123", "10:30:30.123"
    files = [
        write(tmp_path, "member-0.log.2", rolled(100, start, STARTED, commit(0, 110))),
        write(tmp_path, "member-0.log.3.gz", rolled(150, start, commit(64, 160))),
        write(
            tmp_path,
            "member-0.log.1",
            rolled(200, start, commit(128, 210)) + rolled(700, later, STARTED, commit(192, 710)),
        ),
        write(tmp_path, "member-0.log", rolled(800, later, commit(256, 810))),
    ]
    logs = read_cluster(sorted(files) if explicit else [tmp_path])
    log = logs.members[0]

    assert log.files == tuple(files)
    assert [r.log_position for r in log.records if isinstance(r, CommitPosition)] == [
        *(0, 64, 128, 192, 256)
    ]
    assert sum(isinstance(r, ProcessStart) for r in log.records) == 2
    assert log.counts.headers == 5


def test_rolled_files_without_headers_are_put_by_their_stamps(tmp_path: Path) -> None:
    late = write(tmp_path, "member-0.log.1", text(commit(64, 300)))
    early = write(tmp_path, "member-0.log", text(commit(0, 200)))

    assert read_cluster([tmp_path]).members[0].files == (early, late)


def test_the_error_survives_pickling() -> None:
    """Spark sends it from a worker to the driver."""
    error = AeronLogError("f", 3, 4, LogCode.NOT_A_LOG, "why")
    back = pickle.loads(pickle.dumps(error))

    assert (back.file, back.line, back.column, back.code, back.reason) == (
        *("f", 3, 4, LogCode.NOT_A_LOG, "why"),
    )
    assert str(back) == "f:3:4: why (NOT_A_LOG)"


def test_gzip_output_that_ends_on_a_full_piece_is_complete(tmp_path: Path) -> None:
    data = LOG * (2 * source.CHUNK_BYTES // len(LOG) + 1)
    data = data[: 2 * source.CHUNK_BYTES]
    path = tmp_path / "member-0.log.gz"
    path.write_bytes(gzip.compress(data, mtime=0))
    opened = source.LogSource(path)

    assert b"".join(opened.pieces()) == data
    assert not opened.cut
    assert zlib.crc32(data) == zlib.crc32(gzip.decompress(path.read_bytes()))


def test_a_log_without_a_line_of_the_cluster_is_whose_name_it_has(tmp_path: Path) -> None:
    write(tmp_path, "member-0.log", LOG)
    write(tmp_path, "member-2.log", text(HEADER))
    write(tmp_path, "other.txt", text(HEADER))

    assert {i: log.member_id for i, log in read_cluster([tmp_path]).members.items()} == {0: 0, 2: 2}
    named = read_cluster([tmp_path / "member-0.log", tmp_path / "other.txt"])
    assert named.members.keys() == {0, -1}
