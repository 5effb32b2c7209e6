"""The version of canvass, the name under which it is installed, and its extras.

The import package and the command are `canvass`; the distribution cannot be, as another project
has that name on the package index.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

VERSION: Final = "0.1.0"
SETUP: Final = Path(__file__).resolve().parents[2] / "tools" / "setup"
"""The script that makes the environment of a checkout; a wheel does not have it."""
DISTRIBUTION: Final = "aeron-canvass"
EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {
    "fast": ("numba",),
    "spark": ("pyspark", "pandas"),
    "connect": ("grpcio", "grpcio-status", "googleapis-common-protos"),
    "graph": ("networkx", "scipy"),
    "browse": ("starlette", "uvicorn"),
    "prove": ("z3-solver",),
}
"""The packages of each extra, in the order of ``canvass doctor``."""


def install_command(extra: str) -> str:
    """Give the command that installs canvass with an extra; in a checkout, with all."""
    return "make setup-test" if SETUP.exists() else f"pip install '{DISTRIBUTION}[{extra}]'"


def missing_extra(error: ImportError) -> str:
    """Say which extra has the module that could not be imported; empty if none has it."""
    name = (error.name or "").partition(".")[0]
    for extra, packages in EXTRAS.items():
        if name in packages:
            return f"{name} is not installed: {install_command(extra)}"
    return ""
