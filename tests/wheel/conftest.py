"""A wheel has the page in it: where that cannot be built, no wheel can."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "tools" / "canvass" / "browser" / "page"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not PAGE.is_dir() and not os.environ.get("CI"):
        for item in items:
            if item.get_closest_marker("wheel"):
                item.add_marker(pytest.mark.skip(reason="the page is not built: `make page`"))
