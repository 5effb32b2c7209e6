"""Compiled: a hash of what messages say."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.steps.jit import kernel
from canvass.steps.kernel_parts import absorb
from canvass.steps.step import FIRST_SEED, SECOND_SEED
from canvass.traces.layout import MESSAGE_INDEX

_FIELDS: Final = MESSAGE_INDEX["id"] + 1
"""The columns before are type, peer and id."""


@kernel("messages")
def _hash_rows(messages: Any, out: Any) -> None:
    lanes = np.empty(2, np.uint64)
    for row in range(len(messages)):
        if messages[row, 0] < 0:
            out[row] = -1
            continue
        lanes[0] = FIRST_SEED
        lanes[1] = SECOND_SEED
        absorb(lanes, messages[row, 0])
        for column in range(_FIELDS, messages.shape[1]):
            absorb(lanes, messages[row, column])
        out[row] = np.int64(lanes[0] ^ (lanes[1] >> np.uint64(1)))


def content_hashes(messages: NDArray[np.int64]) -> NDArray[np.int64]:
    """Hash type and fields of each message, not its id and peer; -1 where there is no message."""
    out = np.empty(len(messages), dtype=np.int64)
    _hash_rows(np.ascontiguousarray(messages), out)
    return out
