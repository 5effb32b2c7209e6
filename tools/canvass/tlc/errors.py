"""The errors of `canvass.tlc`: `TlcError`, and a subclass for each thing that fails.

`JarError` and `JavaError`: TLC or Java is not there. `OptionError` and `ConfigError`: TLC cannot
take an option or a configuration. `TlaValueError`, `ValueSyntaxError` and `DumpError`: a value, its
text or a dump cannot be read or written. `RunError`: TLC could not be run.

Each message is one line that names the file or value, the reason and, if known, the fix. An error
that TLC reports about a *specification* is not an exception but a
:class:`~canvass.tlc.results.CheckResult`.
"""

from __future__ import annotations


class TlcError(Exception):
    """Base of every error raised by ``canvass.tlc``."""


class JarError(TlcError):
    """There is no usable ``tla2tools.jar``."""


class JavaError(TlcError):
    """There is no usable Java."""


class OptionError(TlcError):
    """TLC cannot take an option, file name or constant."""


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


class DumpError(TlcError):
    """A state-graph dump cannot be read; the message names the file and the line."""


class RunError(TlcError):
    """TLC could not be run, or the caller misused a run."""
