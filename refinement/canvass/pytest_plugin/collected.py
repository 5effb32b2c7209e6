"""Runs on disk as tests: those that a marker names, and run folders that are collected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from canvass.pytest_plugin.session import Session


def runs_named(root: Path, paths: Sequence[str | Path]) -> list[Path]:
    """Give the run folders of the corpora that a marker names, relative to the root folder.

    Raises
    ------
    pytest.UsageError
        If one is no corpus of run folders, or none is named: nothing checked is never a pass.
    """
    from canvass.traces.errors import TraceError
    from canvass.traces.run import Corpus

    if not paths:
        raise pytest.UsageError("canvass_runs names no folder of runs")
    found: list[Path] = []
    for path in paths:
        try:
            corpus = Corpus(root / path)
            corpus.need_paths()
        except TraceError as error:
            raise pytest.UsageError(f"canvass_runs: {error}") from None
        if corpus.files:
            raise pytest.UsageError(f"canvass_runs: {path}: a data set; run folders are due")
        found += corpus.folders
    return found


class RunDirectory(pytest.Directory):
    """A run folder that is collected."""

    checks: Session

    def collect(self) -> Iterator[RunItem]:
        """Give the one test that the folder is."""
        item: RunItem = RunItem.from_parent(self, name="conforms")
        item.checks = self.checks
        yield item


class RunItem(pytest.Item):
    """The test that a run on disk conforms."""

    checks: Session

    def runtest(self) -> None:
        """Check it."""
        checked = self.checks.check(self.path)
        self.user_properties.append(("canvass.verdict", checked.verdict))
        if checked.verdict != "CONFORMS":
            raise NotConforming(self.checks.failure_text(checked, self.path))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """Show what is wrong with the run, without a traceback."""
        if isinstance(excinfo.value, NotConforming):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[Path, None, str]:
        """Name the test in reports."""
        return self.path, None, f"{self.path.name}: conforms"


class NotConforming(Exception):
    """A run on disk has another verdict than ``CONFORMS``."""
