"""Each model has the result of the manifest: success, or its expected violation."""

from __future__ import annotations

import pytest

from canvass.models.model_run import Standing, config_of
from canvass.spec import ModelEntry, find_file, load_manifest, module_folders, spec_root
from canvass.spec.files import first_comment
from support.findings import models_of_a_push, run_of

pytestmark = pytest.mark.tlc

MODELS = load_manifest().models


def marked(model: ModelEntry) -> object:
    night = [] if model.name in models_of_a_push() else [pytest.mark.night]
    return pytest.param(model, id=model.name, marks=night)


@pytest.mark.parametrize("model", [marked(model) for model in MODELS])
def test_the_model_ends_as_expected(model: ModelEntry) -> None:
    run = run_of(model.name)

    assert run.comparison.standing is Standing.AS_EXPECTED, run.comparison.reason


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
        assert f"TLC on {ending}" == model.ending, model.name


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
