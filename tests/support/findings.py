"""The models as tests use them, and the diagrams in docs/findings, which can be drawn again."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Final

from canvass.cli.output import PIPE_WIDTH
from canvass.models.counterexample import swim_lanes
from canvass.models.model_run import ModelRun, Settings, run_model
from canvass.spec import Expected, ModelEntry, ModelSet, find_file, load_manifest, spec_root
from canvass.tlc.config import TlcConfig
from canvass.tlc.workspace import read_config

FINDINGS: Final = Path(__file__).parents[2] / "docs" / "findings"

DIAGRAM: Final = re.compile(
    r"^```\ncanvass check (?P<model>\w+) --diagram\n```\n\n```text\n(?P<drawn>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
"""A diagram in a page: the command that prints it, then what it prints."""

REDUCED: Final = {"MCTwoElections", "MCFrom", "MCHazard11"}
"""The modules of reduced searches."""

NAMED: Final = re.compile(r"canvass check (\w+)")


@functools.cache
def config_of(model: ModelEntry) -> TlcConfig:
    """Read the configuration of a model; that its module has its names is tested by running it."""
    return read_config(find_file(model.config))


ELSEWHERE: Final = {
    "JoinMutants": "members of simulated clusters join by the same rules, watched by monitors",
    "LogMutants": "CommitMutants and MCHazard1Hardened hold with the same rules",
    "MCFromLate": "MCTwoElectionsOvertakes is a reduced search as well",
    "MCMemberGraph2": "`test_graph_equivalence` builds its graph, with one step more",
}
"""Models of the CI set that take long, each with what a push has in its place."""


LEMMAS: Final = {
    "NoNewerTermIsReported",
    "NomineesHaveNoVotes",
    "OnlyTheRecordedIsProcessed",
    "OnlyTheWrittenIsRecorded",
    "OwnTermIsAnnouncedByItsLeader",
    "PromisesAreKnown",
    "VotesReachTheirCandidate",
}
"""Invariants that are claimed only because they make some mutants of the core equal to the core."""


@functools.cache
def models_of_a_push() -> frozenset[str]:
    """Name the models that a push runs: the CI set, without mutants of what another model breaks.

    The healthy families find a wrong rule. A mutant shows that a property can fail, and so does the
    counterexample of a hazard. `ELSEWHERE` has what takes long. Mutants of lemmas run at night.
    """
    models = [model for model in load_manifest().models if model.model_set is ModelSet.CI]
    mutants = [model for model in models if model.name.startswith("MUT_")]
    broken = {model.violates for model in models if model not in mutants}
    first = {mutant.violates: mutant.name for mutant in reversed(mutants)}
    chosen = {name for violated, name in first.items() if violated not in broken | LEMMAS}
    later = {mutant.name for mutant in mutants} - chosen
    return frozenset(model.name for model in models) - later - ELSEWHERE.keys()


@functools.cache
def run_of(name: str) -> ModelRun:
    """Run a model of the manifest, once for all tests of a session.

    With one thread TLC's depth is repeatable, so it is compared, too. The other processors have
    tests of their own.
    """
    (entry,) = [one for one in load_manifest().models if one.name == name]
    settings = Settings(workers=1)
    return run_model(spec_root(), entry, settings, lambda _: None)


def found_by_reduced_searches() -> list[ModelEntry]:
    """List the reduced searches that end with a counterexample."""
    return [
        model
        for model in load_manifest().models
        if model.module in REDUCED and model.expected is Expected.SAFETY
    ]


@functools.cache
def used_counterexamples() -> frozenset[str]:
    """Name the models whose counterexamples more than one test uses."""
    shown = {
        found["model"]
        for page in FINDINGS.glob("*.md")
        for found in DIAGRAM.finditer(page.read_text("utf-8"))
    }
    return frozenset(shown | {model.name for model in found_by_reduced_searches()})


def drawn(name: str) -> str:
    """Return the diagram of a model's counterexample, as `canvass check --diagram` prints it."""
    shown = run_of(name).counterexample
    assert shown is not None, f"{name} has no counterexample"
    lines = ("".join(text for text, _ in line) for line in swim_lanes(shown, PIPE_WIDTH))
    return "".join(f"{line}\n" for line in lines)


def redraw(page: Path, model: str, diagram: str) -> None:
    """Replace the diagram of a model in a page."""
    text = page.read_text("utf-8")
    for found in reversed(list(DIAGRAM.finditer(text))):
        if found["model"] == model:
            text = text[: found.start("drawn")] + diagram + text[found.end("drawn") :]
    page.write_text(text, "utf-8")
