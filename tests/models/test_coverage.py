"""The table of actions, and what the models exercise: every branch but those with a reason.

The branches are those of the modules that hold the rules of a member, marked in a copy of the spec
(`support.spec_branches`), in the models of one member in any environment and in some of a cluster.
``spec/coverage.json`` lists the branches that none of them takes.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from canvass.cli.models import Settings, run_model
from canvass.spec import load_manifest, spec_root
from canvass.tlc import Event, UserOutput, find_jar, find_java
from support.spec_branches import Branch, hit_by, mark

MODELS = {model.name: model for model in load_manifest().models}
RULES = (
    *("LogMutants", "JoinMutants", "MCHazard1LossHardened", "MCHazard6Hardened"),
    "MCMemberGraph1",
    "MCMemberGraph2",
    "MCMemberGraph3",
    "MCMemberGraph3Rev149",
    "MCMemberGraph3Hardened",
)


class Untaken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A branch that no model takes, and why."""

    module: str
    operator: str
    before: str
    text: str
    reason: str

    def branch(self) -> Branch:
        return Branch(self.module, self.operator, self.before, self.text)


def untaken() -> list[Untaken]:
    text = (spec_root() / "coverage.json").read_bytes()
    return msgspec.json.decode(text, type=list[Untaken])


def module(name: str) -> str:
    return (spec_root() / f"{name}.tla").read_text()


def actions() -> list[str]:
    """The names in the action table of Member.tla."""
    sets = re.findall(r"^\w+Actions ==\s*\{(.*?)\}", module("Member"), re.MULTILINE | re.DOTALL)
    return sorted(name for one in sets for name in re.findall(r'"(\w+)"', one))


def disjuncts(name: str) -> Iterator[str]:
    """The operators that the disjuncts of Next name."""
    body = module(name).partition("\nNext ==\n")[2].partition("\n\n")[0]
    for disjunct in body.split("\\/"):
        found = re.fullmatch(r"(?:\\E [\w, ]+ \\in \w+ : )?(\w+)(?:\([\w, ]+\))?", disjunct.strip())
        if found:
            yield found[1]


def test_a_step_is_one_of_the_table_of_actions() -> None:
    arms = re.findall(r'action = "(\w+)"\s+-> (\w+)\(i, s, x\)', module("Member"))

    assert [action for action, operator in arms if action != operator] == []
    assert sorted(action for action, _ in arms) == actions()


def test_the_next_step_of_one_member_is_one_of_the_table_of_actions() -> None:
    assert sorted(disjuncts("MemberGraph")) == sorted(f"Next{action}" for action in actions())
    said = re.findall(r'^Next(\w+)\s*== Do\("(\w+)"\)$', module("MemberGraph"), re.MULTILINE)
    assert [name for name, action in said if name != action] == []
    assert len(said) == len(actions())


def test_the_next_step_of_a_cluster_is_one_of_the_table_of_actions_or_a_loss() -> None:
    """A restart loses what was under way to the member, so it is not called a step of it alone."""
    expected = {f"Take{action}" for action in actions()} - {"TakeRestart"}

    assert sorted(disjuncts("Cluster")) == sorted(expected | {"RestartMember", "Lose"})


def test_what_is_listed_as_never_taken_is_a_branch_and_has_a_reason(tmp_path: Path) -> None:
    folder = tmp_path / "spec"
    shutil.copytree(spec_root(), folder)

    assert {one.branch() for one in untaken()} <= set(mark(folder))
    assert all(len(one.reason.split()) > 3 for one in untaken())


@pytest.mark.tlc
@pytest.mark.night
def test_every_branch_of_the_rules_is_taken_but_those_listed_with_a_reason(tmp_path: Path) -> None:
    folder = tmp_path / "spec"
    shutil.copytree(spec_root(), folder)
    branches = mark(folder)
    hits: set[int] = set()

    def note(event: Event) -> None:
        number = hit_by(event.line) if isinstance(event, UserOutput) else None
        if number is not None:
            hits.add(number)

    # TLC's registers belong to its workers.
    settings = Settings(jar=find_jar(), java=find_java(), workers=1)
    for name in RULES:
        entry = MODELS[name]
        run = run_model(folder, entry, settings, note)
        assert run.result.ok, f"{name}: {run.result.message}"

    missed = sorted(branch for number, branch in enumerate(branches) if number not in hits)
    assert missed == sorted(one.branch() for one in untaken())
