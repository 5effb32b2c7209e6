"""Texts that attack the program that shows them: markup, scripts, control characters, long ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

_TEXTS: Final[dict[str, list[str]]] = json.loads(Path(__file__).with_suffix(".json").read_text())
PLAIN: Final = tuple(_TEXTS["plain"])
"""Texts of printable characters only, which a page shows unchanged."""
ENDLESS: Final = "<b>A</b>" * 12_500
PAYLOADS: Final = (*PLAIN, *_TEXTS["odd"], "e" + "\u0301" * 500, "\U0001f600" * 50, ENDLESS)
