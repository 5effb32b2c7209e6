"""Counts in words."""

from __future__ import annotations

from collections.abc import Collection


def counted(number: int, noun: str, plural: str = "") -> str:
    """Give a number with its noun, such as "1 run" or "1,200 runs".

    Parameters
    ----------
    number
        How many.
    noun
        The noun for one.
    plural
        The noun for all other numbers; ``noun`` with an "s" if empty.
    """
    return f"1 {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def member_names(members: Collection[int]) -> str:
    """Name members, such as "member 1" or "members 0, 2"."""
    return f"member{'' if len(members) == 1 else 's'} {', '.join(map(str, sorted(members)))}"
