"""The configuration of a member's process, and the status that the process reports."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

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
        raise RunnerError(f"{root} is not the folder of a cluster: data is missing")
    return ClusterFolder(root, run_id)


def new_folder(root: Path, run_id: str) -> ClusterFolder:
    """Make the folder of a cluster.

    Raises
    ------
    RunnerError
        If there is something in it.
    """
    if root.exists() and any(root.iterdir()):
        raise RunnerError(f"{root} is not empty; name a new or empty folder")
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


class MemberConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The configuration of a member's process: the file that it is started with."""

    cluster_id: int
    member_id: int
    member_count: int
    revision: Literal["1.49", "1.50", "hardened"]
    clock: int
    """By how much all of Aeron's durations are divided."""
    member_ports: list[int]
    ingress_ports: list[int]
    data_folder: str
    services: list[str]
    """The names of the applications, in the order of their ids."""
    run_folder: str = ""
    """Where steps are recorded; empty for nowhere."""
    run_id: str = ""
    sync: bool = True
    secret: str = ""
    """What clients have to know; empty if everybody is let in."""


class MemberStatus(msgspec.Struct, frozen=True):
    """How a member is: a line of its stdout."""

    member_id: int
    election_state: str
    role: str
    module_state: str
    toggle: str
    node_toggle: str
    leadership_term_id: int
    leader_member_id: int
    recorded_position: int
    commit_position: int
    service_positions: list[int]
    snapshot_position: int
    sessions: int
    steps: int
    max_cycle_ms: float
    cycles_exceeded: int
    counters: dict[str, int]
    ended: bool = False


def read_config(path: Path) -> MemberConfig:
    """Read the configuration of a member.

    Raises
    ------
    RunnerError
        If the file is not there, or is not that.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=MemberConfig)
    except FileNotFoundError:
        raise RunnerError(f"{path} is missing: there is no such cluster") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RunnerError(f"{path} is not a member's configuration: {error}") from None
