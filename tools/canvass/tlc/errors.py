"""The errors of `canvass.tlc`: `TlcError`, and a subclass for what callers tell apart.

`ConfigError`: a configuration cannot be read. `TlaValueError`: a value cannot be written.
`ValueSyntaxError`: the text of a value cannot be read.

Each message is one line that names the file or value, the reason and, if known, the fix. An error
that TLC reports about a *specification* is not an exception but a
:class:`~canvass.tlc.results.CheckResult`.
"""

from __future__ import annotations


class TlcError(Exception):
    """TLC or Java is missing, or cannot take an option or a file."""


class ConfigError(TlcError):
    """A TLC configuration file cannot be read."""


class TlaValueError(TlcError, ValueError):
    """TLC's TLA+ cannot express a value; also a ``ValueError``."""


class ValueSyntaxError(TlaValueError):
    """A text is not a TLA+ value.

    Attributes
    ----------
    reason : str
        The message without the position.
    offset : int
        Zero-based character offset in the text.
    """

    def __init__(self, reason: str, text: str, offset: int) -> None:
        line = text.count("\n", 0, offset) + 1
        column = offset - (text.rfind("\n", 0, offset) + 1) + 1
        near = ascii(text[offset : offset + 20])
        super().__init__(f"not a TLA+ value: {reason} at line {line}, column {column}: {near}")
        self.reason = reason
        self.offset = offset
