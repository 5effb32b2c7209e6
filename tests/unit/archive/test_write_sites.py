"""Crashes are tried at every place in the code that writes to a disk."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import canvass.archive.archive
from canvass.archive.archive import Archive
from canvass.archive.memory import MemoryStorage
from canvass.archive.recording import segment_name
from support.archive_history import HISTORY, SMALL_SEGMENT

WRITES = ("create", "append", "truncate", "sync", "rename", "remove", "sync_folder")
APART = ("files", "memory", "storage")
"""The modules that are a disk."""

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
    storage.create("state.dat.new")
    del archive
    Archive(storage, SMALL_SEGMENT)
    return storage.sites


def test_every_write_of_the_archive_is_tried_as_a_boundary() -> None:
    tried = sites_of_the_history()

    assert sites_in_code() - tried == set()
    assert len(tried & sites_in_code()) > 15
