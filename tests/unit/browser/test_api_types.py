"""The page's types are written from the Structs, so that the two cannot drift apart."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = runpy.run_path(str(ROOT / "tools" / "generate_api_types.py"))


def test_the_page_has_the_types_of_the_structs() -> None:
    path = ROOT / "tools/canvass/browser/ui/src/api/types.ts"

    assert path.read_text(encoding="utf-8") == SCRIPT["render"]()
