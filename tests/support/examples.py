"""How many examples a property has whose examples cost more, or less, than those of others."""

from __future__ import annotations

from typing import Final

from hypothesis import settings

_DEFAULT: Final = 100
"""The number of examples for a property that states none."""


def examples(count: int) -> settings:
    """Draw so many in the CI set; at night more, as of every property."""
    return settings(max_examples=count * settings().max_examples // _DEFAULT)
