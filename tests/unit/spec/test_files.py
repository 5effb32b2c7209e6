"""The spec folder is found beside the package first, and in the checkout second."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from canvass.spec import files
from canvass.spec.files import SpecError, find_file, module_folders, spec_root


def test_a_checkout_has_it_at_its_top() -> None:
    assert spec_root() == Path(__file__).resolve().parents[3] / "spec"


def test_packaged_data_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PACKAGED", tmp_path)

    assert spec_root() == tmp_path


def test_an_installation_without_it_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "CHECKOUT", tmp_path / "absent")

    with pytest.raises(SpecError, match="carries no spec folder"):
        spec_root()


def test_a_file_of_the_spec_goes_before_one_of_the_harness(tmp_path: Path) -> None:
    (tmp_path / "Member.tla").touch()
    (tmp_path / "Encoding.tla").touch()

    assert find_file("Member.tla", tmp_path) == tmp_path / "Member.tla"
    assert find_file("Encoding.tla", tmp_path) == tmp_path / "Encoding.tla"
    assert find_file("Encoding.tla") == files.HARNESS / "Encoding.tla"
    assert find_file("Absent.tla") == spec_root() / "Absent.tla"


def test_the_harness_extends_the_spec_and_not_the_other_way_round() -> None:
    spec, harness = (
        {path.stem: path.read_text("utf-8") for path in folder.rglob("*.tla")}
        for folder in module_folders()
    )
    used = {
        name
        for text in spec.values()
        for names in re.findall(r"^EXTENDS (.*)", text, re.MULTILINE)
        for name in names.split(", ")
    }

    assert spec.keys() & harness.keys() == set()
    assert used - spec.keys() == {"FiniteSets", "Integers", "Naturals", "Sequences", "TLC"}
