"""The browser for tests of the page: its path, and the message if it or the page is missing.

This module does not import Playwright, which would start an event loop.
"""

from __future__ import annotations

import os
import shutil
from typing import Final

WITHOUT: Final = "there is no Chromium: `make browser` installs Debian's"
UNBUILT: Final = "the page is not built: `make page`"


def chromium() -> str | None:
    """The path of Chromium; None if it is not installed."""
    named = os.environ.get("CANVASS_CHROMIUM")
    return named or shutil.which("chromium") or shutil.which("chromium-browser")
