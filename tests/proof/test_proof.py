"""`canvass prove`: everything is proved, and each mistake in a module is found.

A push proves Log, and breaks it by each mistake, if anything has changed that decides an outcome
(`digest`). The night always does.
"""

from __future__ import annotations

import hashlib
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import z3

from canvass.cli import main
from canvass.proof import prove
from canvass.proof.prove import Obligation, obligations_of, read_uses, refute
from canvass.proof.sany import Module, ModuleError, read_module
from canvass.spec.files import module_digest, spec_root
from canvass.tlc.programs import find_jar

pytestmark = pytest.mark.tlc

FOLDER = Path(__file__).parent
PROOFS = spec_root()
NAMES = ("Ballots", "Log")
ACTIONS = {
    "Ballots": ("Learn", "Vote", "Refuse", "Win", "LeadAlone"),
    "Log": ("Vote", "Win", "Append", "Open", "Copy", "Truncate", "Report", "Commit"),
}


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One mistake: a text of a module and its replacement, and the obligation that fails."""

    name: str
    module: str
    fails: str
    before: str
    after: str


MUTANTS = msgspec.toml.decode((FOLDER / "mutants.toml").read_bytes(), type=dict[str, list[Mutant]])[
    "mutant"
]
RECORD = FOLDER / "proved.txt"
"""The digest of the last proof. ``pytest --rewrite tests/proof`` writes it."""


def digest() -> str:
    """Digest everything that decides an outcome, which a comment of a module does not.

    Z3 is bounded by steps, so outcomes repeat.
    """
    files = [
        PROOFS / prove.PROOFS,
        *sorted(Path(prove.__file__).parent.glob("*.py")),
        *(FOLDER / "mutants.toml", Path(__file__)),
    ]
    found = hashlib.sha256(f"{z3.get_version_string()} {find_jar().sha256}".encode())
    for name in NAMES:
        found.update(module_digest(PROOFS / f"{name}.tla").encode())
    for file in files:
        found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()


ALWAYS = ("Ballots", "a-second-vote-in-a-term", "no-HZ1")
"""Proved or broken in every push."""
UNCHANGED = RECORD.read_text().strip() == digest()
PROVED: set[str] = set()
"""The modules and mistakes whose outcomes this process has found as expected."""


@pytest.fixture(scope="module", autouse=True)
def record(rewrite: bool) -> Iterator[None]:
    """With ``--rewrite``, keep the digest of a whole proof."""
    yield
    if rewrite and {*NAMES, *(each.name for each in MUTANTS)} <= PROVED:
        RECORD.write_text(f"{digest()}\n")


def due(name: str, value: object) -> object:
    """Make a parameter: of the night if nothing has changed, unless every push has it."""
    late = UNCHANGED and name not in ALWAYS
    return pytest.param(value, id=name, marks=[pytest.mark.night] if late else [])


@pytest.mark.parametrize("name", [due(each, each) for each in NAMES])
def test_every_obligation_is_proved_whatever_was_proved_before(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one process Z3 does not come to an end in this order."""
    every = obligations_of(read_module(PROOFS / f"{name}.tla"))
    shuffled = random.Random(1).sample(every, len(every))
    monkeypatch.setattr("canvass.proof.prove.obligations_of", lambda _: shuffled)
    count, proofs = prove.prove(PROOFS / f"{name}.tla", processes=2)
    found = list(proofs)

    assert len(found) == count
    assert [(each.step, each.goal) for each in found if each.outcome != "proved"] == []
    assert {each.step for each in found} == {"Init", *ACTIONS[name], "Safety"}
    PROVED.add(name)


def is_possible(obligation: Obligation) -> bool:
    """Whether an instance has a step that satisfies the hypotheses."""
    return bool(obligation.solver(z3.BoolVal(False)).check() == z3.sat)


@pytest.mark.parametrize("name", NAMES)
def test_every_action_is_possible_where_the_lemmas_hold(name: str) -> None:
    """Else a proof about an action would say nothing. `LeadAlone` needs a single member."""
    module = read_module(PROOFS / f"{name}.tla")
    goal = obligations_of(module)[-1][1]
    possible = [
        each
        for each in ACTIONS[name]
        if any(is_possible(Obligation(module, each, goal, None, size)) for size in (2, 1))
    ]

    assert possible == list(ACTIONS[name])


@pytest.mark.parametrize("mutant", [due(each.name, each) for each in MUTANTS])
def test_a_mistake_breaks_its_lemma(mutant: Mutant, tmp_path: Path) -> None:
    module = read_module(written(mutant, tmp_path))
    step, goal = mutant.fails.split("/")

    assert refute(module, step, goal) is not None
    PROVED.add(mutant.name)


def test_a_counterexample_says_what_the_step_changes(tmp_path: Path) -> None:
    twice = next(each for each in MUTANTS if each.name == "a-second-vote-in-a-term")
    _, proofs = prove.prove(written(twice, tmp_path), only=[twice.fails])
    (found,) = proofs

    assert found.outcome == "refuted"
    assert found.counterexample is not None
    assert set(found.counterexample.parameters) == {"i", "t", "c"}
    assert set(found.counterexample.before) == {"persisted", "current", "votes", "leaders"}
    assert "votes" in found.counterexample.changed


def test_hints_name_lemmas_and_steps_that_exist(tmp_path: Path) -> None:
    shutil.copy(PROOFS / "Log.tla", tmp_path)
    (tmp_path / "proofs.json").write_text('{"Log": {"together": ["NoSuchLemma"]}}')
    path = tmp_path / "Log.tla"

    with pytest.raises(ModuleError, match="NoSuchLemma"):
        read_uses(path, read_module(path))


UNSUPPORTED = {
    "arithmetic": "x' = [x EXCEPT ![i] = x[i] + 1]",
    "a choice": "x' = [x EXCEPT ![i] = CHOOSE t \\in Terms : TRUE]",
    "an unbounded set": "\\E t \\in Nat : x' = [x EXCEPT ![i] = t]",
    "no next value": "x[i] = 0",
    "two next values": "x' = x /\\ UNCHANGED x",
    "two integers": "x' = [x EXCEPT ![i] = 0] /\\ x[i] = 1",
    "a part of a variable": "x' = x /\\ UNCHANGED x[i]",
}


@pytest.mark.parametrize("action", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_what_cannot_be_translated_is_refused(action: str, tmp_path: Path) -> None:
    path = tmp_path / "Some.tla"
    path.write_text(
        "---- MODULE Some ----\nEXTENDS Integers\nCONSTANTS Members, Terms\nVARIABLES x\n"
        "TypeOK == x \\in [Members -> Terms]\nInit == \\A i \\in Members : x[i] = 0\n"
        f"Step(i) == {action}\nNext == \\E i \\in Members : Step(i)\n"
        "Kept == \\A i \\in Members : 0 <= x[i]\nLemmas == Kept\nSafety == Kept\n====\n"
    )

    with pytest.raises(ModuleError):
        Obligation(read_module(path), "Step", "Kept", None)


def test_what_sany_rejects_is_refused_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "Bad.tla"
    path.write_text("---- MODULE Bad ----\nInit == Missing\n====\n")

    with pytest.raises(ModuleError, match="Missing"):
        read_module(path)


def written(mutant: Mutant, folder: Path) -> Path:
    """The module with the mistake, in a folder."""
    text = (PROOFS / f"{mutant.module}.tla").read_text("utf-8")
    assert text.count(mutant.before) == 1, mutant
    path = folder / f"{mutant.module}.tla"
    path.write_text(text.replace(mutant.before, mutant.after), "utf-8")
    return path


def test_the_parsed_module_has_the_names_of_its_text() -> None:
    module: Module = read_module(PROOFS / "Ballots.tla")

    assert module.constants == ("Members", "Terms", "Quorums")
    assert module.variables == ("persisted", "current", "votes", "leaders")


def test_the_command_shows_proofs_and_counterexamples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mistaken = written(
        next(each for each in MUTANTS if each.fails == "Learn/DiskIsNotAhead"), tmp_path
    )

    assert main.run(["prove", "Ballots", "--only", "Vote"]) == 0
    assert main.run(["prove", str(mistaken), "--only", "Learn/DiskIsNotAhead"]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert "  Vote         4 of 4" in shown
    assert "    DiskIsNotAhead: not inductive" in shown
    assert main.run(["prove", "NoModule"]) == 2
