"""Each model has the result of the manifest: success, or its expected violation."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import msgspec
import pytest

from canvass.models.model_run import Standing, config_of
from canvass.spec.files import find_file, first_comment, module_folders, spec_root
from canvass.spec.manifest import Expected, Mode, ModelEntry, load_manifest
from support.findings import digest_of, night_marks, on_record, put_on_record, run_of

pytestmark = pytest.mark.tlc

MODELS = load_manifest().models


@pytest.mark.parametrize(
    "model", [pytest.param(model, id=model.name, marks=night_marks(model.name)) for model in MODELS]
)
def test_the_model_ends_as_expected(model: ModelEntry, rewrite: bool) -> None:
    """TLC searches if anything has changed since the result on record.

    ``pytest --rewrite`` puts the results on record.
    """
    digest = digest_of(model)
    if on_record().get(model.name) == digest:
        return

    run = run_of(model.name)

    assert run.comparison.standing is Standing.AS_EXPECTED, run.comparison.reason
    if rewrite:
        put_on_record(model.name, digest)


@pytest.mark.parametrize(
    ("file", "old", "new", "counts"),
    [
        ("Election.tla", "\nEXTENDS", "\n\\* A comment.\nEXTENDS", False),
        ("Election.tla", "\n=====", "\nAdded == TRUE\n=====", True),
        ("MCElection.cfg", "MaxTerm = 0", "MaxTerm = 1", True),
        ("MCElectionHardened.cfg", "MaxTerm = 0", "MaxTerm = 1", False),
    ],
)
def test_a_result_counts_as_long_as_nothing_that_it_follows_from_has_changed(
    tmp_path: Path, file: str, old: str, new: str, counts: bool
) -> None:
    (model,) = [one for one in MODELS if one.name == "MCElection"]
    copytree(spec_root(), tmp_path / "spec")
    text = (tmp_path / "spec" / file).read_text("utf-8")
    assert old in text
    (tmp_path / "spec" / file).write_text(text.replace(old, new), "utf-8")

    assert (digest_of(model, tmp_path / "spec") != digest_of(model)) == counts


def test_a_result_counts_for_what_was_expected() -> None:
    (model,) = [one for one in MODELS if one.name == "MCElection"]
    other = msgspec.structs.replace(model, distinct_states=1)

    assert digest_of(other) != digest_of(model)


def test_an_exhaustive_model_of_a_push_has_its_number_of_states_on_record() -> None:
    """Without the number, no test would notice a guard that became too strong."""
    finished = [model for model in MODELS if model.expected.value == "success"]
    without = [model.name for model in finished if model.mode.value == "check"]

    assert without == [model.name for model in finished if model.distinct_states]


def test_the_first_comment_of_a_configuration_says_how_tlc_ends() -> None:
    """`test_the_model_ends_as_expected` runs the same file."""
    for model in MODELS:
        purpose, _, ending = first_comment(find_file(model.config)).rpartition(" TLC on ")

        assert len(purpose) > 10, model.name
        assert ending == f"{model.module} {end_of(model)}", model.name


def end_of(model: ModelEntry) -> str:
    """How TLC ends with a model, by its entry."""
    if model.mode is Mode.SIMULATE:
        options = f"-simulate num={model.traces} -depth {model.trace_depth}"
        return f"finds no error in random behaviours: {options}."
    if model.expected is Expected.SUCCESS:
        return "ends without an error."
    found = f"{model.violates} is violated" if model.violates else "a property is violated"
    return f"finds that {found}."


def test_every_configuration_of_the_spec_is_in_the_manifest() -> None:
    """A model outside the manifest is never run."""
    configurations = {
        path.relative_to(folder).as_posix()
        for folder in module_folders()
        for path in folder.rglob("*.cfg")
    }

    assert configurations == {model.config for model in MODELS}


def test_every_configuration_names_what_its_module_has() -> None:
    """Also at night: TLC ignores the value of a constant that the module does not have."""
    for model in MODELS:
        config_of(spec_root(), model)
