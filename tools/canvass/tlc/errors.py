"""The errors that this package raises, and nothing else.

Every message is one line that names the file or value, the reason and, where there is one, the fix.
What TLC says about a *specification* is not an error of this kind: it is a
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
    """An option, file name or constant cannot be handed to TLC."""


class ConfigError(TlcError):
    """A TLC configuration file cannot be read."""


class TlaValueError(TlcError, ValueError):
    """A value cannot be expressed in TLA+ as TLC knows it; also a ``ValueError``."""


class ValueSyntaxError(TlaValueError):
    """A text is not a TLA+ value.

    Attributes
    ----------
    reason : str
        What was expected or refused, without the position.
    offset : int
        Zero-based character offset in the text that was given.
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
    """TLC could not be run, or a run was used in a way that it does not allow."""
