"""Corrupted copies of logs are contradicted at the line that is false, wherever that is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from canvass.traces.aeron_import.proposing import propose
from canvass.traces.aeron_log.logs import read_cluster
from support.aeron_corruptions import KINDS, FalseCopy, Logs, spread
from support.aeron_hostile import HostileCluster
from support.aeron_runs import SAMPLES, captures, lines_of, write_logs
from support.aeron_text import texts_of

SEVERAL = 3
MANY = 8


def logs_of(path: Path) -> Logs:
    return {member_id: lines_of(path, member_id) for member_id in range(3)}


def assert_named(copies: list[FalseCopy], folder: Path) -> None:
    """Each copy is contradicted by its false line; none by another, and none is explained."""
    named: list[str] = []
    for number, copy in enumerate(copies):
        found = propose(read_cluster([write_logs(folder / str(number), copy.logs)]))
        assert found.stopped is None, copy
        assert found.failure is not None, f"{copy} is explained"
        evidence = found.proposals[found.failure.member_id].evidence
        line = evidence.records[found.failure.index].line
        # A role is changed for the change of the state that comes next, and false only with that.
        before = line - 1 if copy.kind == "false role" else line
        if found.failure.member_id != copy.member_id or copy.line not in (before, line):
            where = f"member-{found.failure.member_id}.log:{line}"
            named.append(f"{copy}, and {where} is named: {found.failure.reason}")

    assert named == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_the_samples(path: Path, kind: str, tmp_path: Path) -> None:
    assert_named(spread(KINDS[kind](logs_of(path)), SEVERAL), tmp_path)


@pytest.mark.night
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_all_captures(path: Path, kind: str, tmp_path: Path) -> None:
    assert_named(spread(KINDS[kind](logs_of(path)), MANY), tmp_path)


def is_there_and_back(copy: FalseCopy) -> bool:
    """Whether each of the two changes that have changed places leads to where the other begins."""
    lines = copy.logs[copy.member_id]
    changes = [line for line in lines[copy.line - 1 :] if " ELECTION_STATE_CHANGE " in line][:2]
    (_, middle), (begin, end) = (re.findall(r"\b([A-Z_]{4,})\b", one)[2:4] for one in changes)
    first = re.findall(r"\b([A-Z_]{4,})\b", changes[0])[2]
    return (begin, end) == (middle, first)


@pytest.mark.parametrize("path", [path for path in captures() if path.name == "s1-with-sends"])
def test_changes_there_and_back_that_have_changed_places(path: Path, tmp_path: Path) -> None:
    """Between the two the states fit, and not around them: no line is missing."""
    copies = [copy for copy in KINDS["swapped changes"](logs_of(path)) if is_there_and_back(copy)]

    assert len(copies) >= SEVERAL
    assert_named(spread(iter(copies), SEVERAL), tmp_path)


def made_up(seed: int, story: str) -> Logs:
    cluster = HostileCluster(seed, 3, story)
    cluster.run(10_000)
    return texts_of({i: node.lines for i, node in enumerate(cluster.nodes)})


@pytest.mark.night
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_made_up_clusters(seed: int, kind: str, tmp_path: Path) -> None:
    assert_named(spread(KINDS[kind](made_up(seed, "tails")), SEVERAL), tmp_path)


@pytest.mark.parametrize(("seed", "kind"), [(0, "no votes"), (2, "commit beyond")])
def test_a_silence_excuses_nothing_that_comes_after_it(
    seed: int, kind: str, tmp_path: Path
) -> None:
    """A member that is cut off in one direction is silent as if lines were missing; what follows
    the next line that shows where it stands is false all the same.
    """
    assert_named(spread(KINDS[kind](made_up(seed, "tails")), SEVERAL), tmp_path)


def test_there_is_something_of_each_kind() -> None:
    """A kind of falsehood that finds no place in any capture would be tested by nothing."""
    logs = [logs_of(path) for path in captures()]
    cluster = HostileCluster(1, 3, "tails")
    cluster.run(10_000)
    logs.append(texts_of({i: node.lines for i, node in enumerate(cluster.nodes)}))

    assert set(KINDS) == {
        kind for kind in KINDS if any(next(KINDS[kind](one), None) for one in logs)
    }
