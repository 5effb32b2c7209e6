"""Where a property is defined, and what its comment box says."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.spec.files import find_definition
from support.tiny_spec import write_tiny_spec


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_tiny_spec(tmp_path)


def test_a_property_is_found_in_a_module_that_the_root_extends(root: Path) -> None:
    found = find_definition(root, root / "Tiny.tla", "OneNominee")

    assert found is not None
    assert (found.module.name, found.line) == ("TinyProperties.tla", 8)
    assert found.comment == (
        "INV: OneNominee.  No two members are nominated at once.",
        "Broken by everybody who does not listen.",
    )


def test_a_definition_without_a_box_has_no_comment_of_its_neighbour(root: Path) -> None:
    found = find_definition(root, root / "Tiny.tla", "TypeOK")

    assert found is not None
    assert found.comment == ()


def test_a_name_that_nobody_defines_is_not_found(root: Path) -> None:
    assert find_definition(root, root / "Tiny.tla", "Nominee") is None
    assert find_definition(root, root / "Absent.tla", "TypeOK") is None


def test_a_box_may_speak_of_several_definitions(tmp_path: Path) -> None:
    module = tmp_path / "Shared.tla"
    module.write_text(
        "---- MODULE Shared ----\n"
        "\\* First and Second: both hold.\n"
        "\n"
        "First == TRUE\n"
        "Second == TRUE\n"
        "====\n"
    )
    found = [find_definition(tmp_path, module, name) for name in ("First", "Second")]

    assert [one and one.comment for one in found] == [("First and Second: both hold.",)] * 2


def test_a_module_in_a_sub_folder_extends_those_of_the_root(root: Path) -> None:
    mutant = root / "mutants" / "Mutant.tla"
    mutant.parent.mkdir()
    mutant.write_text("---- MODULE Mutant ----\nEXTENDS Naturals,\n  Tiny\n====\n")
    found = find_definition(root, mutant, "OneNominee")

    assert found is not None
    assert found.module == root / "TinyProperties.tla"
