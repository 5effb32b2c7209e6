"""The models of the manifest for tests, and the diagrams in docs/findings."""

from __future__ import annotations

import functools
import hashlib
import re
from pathlib import Path
from typing import Final

import msgspec
import pytest

from canvass.cli.output import PIPE_WIDTH
from canvass.models.counterexample import swim_lanes
from canvass.models.model_run import ModelRun, Settings, run_model
from canvass.spec.files import find_file, module_folders, modules_of, spec_root, without_comments
from canvass.spec.manifest import Expected, Mode, ModelEntry, ModelSet, Takes, load_manifest
from canvass.tlc.config import TlcConfig, read_config
from canvass.tlc.programs import find_jar

FINDINGS: Final = Path(__file__).parents[2] / "docs" / "findings"

DIAGRAM: Final = re.compile(
    r"^```\ncanvass check (?P<model>\w+) --diagram\n```\n\n```text\n(?P<drawn>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
"""A diagram in a page: the command that prints it, then its output."""

REDUCED: Final = {"MCTwoElections", "MCFrom", "MCHazard11"}
"""The modules of reduced searches."""

NAMED: Final = re.compile(r"canvass check (\w+)")


@functools.cache
def models() -> dict[str, ModelEntry]:
    """Read the models of the manifest by their names."""
    return {model.name: model for model in load_manifest().models}


@functools.cache
def config_of(model: ModelEntry) -> TlcConfig:
    """Read the configuration of a model; its names are checked only when the model runs."""
    return read_config(find_file(model.config))


ON_RECORD: Final = Path(__file__).parents[1] / "models" / "on_record.json"
"""For each model whose result was as expected: the digest of all that decides the result."""


def digest_of(model: ModelEntry, root: Path | None = None) -> str:
    """Give a digest of all that decides TLC's result, and of the expected result.

    It covers TLC, the modules and the configuration without their comments, and the entry of the
    manifest except the set and the time.
    """
    modules = modules_of(find_file(f"{model.module}.tla", root), module_folders(root))
    files = [*sorted(modules, key=lambda module: module.name), find_file(model.config, root)]
    expected = msgspec.structs.replace(model, model_set=ModelSet.CI, takes=Takes.SECONDS)
    parts = [_jar().sha256.encode(), msgspec.json.encode(expected)]
    parts += [_rules_of(file) for file in files]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]


_jar = functools.cache(find_jar)


@functools.cache
def _rules_of(file: Path) -> bytes:
    return without_comments(file.read_text("utf-8")).encode()


@functools.cache
def on_record() -> dict[str, str]:
    """Read the digests by the names of the models."""
    return _kept(msgspec.json.decode(ON_RECORD.read_bytes(), type=dict[str, str]))


def put_on_record(name: str, digest: str) -> None:
    """Record that a model ended as expected, and remove models that do not exist any more."""
    digests = _kept({**on_record(), name: digest})
    ON_RECORD.write_bytes(msgspec.json.format(msgspec.json.encode(digests)) + b"\n")
    on_record.cache_clear()


def _kept(digests: dict[str, str]) -> dict[str, str]:
    """Keep the models that TLC checks; the behaviours of a simulation differ from run to run."""
    names = sorted(name for name, model in models().items() if model.mode is Mode.CHECK)
    return {name: digests[name] for name in names if name in digests}


def night_marks(name: str) -> list[pytest.MarkDecorator]:
    """Give the marks of a model's test: the models of the nightly set are tested at night."""
    return [pytest.mark.night] if models()[name].model_set is ModelSet.NIGHT else []


@functools.cache
def run_of(name: str) -> ModelRun:
    """Run a model of the manifest, once for all tests of a session.

    With one thread TLC's depth is repeatable, so it is compared, too. The other processors run
    other tests.
    """
    settings = Settings(workers=1)
    return run_model(spec_root(), models()[name], settings, lambda _: None)


def found_by_reduced_searches() -> list[ModelEntry]:
    """List the reduced searches that end with a counterexample."""
    return [
        model
        for model in models().values()
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
