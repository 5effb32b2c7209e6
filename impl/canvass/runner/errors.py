"""The error of this package."""

from __future__ import annotations


class RunnerError(Exception):
    """A cluster cannot be run, or a command to it is none; the message is one line."""
