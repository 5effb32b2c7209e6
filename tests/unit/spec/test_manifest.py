"""The manifest is read strictly: what is wrong is said with the file and the place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from canvass.spec.files import SpecError, spec_root
from canvass.spec.manifest import Expected, Mode, ModelSet, load_manifest
from support.tiny_spec import model, write_manifest, write_tiny_spec


def test_the_entries_are_read_in_their_order(tmp_path: Path) -> None:
    models = load_manifest(write_tiny_spec(tmp_path)).models

    first = models[0]
    assert [one.name for one in models][:3] == ["TinyOk", "TinyNominees", "TinyLoss"]
    assert (first.model_set, first.mode, first.expected) == (
        ModelSet.CI,
        Mode.CHECK,
        Expected.SUCCESS,
    )
    assert (first.distinct_states, first.depth, first.workers) == (9, 5, 1)
    assert models[1].violates == "OneNominee"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"set": "weekly"}, "weekly"),
        ({"expected": "failure"}, "failure"),
        ({"distinctStates": 0}, "distinctStates"),
        ({"distinct_states": 9}, "distinct_states"),
        ({"module": "../Tiny"}, "module"),
        ({"config": "Tiny.cfg"}, "config"),
        ({"name": "has space"}, "name"),
        ({"violates": "TypeOK"}, "violates is given, but expected is 'success'"),
        ({"traces": 10}, "a simulation needs traces"),
        ({"mode": "simulate"}, "a simulation needs traces"),
        ({"traceDepth": 10}, "a simulation needs traces"),
        ({"mode": "simulate", "traces": 9, "depth": 3}, "no distinctStates and no depth"),
        ({"name": "Absent"}, "needs Absent.cfg, which is not there"),
        ({"module": "Absent"}, "needs Absent.tla, which is not there"),
    ],
)
def test_a_wrong_entry_is_one_line_with_the_file(
    tmp_path: Path, changes: dict[str, Any], complaint: str
) -> None:
    write_manifest(write_tiny_spec(tmp_path), model("TinyOk", **changes))

    with pytest.raises(SpecError) as caught:
        load_manifest(tmp_path)

    assert complaint in str(caught.value)
    assert str(tmp_path / "manifest.json") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_models_of_one_name_are_refused(tmp_path: Path) -> None:
    write_manifest(write_tiny_spec(tmp_path), model("TinyOk"), model("TinyOk"))

    with pytest.raises(SpecError, match="two models are called 'TinyOk'"):
        load_manifest(tmp_path)


def test_a_model_is_checked_with_the_module_of_its_name_unless_it_says_otherwise(
    tmp_path: Path,
) -> None:
    entry = model("Tiny")
    del entry["module"]
    (write_tiny_spec(tmp_path) / "Tiny.cfg").touch()
    write_manifest(tmp_path, entry, model("Walk", mode="simulate", traces=9, traceDepth=5))
    (tmp_path / "Walk.cfg").touch()

    models = load_manifest(tmp_path).models

    assert [(one.module, one.config, one.mode) for one in models] == [
        ("Tiny", "Tiny.cfg", Mode.CHECK),
        ("Tiny", "Walk.cfg", Mode.SIMULATE),
    ]


@pytest.mark.parametrize("field", ["name", "set", "expected", "takes"])
def test_what_must_be_said_has_no_default(tmp_path: Path, field: str) -> None:
    entry = model("TinyOk")
    del entry[field]
    write_manifest(write_tiny_spec(tmp_path), entry)

    with pytest.raises(SpecError, match=field):
        load_manifest(tmp_path)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"models": [{}]}', b"\xff"])
def test_a_file_that_is_no_manifest_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(text)

    with pytest.raises(SpecError, match=r"manifest\.json"):
        load_manifest(tmp_path)


def test_an_absent_manifest_is_said(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"not a spec folder, as it has no manifest\.json"):
        load_manifest(tmp_path)


def test_the_spec_of_this_installation_has_a_manifest_and_its_names_are_unique() -> None:
    written = json.loads((spec_root() / "manifest.json").read_text())

    assert len(written["models"]) == len(load_manifest().models) > 0
