"""Numbers with their nouns for messages to people: ``3 runs``."""

from __future__ import annotations

from collections.abc import Collection


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as "1 run" or "1,200 runs".

    Parameters
    ----------
    number
        The number.
    noun
        The singular.
    plural
        The plural. Default: the singular with an "s".
    """
    return f"1 {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def member_names(members: Collection[int]) -> str:
    """Return the names of members, such as "member 1" or "members 0, 2"."""
    return f"member{'' if len(members) == 1 else 's'} {', '.join(map(str, sorted(members)))}"
