"""Shares of what was covered are rounded down: only all is 100 %."""

from __future__ import annotations

import pytest

from canvass.pytest_plugin.session import percent


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [(9_999, 10_000, "99.9%"), (10_000, 10_000, "100.0%"), (1, 10_000, "0.0%"), (0, 0, "0.0%")],
)
def test_almost_all_is_not_all(part: int, whole: int, expected: str) -> None:
    assert percent(part, whole) == expected
