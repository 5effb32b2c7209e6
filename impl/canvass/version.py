"""The version of canvass, and the name under which it is installed.

The import package and the command are `canvass`; the distribution cannot be, as another project
has that name on the package index.
"""

from typing import Final

VERSION: Final = "0.1.0"
DISTRIBUTION: Final = "aeron-canvass"


def install_command(extra: str) -> str:
    """Give the command that installs canvass with an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
