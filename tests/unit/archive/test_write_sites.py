"""Crashes are tried at every place in the code that writes to a disk."""

from __future__ import annotations

import ast
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import canvass.archive.archive
from canvass.archive.archive import Archive, Change
from canvass.archive.memory import MemoryStorage, PowerFailure
from canvass.archive.recording import Recording, segment_name
from canvass.archive.repair import repair
from canvass.archive.storage import ArchiveError
from support.archive_history import HISTORY, IMAGES, SMALL_SEGMENT

WRITES = ("create", "append", "truncate", "sync", "rename", "remove", "sync_folder")
APART = ("files", "memory", "storage", "restore")
"""The modules that are a disk, and one that fills a disk on which no process was started yet: if
that is cut short, the disk is thrown away."""

Site = tuple[str, str, str]
"""Module, function and operation."""


def sites_in_code() -> set[Site]:
    """The calls of operations that write, as they stand in the modules of the archive."""
    found = set()
    for path in Path(canvass.archive.archive.__file__).parent.glob("*.py"):
        if path.stem in APART:
            continue
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                found |= {
                    (path.stem, function.name, call.func.attr)
                    for call in ast.walk(function)
                    if isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Attribute)
                    and call.func.attr in WRITES
                    and "storage" in ast.unparse(call.func.value)
                }
    return found


class WatchedStorage(MemoryStorage):
    """A disk that notes who writes, and can stop before any of it."""

    def __init__(self) -> None:
        super().__init__()
        self.sites: set[Site] = set()

    def _write(self) -> None:
        frame = sys._getframe(1)
        while Path(frame.f_code.co_filename).stem in ("memory", "test_write_sites"):
            operation = frame.f_code.co_name
            assert frame.f_back is not None
            frame = frame.f_back
        module = Path(frame.f_code.co_filename).stem
        self.sites.add((module, frame.f_code.co_name, operation))
        super()._write()


def sites_of_the_history() -> set[Site]:
    """The writers in the history of the crash images, and when each writes after a crash."""
    storage = WatchedStorage()
    archive = Archive(storage, SMALL_SEGMENT)
    for do, _ in HISTORY:
        do(archive)
    storage.append(segment_name(max(archive.recording._starts)), b"torn")
    storage.create("node-state.dat.new")
    del archive
    Archive(storage, SMALL_SEGMENT)
    return storage.sites


def damaged() -> tuple[WatchedStorage, MemoryStorage]:
    """Two recordings of one log, of which one is rotten."""
    rotten, sound = WatchedStorage(), MemoryStorage()
    for storage in (rotten, sound):
        recording = Recording(storage, segment_length=SMALL_SEGMENT)
        for number in range(12):
            recording.append(b"%d" % number * 40)
            recording.sync()
    for name in ("0-0.rec", rotten.names()[2]):
        rotten.spoil(name, 40)
    return rotten, sound


def test_every_write_of_the_archive_is_tried_as_a_boundary() -> None:
    rotten, sound = damaged()
    repair(rotten, sound)
    tried = sites_of_the_history() | rotten.sites

    assert sites_in_code() - tried == set()
    assert len(tried & sites_in_code()) > 15


@pytest.mark.parametrize("power", [True, False])
def test_a_repair_after_a_crashed_repair_is_complete(power: bool) -> None:
    whole, sound = damaged()
    repair(whole, sound)
    boundary = 0
    while True:
        storage, sound = damaged()
        storage.fail_before = storage.writes + boundary
        try:
            repair(storage, sound)
            break
        except PowerFailure:
            storage.fail_before = -1
        for image in storage.images(IMAGES) if power else (storage,):
            with suppress(ArchiveError):  # All had been put back.
                repair(image, sound)
            archive = Archive(image, SMALL_SEGMENT)
            replayed = [one.payload for one in archive.recording.replay(0, 1 << 40)]
            assert replayed == [b"%d" % number * 40 for number in range(12)], boundary
            archive.change(Change(candidate_term_id=1), timestamp=1)
        boundary += 1

    assert boundary == 10
