"""Integers, strings and identifiers: what TLC can hold, and how they are written.

No composite values here, and no reading of text.
"""

from __future__ import annotations

import re
from typing import Final

from canvass.tlc.errors import TlaValueError

INTEGER_MIN: Final = -(2**31)
INTEGER_MAX: Final = 2**31 - 1

IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_]*[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)

_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
_ESCAPED: Final = re.compile(r'[\\"\n\r\t\f]')
_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]")


def check_identifier(name: str) -> str:
    """Return ``name`` when it is a TLA+ identifier.

    Raises
    ------
    TlaValueError
        When it is not: ASCII letters, digits and ``_`` with at least one letter or ``_``.
    """
    if not IDENTIFIER.match(name):
        raise TlaValueError(f"not a TLA+ identifier: {ascii(name)[:80]}")
    return name


def check_integer(number: int) -> int:
    """Return ``number`` when TLC can hold it.

    Raises
    ------
    TlaValueError
        Outside ``-2**31 .. 2**31 - 1``: TLC's integers have 32 bits.
    """
    if not INTEGER_MIN <= number <= INTEGER_MAX:
        shown = str(number) if abs(number) < 10**30 else "a number of more than 30 digits"
        raise TlaValueError(f"TLC integers have 32 bits, {shown} is outside -2^31..2^31-1")
    return number


def format_string(text: str) -> str:
    """Return ``text`` as a TLA+ string literal in quotes.

    Raises
    ------
    TlaValueError
        When it holds a control character or lone surrogate that TLA+ has no escape for.
    """
    bad = _UNPRINTABLE.search(text)
    if bad:
        raise TlaValueError(f"a TLA+ string cannot hold the character {bad.group()!a}")
    return '"' + _ESCAPED.sub(lambda match: _ESCAPES[match.group()], text) + '"'
