"""The canonical form of steps in columns, compiled: what `canvass.steps.canonical` defines.

One call takes any number of steps and gives for each a status and the 128-bit content key of its
canonical form. It needs nothing but its arguments. The form itself, which is wanted of the distinct
steps only, comes from the plain definition.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.rules import Rules
from canvass.steps import kernel_loop
from canvass.steps.step import RowLayout
from canvass.steps.tables import tables

Ints = NDArray[np.int64]


class Status(IntEnum):
    """What the kernel says of a step."""

    KEYED = kernel_loop.KEYED
    UNKNOWN_BEFORE = kernel_loop.UNKNOWN_BEFORE
    """The state before the step is not known."""
    FRAME_BROKEN = kernel_loop.FRAME_BROKEN
    """A field that the action does not touch was changed; the detail is its number."""
    OUT_OF_DOMAIN = kernel_loop.OUT_OF_DOMAIN
    """A field holds an impossible value."""
    LONG = kernel_loop.LONG
    """More entries or sends than a canonical step should have: for the plain definition."""


def flavour(rules: Rules) -> int:
    """Give what the canonical form needs to know of the rules, as one number."""
    return (
        kernel_loop.FLAVOUR_149 * rules.is_149
        + kernel_loop.FLAVOUR_HZ1 * rules.is_hardened("HZ1")
        + (rules.appointed_leader_id + 1 << kernel_loop.FLAVOUR_APPOINTED_SHIFT)
    )


def canonical_keys(
    *,
    flavours: Ints,
    member: Ints,
    action: Ints,
    before: Ints,
    after: Ints,
    inputs: Ints,
    message: Ints,
    state: Ints,
    members: Ints,
    log_offsets: Ints,
    log: Ints,
    send_offsets: Ints,
    sends: Ints,
) -> tuple[NDArray[np.uint64], Ints, Ints]:
    """Give the content key, the status and its detail for each step.

    Parameters
    ----------
    flavours
        What `flavour` gives for the rules of each step.
    member, action, inputs, message, send_offsets, sends
        One row for each step, laid out as in `canvass.traces.columns.EventColumns`.
    before, after
        Rows of ``state``, ``members`` and ``log_offsets``: the states before and after each step;
        ``before`` is -1 where it is not known.
    state, members, log_offsets, log
        The states.

    Returns
    -------
    keys : (n, 2) array
        Valid where the status is `Status.KEYED`.
    status : array of `Status`
    detail : array
        For `Status.FRAME_BROKEN` the number that `canvass.steps.tables.field_name` names.
    """
    count = len(action)
    layout = RowLayout(members.shape[1])
    keys = np.zeros((count, 2), dtype=np.uint64)
    status = np.empty(count, dtype=np.int64)
    detail = np.empty(count, dtype=np.int64)
    kernel_loop.canonicalise(
        tables(),
        flavours,
        member,
        action,
        before,
        after,
        inputs,
        message,
        state,
        members,
        log_offsets,
        log,
        send_offsets,
        sends,
        layout.log_capacity,
        layout.send_capacity,
        keys,
        status,
        detail,
    )
    return keys, status, detail
