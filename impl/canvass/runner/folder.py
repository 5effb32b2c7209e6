"""The folder of a cluster: where data, configurations, logs and recorded runs are."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from canvass.runner import RunnerError


@dataclass
class ClusterFolder:
    """The folder of one cluster, with the places in it."""

    root: Path
    run_id: str

    @property
    def run(self) -> Path:
        """The recorded run."""
        return self.root / "runs" / self.run_id

    def data(self, i: int) -> Path:
        """The archive of a member."""
        return self.root / "data" / f"member-{i}"

    def config(self, i: int) -> Path:
        """The configuration of a member."""
        return self.root / "data" / f"member-{i}.json"

    def log(self, i: int) -> Path:
        """The stderr of a member."""
        return self.root / "data" / f"member-{i}.log"


def old_folder(root: Path, run_id: str) -> ClusterFolder:
    """Take up the folder of a cluster that has run."""
    if not (root / "data").is_dir():
        raise RunnerError(f"{root} is no folder of a cluster")
    return ClusterFolder(root, run_id)


def new_folder(root: Path, run_id: str) -> ClusterFolder:
    """Make the folder of a cluster.

    Raises
    ------
    RunnerError
        If there is something in it.
    """
    if root.exists() and any(root.iterdir()):
        raise RunnerError(f"{root} is not empty; a cluster keeps its things in a folder of its own")
    root.mkdir(parents=True, exist_ok=True)
    return ClusterFolder(root, run_id)


@contextmanager
def alone_in(root: Path) -> Iterator[None]:
    """Lock the folder, so that no other process runs its cluster meanwhile.

    Raises
    ------
    RunnerError
        If another process runs it.
    """
    folder = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise RunnerError(f"{root}: its cluster is running") from None
    finally:
        os.close(folder)
