"""The browser that drives the page: where it is, and what is said when it or the page is not there.

Nothing of Playwright is imported here: who asks for it starts an event loop.
"""

from __future__ import annotations

import os
import shutil
from typing import Final

WITHOUT: Final = "there is no Chromium: `make browser` installs Debian's"
UNBUILT: Final = "the page is not built: `make page`"


def chromium() -> str | None:
    """Where Chromium is."""
    named = os.environ.get("CANVASS_CHROMIUM")
    return named or shutil.which("chromium") or shutil.which("chromium-browser")
