"""The pages lead somewhere: each link and path to a file, each command to options that exist."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import typer.main

from canvass.cli.main import build_app

ROOT: Final = Path(__file__).resolve().parents[2]
LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
HEADING: Final = re.compile(r"^#+ (.*)$", re.MULTILINE)
FOLDERS: Final = "benchmarks|docs|impl|refinement|samples|spec|tests|tools"
FILE: Final = re.compile(rf"`((?:{FOLDERS})/[\w./-]+)`")
OF_AERON: Final = {"docs/formal/election"}
"""Paths in Aeron's repository."""
COMMAND: Final = re.compile(r"(?:^|[`\s$])(?:\.venv/bin/)?canvass ((?!:)[a-z][^`\n#|&]*)")
MODEL: Final = re.compile(r"(?:MC|MUT_)\w+")


def pages() -> list[Path]:
    """All pages of the project."""
    command = ["git", "ls-files", "-z", "--", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name]


def anchors(page: Path) -> set[str]:
    """The anchors of a page: its headings, as they stand in addresses."""
    headings = (LINK.sub("]", each) for each in HEADING.findall(page.read_text()))
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    wrong = []
    for page in pages():
        for link in LINK.findall(page.read_text()):
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            if "://" in link or (target.exists() and (not anchor or anchor in anchors(target))):
                continue
            wrong.append(f"{page.relative_to(ROOT)}: {link}")

    assert wrong == []


def test_every_page_of_the_documents_is_linked_from_another() -> None:
    found = [
        ((page.parent / link.partition("#")[0]).resolve(), page)
        for page in pages()
        for link in LINK.findall(page.read_text())
    ]
    linked = {target for target, page in found if target != page}

    documents = {page for page in pages() if ROOT / "docs" in page.parents}

    assert documents - linked == set()


def test_every_path_of_the_project_is_there() -> None:
    wrong = {
        f"{page.relative_to(ROOT)}: {path}"
        for page in pages()
        for path in FILE.findall(page.read_text())
        if path not in OF_AERON and not (ROOT / path).exists()
    }

    assert wrong == set()


def test_the_architecture_names_modules_and_names_that_are_there() -> None:
    command = ["git", "ls-files", "--", "impl", "refinement", "spec", "tools", "tests"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = [name for name in listed.split() if name.endswith((".py", ".tla", ".json"))]
    code = "".join((ROOT / name).read_text() for name in files if not name.startswith("tests/"))
    modules = {name.partition("/canvass/")[2].removesuffix(".py") for name in files}
    packages = {module.rpartition("/")[0] for module in modules}
    page = (ROOT / "docs" / "architecture.md").read_text()
    text = page.partition("## The path of a step")[2]
    shown = set(re.findall(r"`([\w./]+)`", text))

    places = {name for name in shown if name.endswith((".py", ".tla", ".json"))}
    wrong = [name for name in places if not any(f"/{one}".endswith(f"/{name}") for one in files)]
    for name in shown - places:
        path, last = name.replace(".", "/"), name.rpartition(".")[2]
        is_module = any(one == path or one.endswith(f"/{path}") for one in modules | packages)
        known = is_module or ((name[0].isupper() or "." not in name) and last in code)
        if not known and not name.endswith("/"):
            wrong.append(name)

    assert wrong == []
    assert len(places) > 15


def commands(text: str) -> Iterator[list[str]]:
    """The commands of a page, each in its words."""
    for found in COMMAND.finditer(text):
        try:
            words = shlex.split(found[1])
        except ValueError:
            continue  # An example breaks off.
        yield words[: words.index("--")] if "--" in words else words


def unknown_words(app: Any, models: set[str], words: list[str]) -> list[str]:
    """The options that a command does not have, and the models that are in no manifest."""
    command, rest = app, list(words)
    while hasattr(command, "get_command") and rest:
        below = command.get_command(None, rest[0])
        if below is None:
            return []  # Words of a sentence.
        command, rest = below, rest[1:]
    options = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    given = [word.split("=")[0].rstrip(".,;:)") for word in rest if word.startswith("--")]
    named = [word for word in rest if words[0] == "check" and MODEL.fullmatch(word)]
    return [one for one in given if one not in options] + [m for m in named if m not in models]


def test_every_command_has_the_options_and_models_that_it_is_given() -> None:
    app = typer.main.get_command(build_app())
    manifest = json.loads((ROOT / "spec" / "manifest.json").read_text())
    models = {model["name"] for model in manifest["models"]}
    found = [(page, words) for page in pages() for words in commands(page.read_text())]

    wrong = {
        f"{page.relative_to(ROOT)}: {' '.join(words)}: {unknown}"
        for page, words in found
        if (unknown := unknown_words(app, models, words))
    }

    assert wrong == set()
    assert len(found) > 200


def test_what_no_command_has_is_reported() -> None:
    app = typer.main.get_command(build_app())

    words = ["check", "MCNowhere", "MCLive", "--diagrams", "--list"]
    assert unknown_words(app, {"MCLive"}, words) == ["--diagrams", "MCNowhere"]
