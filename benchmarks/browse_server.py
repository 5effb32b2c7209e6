"""``canvass browse`` as a process, and Chromium to look at it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

_FLAGS = ("--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--no-first-run")


@dataclass(frozen=True)
class Served:
    """A browser, the address of the page, and the process that serves it."""

    browser: Browser
    address: str
    process: int


@contextmanager
def served(paths: list[str | Path]) -> Iterator[Served]:
    """Serve some paths, and open Chromium; end with one line if there is no Chromium."""
    path = os.environ.get("CANVASS_CHROMIUM") or shutil.which("chromium")
    if path is None:
        raise SystemExit("no Chromium here: `make browser`")
    words = [sys.executable, "-m", "canvass.cli.main", "browse", "--no-open", *map(str, paths)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        try:
            with sync_playwright() as running:
                browser = running.chromium.launch(executable_path=path, args=list(_FLAGS))
                yield Served(browser, address, server.pid)
                browser.close()
        finally:
            server.terminate()
