"""The digest of a module depends on its rules, not on its comments."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from canvass.spec.files import module_digest, module_folders, without_comments

MODULES = sorted(path for folder in module_folders() for path in folder.glob("*.tla"))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("A == 1 \\* one\n\n\\* two\nB == 2\n", "A == 1\nB == 2"),
        ("(* one (* two *) \\* three *)\nA == 1", "A == 1"),
        ('A == "(* \\" \\* "  \\* one', 'A == "(* \\" \\* "'),
        ('(* an "open string *) A == 1', "                      A == 1"),
        ("A == (* a *) /\\ x\n             /\\ y", "A ==         /\\ x\n             /\\ y"),
        ("A == 1 *) B", "A == 1 *) B"),
    ],
)
def test_only_comments_are_removed(text: str, left: str) -> None:
    assert without_comments(text).rstrip() == left


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_definition_of_a_module_stays(path: Path) -> None:
    text = path.read_text("utf-8")
    left = without_comments(text)
    defined = re.compile(
        r"^(?:\w+(?:\(.*?\))? ==|VARIABLE|CONSTANT|EXTENDS|ASSUME|=====)", re.MULTILINE
    )

    assert defined.findall(left) == defined.findall(text)
    assert not re.search(r"\(\*|\*\)|\\\*", re.sub(r'"[^"\n]*"', "", left))


def test_another_comment_keeps_the_digest_and_another_rule_changes_it(tmp_path: Path) -> None:
    module = tmp_path / "M.tla"

    def digest(text: str) -> str:
        module.write_text(text, encoding="utf-8")
        return module_digest(module)

    first = digest("(* one *)\nA == 1 \\* one\n")

    assert digest("(* two *)\n\nA == 1 \\* two\n") == first
    assert digest("(* one *)\nA == 2 \\* one\n") != first
