"""The pages lead somewhere: each link and path to a file, each name of the architecture."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from support.checkout import ROOT, tracked

LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
HEADING: Final = re.compile(r"^#+ (.*)$", re.MULTILINE)
FOLDERS: Final = "benchmarks|docs|impl|refinement|samples|spec|tests|tools"
FILE: Final = re.compile(rf"`((?:{FOLDERS})/[\w./-]+)`")
OF_AERON: Final = {"docs/formal/election"}
"""Paths in Aeron's repository."""


def anchors(page: Path) -> set[str]:
    """The anchors of a page: its headings, as they stand in addresses."""
    headings = (LINK.sub("]", each) for each in HEADING.findall(page.read_text()))
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    wrong = []
    for page in tracked("*.md"):
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
        for page in tracked("*.md")
        for link in LINK.findall(page.read_text())
    ]
    linked = {target for target, page in found if target != page}

    documents = {page for page in tracked("*.md") if ROOT / "docs" in page.parents}

    assert documents - linked == set()


def test_every_path_of_the_project_is_there() -> None:
    wrong = {
        f"{page.relative_to(ROOT)}: {path}"
        for page in tracked("*.md")
        for path in FILE.findall(page.read_text())
        if path not in OF_AERON and not (ROOT / path).exists()
    }

    assert wrong == set()


def test_the_architecture_names_modules_and_names_that_are_there() -> None:
    listed = tracked("impl", "refinement", "spec", "tools", "tests")
    names = [path.relative_to(ROOT).as_posix() for path in listed]
    files = [name for name in names if name.endswith((".py", ".tla", ".json"))]
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
