"""How a browser is sent to the page without the key on its command line, which others may read.

A file that only its owner can read leads on to the address; the browser is given the file's name.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Final

_PAGE: Final = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={address}">
<title>canvass browse</title>
<p><a href="{address}">Go on to the page</a></p>
"""


@contextmanager
def leading_to(address: str) -> Iterator[str]:
    """Give the address of a file that leads to another address; it is removed in the end.

    Parameters
    ----------
    address
        With its key.
    """
    # The folder is made for its owner alone, and so is the file, whatever the umask is.
    with tempfile.TemporaryDirectory(prefix="canvass-browse-") as folder:
        path = Path(folder) / "canvass.html"
        path.touch(mode=0o600)
        path.write_text(_PAGE.format(address=escape(address)), encoding="utf-8")
        yield path.as_uri()
