"""Captured logs that tests import, wherever they are, and how proposals are checked without the
checker: each step against the core, each receipt against its send.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from canvass.cluster.core import step as core_step
from canvass.traces.aeron_import.proposal import Proposal
from canvass.traces.aeron_import.proposing import Imported, propose
from canvass.traces.aeron_log.logs import ClusterLogs, MemberLog, read_cluster
from canvass.traces.aeron_log.records import LogRecord

_ROOT = Path(__file__).parents[2]
OTHERS = _ROOT.parent / "shared" / "aeron-traces"
"""More captured scenarios, on machines that have them."""
_FOLDERS = (_ROOT / "samples" / "aeron", _ROOT / "tests" / "captures", OTHERS)


SAMPLES = sorted(path for path in _FOLDERS[0].iterdir() if path.is_dir())
"""The captured scenarios that are part of the project."""


RELEASES = sorted((_ROOT / "tests" / "captures" / "releases").iterdir())
"""One captured cluster of each release line, and two with the events of production."""

FINDING = _ROOT / "samples" / "aeron-hz6"
"""The captured cluster on which a safety property did not hold."""

MORE_RELEASES = OTHERS.parent / "aeron-captures"
"""More captured clusters of several releases, on machines that have them."""


def captures() -> list[Path]:
    """The folder of each captured scenario: the committed ones, and more where there are."""
    found: dict[str, Path] = {}
    for folder in _FOLDERS:
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if (path / "config.json").is_file():
                found.setdefault(path.name, path)
    return list(found.values())


def with_truth(name: str) -> list[Path]:
    """Captured scenarios of which there is a file that tells what was really there."""
    return [path for path in captures() if truth_of(path, name).is_file()]


def truth_of(path: Path, name: str) -> Path:
    """A file that tells what was really there in a captured scenario; or where it would be."""
    places = [folder / path.name / name for folder in _FOLDERS]
    return next((place for place in places if place.is_file()), places[-1])


@cache
def imported(path: Path) -> Imported:
    """The logs of a folder, made into proposals; once for all tests that look at them."""
    return propose(read_cluster([path]))


@cache
def lines_of(path: Path, member_id: int) -> tuple[str, ...]:
    """The lines of a member's log."""
    with gzip.open(path / f"member-{member_id}.log.gz", "rt") as file:
        return tuple(file.read().splitlines())


def write_logs(folder: Path, logs: Mapping[int, list[str]]) -> Path:
    """Write logs as a cluster leaves them."""
    folder.mkdir(parents=True)
    for member_id, lines in logs.items():
        (folder / f"member-{member_id}.log").write_text("\n".join(lines) + "\n")
    return folder


def logs_of_nodes(lines: Mapping[int, list[LogRecord]]) -> ClusterLogs:
    """The logs that a made-up cluster has written."""
    members = {
        i: MemberLog(i, (Path(f"member-{i}.log"),), list(found), [], {})
        for i, found in lines.items()
    }
    return ClusterLogs(members, (), ())


def wrong_steps(found: Imported) -> list[str]:
    """What the core does not do of the proposed steps, and receipts without a send."""
    return [
        problem
        for proposal in found.proposals.values()
        for problem in (*_steps_not_of_core(found, proposal), *_receipts_not_sent(found, proposal))
    ]


def _steps_not_of_core(found: Imported, proposal: Proposal) -> Iterator[str]:
    before = proposal.found
    for number, step in enumerate(proposal.steps):
        outcome = core_step(found.rules, proposal.member_id, before, step.action, step.given)
        sends = () if outcome is None else tuple((s.to, s.message) for s in outcome.sends)
        if outcome is None or outcome.next != step.state or sends != step.sends:
            yield f"member {proposal.member_id}, step {number}: {step.action}"
        before = step.state


def _receipts_not_sent(found: Imported, proposal: Proposal) -> Iterator[str]:
    sent = {
        (sender.member_id, step.first + place): send
        for sender in found.proposals.values()
        for step in sender.steps
        for place, send in enumerate(step.sends)
    }
    latest: dict[int, int] = {}
    for number, step in enumerate(proposal.steps):
        delivery = step.delivery
        if delivery is None:
            continue
        expected = (proposal.member_id, delivery.message)
        in_order = delivery.number > latest.get(delivery.sender, -1)
        latest[delivery.sender] = delivery.number
        if sent.get((delivery.sender, delivery.number)) != expected or not in_order:
            yield f"member {proposal.member_id}, step {number}: nobody sent {delivery.message}"
