"""The number of examples of a property whose examples cost more, or less, than others."""

from __future__ import annotations

from typing import Final

from hypothesis import settings

_DEFAULT: Final = 100
"""The number of examples for a property that states none."""


def examples(count: int) -> settings:
    """Draw ``count`` examples in the CI set, and more at night, as for every property."""
    return settings(max_examples=count * settings().max_examples // _DEFAULT)
