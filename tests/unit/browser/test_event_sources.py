"""The log lines of a run's events: whose logs are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.browser.runs import EventSources
from canvass.traces.alignment.importer import import_logs
from support.aeron_runs import SAMPLES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with links to logs, and the run that was imported from it."""
    folder = tmp_path_factory.mktemp("linked")
    (folder / "logs").mkdir()
    for log in SAMPLES[0].glob("member-*.log.gz"):
        (folder / "logs" / log.name).symlink_to(log)
    import_logs([folder / "logs"], folder / "logs" / "run")
    return folder


def test_links_in_the_logs_that_the_user_names_are_followed(folder: Path) -> None:
    sources = EventSources(folder / "logs" / "run", "run", folder / "logs")
    source = sources.of(0, 0)

    assert source is not None
    assert sources.lines(source)[0].startswith("[")


def test_links_beside_a_run_are_not_followed(folder: Path) -> None:
    """The run may be a stranger's, and its link may lead to any file of this machine."""
    sources = EventSources(folder / "logs" / "run", "run")
    source = sources.of(0, 0)

    assert source is not None
    assert sources.lines(source) == ()
