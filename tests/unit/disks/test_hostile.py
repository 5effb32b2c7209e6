"""Arbitrary bytes for disks: a verdict or one line of error, and no byte on them is written."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random

import pytest

from canvass.cli.disks import values
from canvass.cli.output import rendered
from canvass.disks.files import NAMES
from canvass.disks.findings import DiskError
from canvass.disks.verdict import assess
from support import aeron_disks
from support.aeron_disk_captures import COMMITTED

CAPTURED = ("1.44.7-kills-9119", "1.52.2-wipe-241", "1.53-tight-242")
WORDS = (0, 1, 2, 31, 32, 64, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 62, (1 << 63) - 1, 1 << 63)
KEPT = 1 << 15
"""The number of bytes that are kept of a captured file."""

Files = dict[str, bytes]


@cache
def captured(name: str, member: int) -> Files:
    """The files of a real member."""
    return {
        path.name.removesuffix(".gz"): gzip.decompress(path.read_bytes())[:KEPT]
        for path in sorted((COMMITTED / name / f"raw-{member}").iterdir())
    }


@cache
def made(member: int) -> Files:
    """The files of a member with two terms, a snapshot and an error."""
    terms = [aeron_disks.Term(0, 0, (b"abc" * 30,) * 5), aeron_disks.Term(1, 1, (b"d",) * 3)]
    disk = aeron_disks.disk_of(member, terms)
    disk.snapshots = (aeron_disks.Snapshot(0, 0, disk.entries[1][1]),)
    folder = Path(os.environ["PYTEST_DISKS"]) / str(member)
    written = aeron_disks.write_disk(folder, disk)
    return {path.name: path.read_bytes()[:KEPT] for path in written.rglob("*") if path.is_file()}


def spoil(data: bytes, random: Random, others: list[bytes]) -> bytes:
    """Damage the content of one file."""
    found = bytearray(data)
    way = random.randrange(8)
    if way == 0:
        return bytes(found[: random.randrange(len(found) + 1)])
    if way == 1:
        return random.randbytes(random.choice((0, 1, 63, 64, 4096)))
    if way == 2:
        return random.choice(others)
    if way == 3:
        at = random.randrange(len(found) + 1)
        return bytes(found[:at]) + random.randbytes(random.randrange(70)) + bytes(found[at:])
    for _ in range(random.randrange(1, 6)):
        near = min(len(found), random.choice((64, 128, 512, 4096, KEPT)))
        if not near:
            break
        at = random.randrange(near)
        if way < 6:
            found[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
        else:
            at -= at % 4
            size = random.choice((4, 8))
            word = random.choice(WORDS) & ((1 << 8 * size) - 1)
            found[at : at + size] = word.to_bytes(size, "little")
    return bytes(found)


def write_hostile(seed: int, folder: Path) -> None:
    """Write the disks of one to three members, with damage that the seed chooses."""
    random = Random(seed)
    source = random.choice((*CAPTURED, ""))
    for member in random.sample(range(3), random.choice((1, 1, 1, 2, 3))):
        files = captured(source, member) if source else made(member)
        home = folder / f"member-{member}"
        home.mkdir()
        for name, data in files.items():
            fate = random.random()
            if fate < 0.04:
                continue
            content = spoil(data, random, list(files.values())) if fate < 0.5 else data
            path = home / name
            if fate < 0.06:
                packed = bytearray(gzip.compress(content, 1))
                packed[random.randrange(len(packed))] ^= random.choice((0, 1, 0xFF))
                (home / f"{name}.gz").write_bytes(packed)
            elif fate < 0.07:
                path.mkdir()
            elif fate < 0.08:
                path.symlink_to(random.choice((name, "nowhere", "recording.log")))
            else:
                path.write_bytes(content)


def is_assessed_or_refused(folder: Path) -> str:
    """Assess disks. Return the verdict, or the line of the error."""
    try:
        verdict = assess([folder])
    except DiskError as error:
        text = str(error)
        assert text.isprintable()
        return text
    assert verdict.exit_code in (0, 1, 2, 3)
    for line in rendered("disks", found=verdict, **values(verdict)).splitlines():
        assert line.isprintable(), line
    return verdict.verdict


opened: list[tuple[str, int]] = []
"""The paths below `watched` that were opened for writing or created."""
watched: list[str] = []
CHANGES = {
    "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.chmod", "os.utime",
    "os.link", "os.symlink", "os.setxattr", "shutil.copyfile", "shutil.move",
}  # fmt: skip


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if not watched or not (event == "open" or event in CHANGES):
        return
    path, flags = str(arguments[0]), arguments[2] if event == "open" else os.O_RDWR
    assert isinstance(flags, int)
    writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    if writes and path.startswith(watched[0]):
        opened.append((f"{event} {path}", flags))


@pytest.fixture(scope="module", autouse=True)
def _audit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    # An audit hook cannot be taken away: it is added once, and does nothing while nothing is
    # watched.
    sys.addaudithook(_hook)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISKS", str(tmp_path_factory.mktemp("made")))
        yield


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Fail if a path below the folder is opened for writing, created, renamed or deleted."""
    watched.append(str(folder))
    opened.clear()
    try:
        yield
    finally:
        watched.clear()
    assert opened == []


def digest(folder: Path) -> dict[str, object]:
    """The names, kinds, modes, times of change and contents of all paths below a folder."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        is_plain = path.is_file() and not path.is_symlink()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if is_plain else ""
        found[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_size, content)
    return found


def check(seed: int, folder: Path) -> str:
    """Assess one set of damaged disks. Fail if this changes the disks."""
    folder.mkdir()
    write_hostile(seed, folder)
    before = digest(folder)
    with read_only(folder):
        found = is_assessed_or_refused(folder)
    assert digest(folder) == before, seed
    shutil.rmtree(folder)
    return found


def test_damaged_disks_are_assessed_or_refused_and_not_changed(
    tmp_path: Path,
) -> None:
    found = {check(seed, tmp_path / str(seed)) for seed in range(60)}

    assert found >= {"DAMAGED", "UNREADABLE"}


@pytest.mark.night
@pytest.mark.parametrize("part", range(100))
def test_a_hundred_thousand_sets_of_damaged_disks(part: int, tmp_path: Path) -> None:
    for seed in range(1000 * (part + 1), 1000 * (part + 2)):
        check(seed, tmp_path / str(seed))


def test_an_attempt_to_write_is_noticed(tmp_path: Path) -> None:
    def attempt() -> None:
        with read_only(tmp_path):
            (tmp_path / "new").write_bytes(b"")

    with pytest.raises(AssertionError, match="new"):
        attempt()


def test_read_permission_is_enough(tmp_path: Path) -> None:
    folder = tmp_path / "disks"
    shutil.copytree(COMMITTED / "1.53-tight-242", folder)
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = digest(folder)
    program = [sys.executable, "-m", "canvass.cli.main", "disks", str(folder)]

    done = subprocess.run(program, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert digest(folder) == before
    for path in paths:
        path.chmod(0o755)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_equal_bytes_is_assessed_or_refused(name: str, tmp_path: Path) -> None:
    for byte in (0, 1, 0x7F, 0xFF):
        folder = tmp_path / str(byte)
        folder.mkdir()
        for file, data in captured(CAPTURED[2], 0).items():
            (folder / file).write_bytes(bytes([byte]) * 5000 if file == name else data)
        assert is_assessed_or_refused(folder)
