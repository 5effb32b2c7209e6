"""How a run of a cluster ends: its members come together, and what their services hold is compared.

What is here reads the members' folders once they have ended; it writes nothing.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from canvass.runner.fault_script import Command
from canvass.runner.supervisor import Supervisor

_PERIOD_S: Final = 0.25
_PART: Final = re.compile(r"snapshot-(\d+)-service-(\d+)\.dat")


def end_limit_s(clock: int) -> float:
    """How long members may take to serve one leader, and then clients to be answered, in seconds.

    Some elections of a cluster whose durations are divided by ``clock``; on a busy machine a
    process may not run for seconds, whatever the clock.
    """
    return 30 + 400 / clock


def was_ended(supervisor: Supervisor) -> bool:
    """Whether an operator has ended the cluster, so that nothing is to be expected of it."""
    return "toggle shutdown" in supervisor.done or "toggle abort" in supervisor.done


async def come_together(
    supervisor: Supervisor, clock: int, refresh: Callable[[], None]
) -> list[str]:
    """Start what is down, and wait until all serve one leader; if not, say so."""
    await supervisor.obey(Command("resume", "all"))
    await supervisor.obey(Command("start", "all"))
    limit_s = time.monotonic() + end_limit_s(clock)
    while time.monotonic() < limit_s:
        refresh()
        statuses = [supervisor.status(i) for i in range(len(supervisor.configs))]
        leader = supervisor.leader()
        if leader is not None and all(
            status is not None
            and status.election_state == "CLOSED"
            and status.leader_member_id == leader
            for status in statuses
        ):
            return []
        if supervisor.failures and None in statuses and leader is not None:
            return []  # A member that failed would fail again; the report names it.
        await asyncio.sleep(_PERIOD_S)
    return ["the members did not come to serve one leader"]


def compare_services(folders: Iterable[Path]) -> tuple[int, list[str]]:
    """Compare the snapshots of services that different members took at the same positions.

    Parameters
    ----------
    folders
        The archives of the members, which have ended.

    Returns
    -------
    tuple of int and list of str
        At how many positions at least two members have snapshots; and what is not equal, in words.
    """
    parts: dict[tuple[int, int], list[Path]] = defaultdict(list)
    for folder in folders:
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            found = _PART.fullmatch(path.name)
            if found is not None:
                parts[int(found[1]), int(found[2])].append(path)
    positions, problems = set(), []
    for (position, service_id), paths in sorted(parts.items()):
        if len(paths) > 1:
            positions.add(position)
            contents = [path.read_bytes() for path in paths]
            problems += [
                f"service {service_id} is another one at {position} in {path.parent.name} than in"
                f" {paths[0].parent.name}"
                for path, content in zip(paths, contents, strict=True)
                if content != contents[0]
            ]
    return len(positions), problems
