"""Each command line that a page shows is one that canvass takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import typer.main

from canvass.cli.main import build_app
from canvass.cli.options import PathKind
from canvass.spec.manifest import load_manifest
from support.checkout import ROOT, tracked

WITHDRAWN: Final = ROOT / "docs" / "decisions" / "0017-what-was-withdrawn.md"
SHOWN: Final = re.compile(
    r"^ *(?:\$ |.*; do |\w+=\S+ )?(?:\.venv/bin/)?canvass ((?:.*\\\n)*.*)", re.MULTILINE
)
INDENTED: Final = re.compile(r"^ {4,}(?:\$ )?(?:\.venv/bin/)?canvass (.*)$", re.MULTILINE)
WITHIN: Final = re.compile(r"`(?:\$ )?(?:\.venv/bin/)?canvass ([^`]+)`")
MODEL: Final = re.compile(r"(?:MC|MUT_)\w+")
ENDS: Final = {"|", "||", "&&", ">", ";", "2>"}
"""Words of the shell after which no argument of the command follows."""

PASSED_OVER: Final = {"MissingParameter", "NoArgsIsHelpError", "BadOptionUsage"}
"""A sentence may name a command without its arguments."""


def lines_of(page: Path) -> Iterator[str]:
    """The command lines of a page, in its blocks and within its sentences."""
    for number, part in enumerate(page.read_text().split("```")):
        yield from SHOWN.findall(part) if number % 2 else WITHIN.findall(part)
        if number % 2 == 0:
            yield from INDENTED.findall(part)


def words_of(line: str) -> list[str]:
    """The words of the first command of a line."""
    words = shlex.split(line.replace("\\\n", " ").replace(";", " ;"), comments=True)
    return words[: next((k for k, word in enumerate(words) if word in ENDS), len(words))]


def parse(command: Any, words: list[str]) -> None:
    """Read the words as the command would, and do nothing."""
    context = command.make_context(command.name, list(words))
    if hasattr(command, "list_commands"):
        _, inner, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        parse(inner, rest)


def test_the_command_line_takes_what_each_page_shows() -> None:
    """Each command, its options, and the models of the spec that it names."""
    app = typer.main.get_command(build_app())
    models = {model.name for model in load_manifest().models}

    wrong = []
    pages = [page for page in tracked("*.md") if page != WITHDRAWN]
    shown = [(page, line) for page in pages for line in lines_of(page)]
    for page, line in shown:
        try:
            parse(app, words_of(line))
        except Exception as error:  # noqa: BLE001  # Typer hides the base of its errors.
            absent = str(error).endswith(PathKind.ABSENT.value)  # The files of examples.
            if not absent and type(error).__name__ not in PASSED_OVER:
                wrong.append(f"{page.relative_to(ROOT)}: canvass {line}: {error}")
        named = [word for word in line.split() if MODEL.fullmatch(word)]
        if line.startswith("check") and not models.issuperset(named):
            wrong.append(f"{page.relative_to(ROOT)}: canvass {line}: no such model")

    assert len(shown) > 300
    assert wrong == []


@pytest.mark.parametrize("line", ["check --diagrams", "verfy run", "graph paths GRAPH"])
def test_a_line_that_no_command_takes_is_found(line: str) -> None:
    with pytest.raises(Exception, match=r"No such (option|command)"):
        parse(typer.main.get_command(build_app()), words_of(line))
