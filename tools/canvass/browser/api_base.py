"""What all answers have in common, errors, and the session."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

Kind = Literal["graph", "run", "corpus", "report", "counterexample"]


class Data(Struct, frozen=True, rename="camel"):
    """A part of an answer; fields are in camel case on the wire."""


class Problem(Data, frozen=True):
    """Why a request has no answer."""

    code: str
    message: str
    column: int | UnsetType = UNSET
    """Place in the expression that was asked for, from 1."""


class Failure(Data, frozen=True):
    """The body of an answer that is an error."""

    error: Problem


class SourceInfo(Data, frozen=True):
    """Something that was opened."""

    id: str
    kind: Kind
    title: str
    detail: str


class Session(Data, frozen=True):
    """What there is to look at."""

    opened: str
    """Id of the source to show first; empty if there is none."""
    sources: tuple[SourceInfo, ...]
