"""The configuration of a member's process, and the status that the process reports."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import msgspec

from canvass.cluster.messages import Record
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


def cluster_folder(root: Path, run_id: str, *, again: bool) -> ClusterFolder:
    """The folder of a new cluster, which is created; or of one that has run before.

    Raises
    ------
    RunnerError
        If the folder of a new cluster is not empty, or the other one has no cluster.
    """
    if not again and root.exists() and any(root.iterdir()):
        raise RunnerError(f"{root} is not empty; name a new or empty folder")
    if again and not (root / "data").is_dir():
        raise RunnerError(f"{root} is not the folder of a cluster: data is missing")
    root.mkdir(parents=True, exist_ok=True)
    return ClusterFolder(root, run_id)


@contextmanager
def lock_folder(root: Path) -> Iterator[None]:
    """Lock the folder of a cluster: no other process can run the cluster meanwhile.

    Raises
    ------
    RunnerError
        If another process runs the cluster.
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
    """The divisor of Aeron's durations."""
    member_ports: list[int]
    ingress_ports: list[int]
    data_folder: str
    services: int
    """The number of services, each a counter."""
    run_folder: str
    """The folder of the recorded run."""
    run_id: str


class MemberStatus(msgspec.Struct, frozen=True):
    """The status of a member."""

    member_id: int
    election_state: str
    role: str
    module_state: str
    toggle: str
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


class Mark(Record, frozen=True):
    """The mark file of a member: its process, the time in milliseconds, and its status."""

    pid: int
    activity_timestamp: int
    status: MemberStatus


MARK_FILE: Final = ".cluster-mark.json"


def read_mark(folder: Path, pid: int) -> MemberStatus | None:
    """The status in the mark file of a data folder, or None if the process has not written it."""
    try:
        mark = msgspec.json.decode((folder / MARK_FILE).read_bytes(), type=Mark)
    except (OSError, ValueError):
        return None
    return mark.status if mark.pid == pid else None


def read_config(path: Path) -> MemberConfig:
    """Read the configuration of a member.

    Raises
    ------
    RunnerError
        If the file is missing, or is not a configuration.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=MemberConfig)
    except FileNotFoundError:
        raise RunnerError(f"{path} is missing: the folder has no cluster") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RunnerError(f"{path} is not a member's configuration: {error}") from None
