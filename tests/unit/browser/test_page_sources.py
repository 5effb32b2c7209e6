"""The page's sources, and what is built of them: nothing could run a text or load a thing."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from canvass.cli.browse import page_is_old

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "tools" / "canvass" / "browser" / "ui"
PAGE = ROOT / "tools" / "canvass" / "browser" / "page"
MAX_LINES = 300
MAX_CODE_LINES = 8500
"""Most lines of all sources that are neither empty nor comment."""
GENERATED = "src/api/types.ts"

FORBIDDEN = (
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "dangerouslySetInnerHTML",
    "createContextualFragment",
    "DOMParser",
    "document.write",
    "eval(",
    "new Function",
    'setTimeout("',
    "javascript:",
    "srcdoc",
    "http://",
    "https://",
)
"""Ways for a text to become more than text, and ways out; each has to be absent."""
ALLOWED = {"http://www.w3.org/2000/svg"}
"""A name and no address."""


def sources() -> list[Path]:
    found = [path for path in (SOURCES / "src").rglob("*") if path.is_file()]
    assert len(found) > 50
    return found


@pytest.mark.parametrize("word", FORBIDDEN)
def test_no_source_has_a_way_for_text_to_become_more(word: str) -> None:
    having = []
    for path in sources():
        text = path.read_text(encoding="utf-8")
        for name in ALLOWED:
            text = text.replace(name, "")
        if word in text:
            having.append(path.name)

    assert having == []


def test_sources_are_small_and_say_what_they_are() -> None:
    scripts = {
        path.relative_to(SOURCES).as_posix(): path.read_text()
        for path in sources()
        if path.suffix in (".ts", ".tsx")
    }
    long = [name for name, text in scripts.items() if len(text.splitlines()) > MAX_LINES]
    code = re.findall(r"^(?!\s*(?://|/?\*)).*\S", "\n".join(scripts.values()), re.MULTILINE)

    assert [name for name in long if name != GENERATED] == []
    assert len(code) <= MAX_CODE_LINES
    assert [name for name, text in scripts.items() if not text.startswith("// ")] == []
    assert [name for name, text in scripts.items() if "export default" in text] == []


def test_the_lock_names_versions_and_digests_and_no_place() -> None:
    lock = json.loads((SOURCES / "package-lock.json").read_text())
    packages = {name: one for name, one in lock["packages"].items() if name}

    assert packages
    assert [name for name, one in packages.items() if "resolved" in one] == []
    assert [name for name, one in packages.items() if not one.get("integrity")] == []
    wanted = json.loads((SOURCES / "package.json").read_text())
    versions = wanted["dependencies"] | wanted["devDependencies"]
    assert [name for name, one in versions.items() if not re.fullmatch(r"\d+\.\d+\.\d+", one)] == []


class Index(HTMLParser):
    """The files of the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inline: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.inline += [name for name in given if name.startswith("on") or name == "style"]
        self.inline += [tag] if tag == "style" or (tag == "script" and not given.get("src")) else []
        self.loaded += [value for name in ("src", "href") if (value := given.get(name))]


def test_the_index_has_nothing_inline_and_loads_its_own_files_only() -> None:
    index = Index((SOURCES / "src" / "index.html").read_text())

    assert index.inline == []
    assert sorted(index.loaded) == ["/assets/app.css", "/assets/app.js"]


needs_page = pytest.mark.skipif(
    not PAGE.is_dir() and not os.environ.get("CI"),
    reason="the page is not built: `make page`",
)


@needs_page
def test_what_is_built_fits_its_sources_and_loads_nothing() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "page.py"), "build"],
        check=False,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stderr) == (0, ""), "`make page` was not run"
    files = {"index.html", "app.js", "app.css", "licences.txt", "built-from"}
    assert {path.name for path in PAGE.iterdir()} == files
    style = (PAGE / "app.css").read_text()
    assert "url(" not in style
    assert "@import" not in style
    script = (PAGE / "app.js").read_text()
    assert "eval(" not in script
    assert "new Function" not in script
    places = set(re.findall(r"https?://[^\s\"'`]+", script))
    assert {place for place in places if not place.startswith("http://www.w3.org/")} == set()


@needs_page
def test_the_licences_of_what_is_bundled_are_passed_on() -> None:
    text = (PAGE / "licences.txt").read_text()

    for name in ("preact", "sigma", "@sigma/edge-curve", "graphology", "events"):
        assert f"\n{name}\n" in text
    assert text.count("Permission is hereby granted") >= 5


def test_a_page_of_other_sources_is_noticed(tmp_path: Path) -> None:
    package = tmp_path / "tools" / "canvass" / "browser"
    package.mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "page.py", tmp_path / "tools")

    assert not page_is_old(package)  # An installed package has the page only.

    ignored = shutil.ignore_patterns("node_modules")
    shutil.copytree(SOURCES, package / "ui", ignore=ignored)
    assert page_is_old(package)

    build = runpy.run_path(str(tmp_path / "tools" / "page.py"))
    (package / "page").mkdir()
    (package / "page" / "built-from").write_text(build["sources_digest"]() + "\n")
    assert not page_is_old(package)

    (package / "ui" / "src" / "main.tsx").write_text("// Changed since.\n")
    assert page_is_old(package)
