"""Find the folders with the TLA+ modules, in a checkout and in an installed wheel alike.

A checkout keeps the spec in ``spec/`` at its top; the wheel carries the same files beside this
module. The harness, the modules with which steps and traces are checked, is in ``harness/`` beside
this module in either. The harness extends the spec, never the other way round. Nothing here reads
what the files say.
"""

from __future__ import annotations

from pathlib import Path


class SpecError(Exception):
    """The spec folder or its manifest cannot be used; the message is one line."""


MANIFEST_NAME = "manifest.json"

_HERE = Path(__file__).resolve().parent
PACKAGED = _HERE / "modules"
CHECKOUT = _HERE.parents[2] / "spec"  # refinement/canvass/spec -> the top of the checkout.
HARNESS = _HERE / "harness"


def spec_root() -> Path:
    """Return the folder that holds the TLA+ modules, configurations and ``manifest.json``.

    Returns
    -------
    Path
        An absolute path. It may be read-only: TLC writes to its own ``-metadir``.

    Raises
    ------
    SpecError
        If the installation carries no spec.
    """
    # Packaged data wins: in a wheel, the folder three levels up is the user's own and may hold
    # any `spec`.
    for folder in (PACKAGED, CHECKOUT):
        if folder.is_dir():
            return folder
    raise SpecError("this installation carries no spec folder; install canvass again")


def module_folders(root: Path | None = None) -> tuple[Path, Path]:
    """Return the folders in which modules are looked for: those of the spec and of the harness.

    Parameters
    ----------
    root
        The spec folder; null for the one that canvass carries.

    Raises
    ------
    SpecError
        If the installation carries no spec.
    """
    return (spec_root() if root is None else root, HARNESS)


def find_file(name: str, root: Path | None = None) -> Path:
    """Return the path of a module or a configuration, of the spec or else of the harness.

    Parameters
    ----------
    name
        The file's name, which may begin with a sub-folder.
    root
        The spec folder; null for the one that canvass carries.

    Returns
    -------
    Path
        If neither folder has the file, where the spec's would be.

    Raises
    ------
    SpecError
        If the installation carries no spec.
    """
    places = [folder / name for folder in module_folders(root)]
    return next((place for place in places if place.is_file()), places[0])
