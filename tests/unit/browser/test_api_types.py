"""The page's types are written from the Structs, so that the two cannot drift apart."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = runpy.run_path(str(ROOT / "tools" / "generate_api_types.py"))


def test_the_page_has_the_types_of_the_structs() -> None:
    path = ROOT / "tools/canvass/browser/ui/src/api/types.ts"

    assert path.read_text(encoding="utf-8") == SCRIPT["render"]()


def test_every_struct_has_an_interface_with_its_fields() -> None:
    text = SCRIPT["render"]()

    assert "export interface StateView {" in text
    assert "  readonly in: readonly InEdge[];" in text
    assert "  readonly electionState?: string;" in text
    assert "  readonly complete: boolean | null;" in text
    assert "  readonly expected: readonly (readonly Difference[])[];" in text
