"""The error of state graphs, and nothing else."""

from __future__ import annotations


class GraphError(Exception):
    """A graph cannot be built or read; the message is one line and names what is wrong."""
