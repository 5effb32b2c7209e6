"""The error of the driver, and nothing else."""

from __future__ import annotations


class DriverError(Exception):
    """Aeron's classes cannot be driven; the message is one line and names what is wrong."""
