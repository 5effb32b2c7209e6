"""Find the folder with the TLA+ modules, in a checkout and in an installed wheel alike.

A checkout keeps them in ``spec/`` at its top; the wheel carries the same files beside this
module. Nothing here reads what the files say.
"""

from __future__ import annotations

from pathlib import Path

from canvass.spec.errors import SpecError

MANIFEST_NAME = "manifest.json"

_HERE = Path(__file__).resolve().parent
PACKAGED = _HERE / "modules"
CHECKOUT = _HERE.parents[2] / "spec"  # refinement/canvass/spec -> the top of the checkout.


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
