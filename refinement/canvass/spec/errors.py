"""The one error of this package."""

from __future__ import annotations


class SpecError(Exception):
    """The spec folder or its manifest cannot be used; the message is one line."""
