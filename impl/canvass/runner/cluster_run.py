"""The course of one run of a cluster: start, faults and load, end, comparison, report."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from canvass.cluster.messages import Record
from canvass.cluster.predicates import is_quorum
from canvass.runner.commands import Command, TimedCommand, TypedCommands
from canvass.runner.configuration import MemberConfig, MemberStatus, cluster_folder, lock_folder
from canvass.runner.load import Load, LoadBook
from canvass.runner.supervisor import Supervisor, free_ports, until

_PERIOD_S: Final = 0.25
_PART: Final = re.compile(r"snapshot-(\d+)-service-(\d+)\.dat")


def end_limit_s(clock: int) -> float:
    """The time limit for members to agree on a leader, and for clients to be answered, in seconds.

    It allows several elections of a cluster whose durations are divided by ``clock``, and some
    seconds in which a busy machine does not run a process.
    """
    return 30 + 400 / clock


def _may_elect(supervisor: Supervisor) -> bool:
    """Whether no process has failed, or a quorum of processes runs."""
    count = len(supervisor.configs)
    up = sum(supervisor.is_up(i) for i in range(count))
    return not supervisor.failures or is_quorum(up, count)


def was_ended(supervisor: Supervisor) -> bool:
    """Whether an operator has ended the cluster by a toggle."""
    return "toggle shutdown" in supervisor.done or "toggle abort" in supervisor.done


async def await_agreement(supervisor: Supervisor, clock: int) -> list[str]:
    """Start all members, and wait until they agree on a leader. Return the problems."""
    await supervisor.carry_out(Command("resume", "all"))
    await supervisor.carry_out(Command("start", "all"))
    limit_s = time.monotonic() + end_limit_s(clock)
    while time.monotonic() < limit_s:
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
        if not _may_elect(supervisor):
            return ["fewer members than a quorum can start"]
        await asyncio.sleep(_PERIOD_S)
    return ["the members did not agree on a leader in time"]


def compare_services(folders: Iterable[Path]) -> tuple[int, list[str]]:
    """Compare the snapshots of services that different members took at the same positions.

    Parameters
    ----------
    folders
        The archives of the members, which have ended.

    Returns
    -------
    tuple of int and list of str
        The number of positions at which at least two members have snapshots; and a sentence for
        each difference.
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
                f"service {service_id} differs at position {position} between"
                f" {path.parent.name} and {paths[0].parent.name}"
                for path, content in zip(paths, contents, strict=True)
                if content != contents[0]
            ]
    return len(positions), problems


class View(Protocol):
    """A view of a cluster while it runs."""

    def say(self, words: str) -> None:
        """Show a line."""


ViewOf: TypeAlias = Callable[[Supervisor, Load | None], AbstractContextManager[View]]
"""A function that creates a view of a supervisor and its load."""


class ClusterReport(Record, frozen=True):
    """The result of a run, which ``canvass run --format json`` writes."""

    ok: bool
    seconds: float
    members: int
    revision: str
    run: str
    """The folder of the recorded run."""
    done: dict[str, int]
    """The number of times that each command was carried out."""
    terms: int
    """The newest leadership term."""
    steps: int
    committed_bytes: int
    requests_offered: int
    requests_acknowledged: int
    counter: int | None
    positions_compared: int
    """The number of log positions at which the services of members were equal."""
    latency_ms: dict[str, float]
    problems: list[str]


@dataclass(frozen=True)
class ClusterOptions:
    """The options of a run: members, duration, faults and load."""

    members: int
    out: Path
    seconds: float
    clock: int
    revision: str
    services: int
    script: list[TimedCommand]
    load: float
    again: bool


async def run_cluster(options: ClusterOptions, view_of: ViewOf) -> ClusterReport:
    """Run a cluster until its time is over or a command ends it, and compare its members.

    Parameters
    ----------
    options
        The options of the run.
    view_of
        A function that creates the view. It takes the supervisor and the load.

    Raises
    ------
    RunnerError
        If the folder is not empty, is another cluster's, or its cluster is running.
    """
    supervisor = _supervisor(options)
    load = Load(supervisor.endpoints, options.load, options.clock) if options.load else None
    began_s = time.monotonic()
    value = None
    problems: list[str] = []
    held = ExitStack()
    held.enter_context(lock_folder(supervisor.folder.root))
    try:
        with view_of(supervisor, load) as view:
            for i in range(options.members):
                await supervisor.start(i)
            # The clients' latencies do not include the start.
            await until(
                lambda: supervisor.leader() is not None or not _may_elect(supervisor),
                200 / options.clock,
            )
            began_s = time.monotonic()  # Times of a script count from the first leader on.
            limit_s = end_limit_s(options.clock)
            if load is None or (_may_elect(supervisor) and await load.start(limit_s)):
                await _run_until_end(options, supervisor, view, began_s)
            else:
                problems.append("no request was offered: no leader answered the clients")
            seconds = time.monotonic() - began_s
            ended = was_ended(supervisor)
            if not ended:
                problems += await await_agreement(supervisor, options.clock)
            if load is not None and not problems and not ended:
                value = await load.finish(limit_s)
                if value is None:
                    problems.append("the clients' last requests were not answered")
                elif not (supervisor.failures or await supervisor.snapshot()):
                    problems.append("the members did not take a last snapshot at the same position")
    finally:
        if load is not None:
            await load.close()
        statuses = [supervisor.status(i) for i in range(options.members)]
        await supervisor.stop_all()
        held.close()
    return _report(options, supervisor, load, statuses, round(seconds, 1), value, problems)


def _report(
    options: ClusterOptions,
    supervisor: Supervisor,
    load: Load | None,
    statuses: Iterable[MemberStatus | None],
    seconds: float,
    value: int | None,
    problems: list[str],
) -> ClusterReport:
    """Compare the services of the members, which have ended, and give the result."""
    book = LoadBook() if load is None else load.book
    if value is not None:
        problems += book.check(value)
    problems += supervisor.failures
    folders = [supervisor.folder.data(i) for i in range(options.members)]
    positions, different = compare_services(folders)
    problems += different
    known = [status for status in statuses if status is not None]
    return ClusterReport(
        ok=not problems,
        seconds=seconds,
        members=options.members,
        revision=options.revision,
        run=str(supervisor.folder.run),
        done=dict(sorted(Counter(words.split()[0] for words in supervisor.done).items())),
        terms=max((status.leadership_term_id for status in known), default=-1),
        steps=sum(status.steps for status in known),
        committed_bytes=max((status.commit_position for status in known), default=0),
        requests_offered=book.offered,
        requests_acknowledged=book.acknowledged,
        counter=value,
        positions_compared=positions,
        latency_ms={} if load is None else book.latencies(),
        problems=problems,
    )


def _supervisor(options: ClusterOptions) -> Supervisor:
    run_id = f"run-{options.revision}-{options.members}"
    folder = cluster_folder(options.out, run_id, again=options.again)
    cluster_id = secrets.randbits(62)
    ports = free_ports(2 * options.members)
    configs = [
        MemberConfig(
            cluster_id,
            i,
            options.members,
            options.revision,  # type: ignore[arg-type]  # It is one of the three.
            options.clock,
            ports[: options.members],
            ports[options.members :],
            str(folder.data(i)),
            options.services,
            str(folder.run),
            folder.run_id,
        )
        for i in range(options.members)
    ]
    supervisor = Supervisor(folder, configs)
    if options.again:
        supervisor.check_again()
    return supervisor


async def _run_until_end(
    options: ClusterOptions, supervisor: Supervisor, view: View, began_s: float
) -> None:
    """Carry out typed commands and those of the script until the run is over."""
    with TypedCommands(options.members, view.say) as commands:
        script = list(options.script)
        while True:
            passed_s = time.monotonic() - began_s
            while script and script[0].at_s <= passed_s:
                commands.queue.put_nowait(script.pop(0).command)
            while not commands.queue.empty():
                command = commands.queue.get_nowait()
                if command.action == "quit":
                    return
                before = len(supervisor.done)
                await supervisor.carry_out(command)
                if len(supervisor.done) == before:
                    view.say(f"{command}: nothing to do")
            if options.seconds and passed_s >= options.seconds:
                return
            up = any(supervisor.is_up(i) for i in range(options.members))
            if was_ended(supervisor) and not up:
                return
            due_s = script[0].at_s - passed_s if script else _PERIOD_S
            await asyncio.sleep(max(0.0, min(_PERIOD_S, due_s)))
