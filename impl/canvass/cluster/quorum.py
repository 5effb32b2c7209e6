"""The arithmetic of majorities: how many members make one, and which position one has reached.

Functions of numbers only, so that tests can compare each with a slow form of its definition.
"""

from __future__ import annotations

from collections.abc import Iterable


def quorum_size(count: int) -> int:
    """The smallest number of ``count`` members such that any two sets of that size overlap.

    Parameters
    ----------
    count
        How many members there are in all, at least 1.

    Notes
    -----
    1 of 1, 2 of 2, 2 of 3, 3 of 4, 3 of 5. Source: ``ClusterMember.quorumThreshold``.
    """
    return count // 2 + 1


def is_quorum(count_in_favour: int, count: int) -> bool:
    """Whether ``count_in_favour`` of ``count`` members are a majority."""
    return count_in_favour >= quorum_size(count)


def quorum_position(positions: Iterable[int], count: int) -> int:
    """The greatest position that a majority of ``count`` members has reached, at least 0.

    Parameters
    ----------
    positions
        The positions of the members that are counted, in any order. A member that is not among
        them, or whose position is negative, counts as 0.
    count
        The number of all members. A majority is more than half of ``count``, not of ``positions``.

    Notes
    -----
    This is the k-th largest position, where k is the quorum size. Time: O(n log n). Source:
    ``ClusterMember.quorumPosition``.
    """
    descending = sorted((position for position in positions if position > 0), reverse=True)
    size = quorum_size(count)
    return descending[size - 1] if len(descending) >= size else 0
