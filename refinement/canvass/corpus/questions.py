"""Distinct steps as questions that travel: from the worker that met one to the one that asks TLC.

A question is the step's content key, which names it, and its contents in the JSON of the trace
format, which is strict and has no code in it.
"""

from __future__ import annotations

import struct
from typing import Final

import msgspec
from msgspec import Struct

from canvass.cluster.member import Member
from canvass.cluster.messages import Message
from canvass.cluster.rules import Rules
from canvass.conformance.steps import Example
from canvass.steps.step import Step
from canvass.traces.actions import Action
from canvass.traces.schema import (
    Input,
    to_core_input,
    to_trace_input,
)

_KEY: Final = struct.Struct(">QQ")


class _Sent(Struct, frozen=True, array_like=True):
    to: int
    message: Message


class _Question(Struct, frozen=True):
    """An `Example` without its key."""

    member_count: int
    revision: str
    hardening: tuple[str, ...]
    appointed_leader_id: int
    member: int
    barred: bool
    action: Action
    input: Input
    before: Member
    after: Member
    sends: tuple[_Sent, ...]


_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_DECODER: Final = msgspec.json.Decoder(_Question)


def key_bytes(key: tuple[int, int]) -> bytes:
    """Give the 16 bytes of a content key."""
    return _KEY.pack(*key)


def key_of(data: bytes) -> tuple[int, int]:
    """Give the content key that `key_bytes` made bytes of."""
    first, second = _KEY.unpack(data)
    return first, second


def to_question(example: Example) -> tuple[bytes, bytes]:
    """Give key and contents of a step that is to be decided."""
    rules, step = example.rules, example.step
    question = _Question(
        member_count=rules.member_count,
        revision=rules.revision,
        hardening=tuple(sorted(rules.hardening)),
        appointed_leader_id=rules.appointed_leader_id,
        member=step.member,
        barred=step.barred,
        action=step.action,
        input=to_trace_input(step.input),
        before=step.before,
        after=step.after,
        sends=tuple(_Sent(to, message) for to, message in step.sends),
    )
    return key_bytes(example.key), _ENCODER.encode(question)


def to_example(key: bytes, question: bytes) -> Example:
    """Give the step that a question is about.

    Raises
    ------
    msgspec.MsgspecError
        If it is no question.
    """
    asked = _DECODER.decode(question)
    return Example(
        Rules(
            asked.member_count,
            asked.revision,
            frozenset(asked.hardening),
            asked.appointed_leader_id,
        ),
        Step(
            member=asked.member,
            before=asked.before,
            action=asked.action,
            input=to_core_input(asked.input),
            after=asked.after,
            sends=tuple((sent.to, sent.message) for sent in asked.sends),
            barred=asked.barred,
        ),
        key_of(key),
    )
