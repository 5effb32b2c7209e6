"""The core's table of actions: the same names as in the spec and in traces."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import canvass.cluster.core as core
from canvass.cluster.core import (
    ACTIONS,
    ELECTION_HANDLERS,
    MESSAGE_HANDLERS,
    OTHER_HANDLERS,
    action_name,
    step,
)
from canvass.cluster.member import ElectionState, Input
from canvass.cluster.messages import MESSAGE_TYPES, RequestVote
from canvass.cluster.rules import HAZARDS, Rules
from canvass.cluster.transitions import persistent_member
from canvass.steps.oracle import REVISION_MODULES, overrides
from canvass.traces.actions import Action

ROOT = Path(__file__).resolve().parents[3]
SOURCES = sorted(Path(core.__file__).resolve().parent.glob("*.py"))


def actions_of_the_spec(name: str) -> set[str]:
    """The strings of a table of actions in ``Member.tla``."""
    text = (ROOT / "spec" / "Member.tla").read_text()
    found = re.search(rf"^{name} ==\s*<<([^>]*)>>", text, re.MULTILINE)
    assert found, f"{name} is not in Member.tla"
    return set(re.findall(r'"(\w+)"', found[1]))


@pytest.mark.parametrize(
    ("name", "handlers"),
    [
        ("MessageTable", MESSAGE_HANDLERS),
        ("ElectionTable", ELECTION_HANDLERS),
        ("OtherTable", OTHER_HANDLERS),
    ],
)
def test_handlers_bear_the_names_of_the_spec(name: str, handlers: tuple[core.Handler, ...]) -> None:
    assert actions_of_the_spec(name) == {action_name(handler) for handler in handlers}


def operators(module: str) -> set[str]:
    text = (ROOT / "spec" / f"{module}.tla").read_text()
    return set(re.findall(r"^(\w+)(?:\([^)]*\))?\s*==", text, re.MULTILINE))


def functions(*modules: str) -> set[str]:
    """The functions of modules of the core, by the names that the spec would give them."""
    names: set[str] = set()
    for module in modules:
        tree = ast.parse(SOURCES[0].with_name(f"{module}.py").read_text())
        found = (node.name for node in tree.body if isinstance(node, ast.FunctionDef))
        names |= {"".join(word.capitalize() for word in name.split("_")) for name in found}
    return names


HANDLERS_OF_ELECTIONS = ("election", "election_leader", "election_follower", "election_messages")


def test_rules_of_elections_and_their_guards_bear_the_names_of_the_spec() -> None:
    """Each operator of ``Election.tla`` is a function of the core, and each such function one.

    What another revision or a hardening overrides may be a line of the function that asks.
    """
    handlers = functions(*HANDLERS_OF_ELECTIONS)
    overridden = overrides("1.49", ()) | overrides("upstream-fix", ()) | overrides("1.50", HAZARDS)

    assert (
        operators("Election") - handlers - functions("predicates", "transitions") - set(overridden)
    ) == {"Recovered"}
    assert handlers - set().union(
        *map(operators, ("Election", "MemberState", *REVISION_MODULES))
    ) == {
        *("AppendPosition", "WithoutCatchupReplay"),  # that sends or writes one value
    }


def test_actions_are_those_of_traces() -> None:
    assert {action.value for action in Action} == set(ACTIONS)


def test_each_message_has_its_handler() -> None:
    names = {f"On{kind.__name__}" for kind in MESSAGE_TYPES}

    assert names == {action_name(handler) for handler in MESSAGE_HANDLERS}


def test_each_election_state_has_its_handler() -> None:
    """But CLOSED, in which there is no election, has none, and INIT has ``ElectionInit``."""
    states = {
        "".join(word.capitalize() for word in state.value.split("_")) for state in ElectionState
    }

    assert states - {"Init", "Closed"} | {"ElectionInit"} == {
        action_name(handler) for handler in ELECTION_HANDLERS
    }


def test_a_step_of_an_unknown_action_is_refused() -> None:
    rules = Rules.of("1.50")
    with pytest.raises(KeyError):
        step(rules, 0, persistent_member(rules), "Sleep", Input())


def test_a_message_of_another_type_is_refused() -> None:
    rules = Rules.of("1.50")
    vote = Input(message=RequestVote(0, 0, 1, 1))
    with pytest.raises(TypeError, match="the step handles a Vote"):
        step(rules, 0, persistent_member(rules), "OnVote", vote)


def test_hardened_is_the_newest_revision_with_every_fix() -> None:
    assert Rules(3, "1.50", HAZARDS) == Rules.of("hardened")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((0,), "at least one member"),
        ((3, "1.48"), "'1.48' is none of 1.49, 1.50"),
        ((3, "1.50", frozenset({"HZ4"})), "no hardening is called HZ4"),
        ((3, "1.50", frozenset(), 3), "no member 3 to appoint"),
    ],
)
def test_rules_that_make_no_sense_are_refused(arguments: tuple[object, ...], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Rules(*arguments)  # type: ignore[arg-type]
