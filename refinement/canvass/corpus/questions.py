"""Distinct steps as questions that travel: from the worker that met one to the one that asks TLC.

A question is the step's content key, which names it, and the step with its rules in JSON, which is
read strictly and has no code in it.
"""

from __future__ import annotations

import struct
from typing import Final

import msgspec

from canvass.conformance.steps import Example

_KEY: Final = struct.Struct(">QQ")
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_DECODER: Final = msgspec.json.Decoder(Example)


def key_of(data: bytes) -> tuple[int, int]:
    """Give the content key that the 16 bytes of a question's key stand for."""
    first, second = _KEY.unpack(data)
    return first, second


def to_question(example: Example) -> tuple[bytes, bytes]:
    """Give key and contents of a step that is to be decided."""
    return _KEY.pack(*example.key), _ENCODER.encode(example)


def to_example(question: bytes) -> Example:
    """Give the step that the contents of a question are about.

    Raises
    ------
    msgspec.MsgspecError
        If it is no question.
    """
    return _DECODER.decode(question)
