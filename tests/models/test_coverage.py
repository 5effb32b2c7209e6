"""The table of actions, and the coverage of the models: every action, nearly every branch.

The actions that models of the cluster take are read from the labels of their state graphs.
``spec/coverage.json`` lists with a reason the branches that no model takes. The branches are those
of the modules that hold the rules of a member, marked in a copy of the spec
(`support.spec_branches`), in the models of one member in any environment and in some of a cluster.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from canvass.cluster.rules import Rules
from canvass.models.model_run import Settings, Standing, run_model
from canvass.spec.files import find_file, module_folders, spec_root
from canvass.spec.manifest import load_manifest
from canvass.steps.oracle import constants_of
from canvass.tlc.output import DumpEdge, Event, UserOutput, read_dump
from canvass.tlc.runner import check
from support.findings import config_of
from support.spec_branches import Branch, hit_by, mark

COVERAGE = spec_root() / "coverage.json"
MODELS = {model.name: model for model in load_manifest().models}
LIVED_ALONE = {"MaxSteps": "= 0"}
RULES: dict[str, tuple[str, dict[str, str]]] = {
    "two members, 1.49": ("MCMemberGraph2", constants_of(Rules.of("1.49", 2))),
    "two members, hardened": ("MCMemberGraph2", constants_of(Rules.of("hardened", 2))),
    "three members": ("MCMemberGraph3", LIVED_ALONE),
    "three members, hardened": ("MCMemberGraph3Hardened", LIVED_ALONE),
    "three members, upstream-fix": ("MCMemberGraph3UpstreamFix", LIVED_ALONE),
    "one member, 1.49": ("MCSingleNodeRev149", {}),
    "HZ1, 1.49": ("MCHazard1Rev149", {}),
    "HZ1, hardened": ("MCHazard1LossHardened", {}),
    "HZ6, hardened": ("MCHazard6Hardened", {}),
    "HZ3, upstream-fix": ("MCLiveHZ3StandsAgain", {}),
}
"""The models that take all branches between them, and the constants in which they differ from the
configuration. Fewer steps around the lives of a member make a model small enough."""

EXERCISES = (
    *("BallotMutants", "CommitMutants", "JoinMutants", "LogMutants"),
    "MCHazard1LossHardened",
    "MCSingleNode",
)
"""Models that hold, with graphs small enough to write, that together take every step."""


class Untaken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A branch that no model takes, with the reason."""

    module: str
    operator: str
    before: str
    text: str
    reason: str

    def branch(self) -> Branch:
        return Branch(self.module, self.operator, self.before, self.text)


class Coverage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``spec/coverage.json``: the branches that no model takes."""

    untaken: list[Untaken]


def coverage() -> Coverage:
    return msgspec.json.decode(COVERAGE.read_bytes(), type=Coverage)


def module(name: str) -> str:
    return (spec_root() / f"{name}.tla").read_text()


def actions() -> list[str]:
    """Give the names in the action table of Member.tla."""
    tables = re.findall(r"^\w+Table ==\s*<<(.*?)>>", module("Member"), re.MULTILINE | re.DOTALL)
    return sorted(name for one in tables for name in re.findall(r'"(\w+)"', one))


def disjuncts(name: str) -> Iterator[str]:
    """Give the operators of the disjuncts of Next."""
    body = module(name).partition("\nNext ==\n")[2].partition("\n\n")[0]
    for disjunct in body.split("\\/"):
        found = re.fullmatch(r"(?:\\E [\w, ]+ \\in \w+ : )?(\w+)(?:\([\w, ]+\))?", disjunct.strip())
        if found:
            yield found[1]


def test_a_step_is_one_of_the_table_of_actions() -> None:
    arms = re.findall(r'action = "(\w+)"\s+-> (\w+)\(i, s, x\)', module("Member"))

    assert [action for action, operator in arms if action != operator] == []
    assert sorted(action for action, _ in arms) == actions()


def steps_of_a_cluster() -> list[str]:
    """A restart loses what was under way to the member, so it is not called a step of it alone."""
    taken = {f"Take{action}" for action in actions()} - {"TakeRestart"}
    return sorted(taken | {"RestartMember", "Lose"})


def test_the_next_step_of_a_cluster_is_one_of_the_table_of_actions_or_a_loss() -> None:
    assert sorted(disjuncts("Cluster")) == steps_of_a_cluster()


def steps_in_the_graph_of(name: str, folder: Path) -> set[str]:
    entry = MODELS[name]
    dump = folder / f"{name}.dot"
    result = check(
        find_file(f"{entry.module}.tla"),
        config_of(entry),
        library=module_folders(),
        dump=dump,
    )
    assert result.ok, f"{name}: {result.message}"
    steps = {item.action for item in read_dump(dump) if isinstance(item, DumpEdge)} - {"Rest"}
    dump.unlink()
    return steps


@pytest.mark.tlc
@pytest.mark.night
def test_every_step_of_a_cluster_is_taken_by_a_model_that_holds(tmp_path: Path) -> None:
    labels = [steps_in_the_graph_of(name, tmp_path) for name in EXERCISES]

    assert sorted(set().union(*labels)) == steps_of_a_cluster()


def test_every_branch_listed_as_untaken_exists_and_has_a_reason(tmp_path: Path) -> None:
    folder = tmp_path / "spec"
    shutil.copytree(spec_root(), folder)

    assert {one.branch() for one in coverage().untaken} <= set(mark(folder))
    assert all(len(one.reason.split()) > 3 for one in coverage().untaken)


@pytest.mark.tlc
@pytest.mark.night
def test_every_branch_of_the_rules_is_taken_or_listed_with_a_reason(tmp_path: Path) -> None:
    folder = tmp_path / "spec"
    shutil.copytree(spec_root(), folder)
    branches = mark(folder)
    hits: set[int] = set()

    def note(event: Event) -> None:
        if (number := hit_by(event.line) if isinstance(event, UserOutput) else None) is not None:
            hits.add(number)

    # TLC's registers belong to its workers.
    settings = Settings(workers=1)
    for name, (model, constants) in RULES.items():
        entry = MODELS[model]
        if constants:
            counts = {"distinct_states": None, "depth": None}
            entry = structs.replace(entry, **counts)
        run = run_model(folder, entry, settings, note, constants)
        assert run.comparison.standing is Standing.AS_EXPECTED, f"{name}: {run.comparison.reason}"

    missed = sorted(branch for number, branch in enumerate(branches) if number not in hits)
    assert missed == sorted(one.branch() for one in coverage().untaken)
