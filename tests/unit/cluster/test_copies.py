"""The quick copy with changes makes what the library's makes."""

from __future__ import annotations

import dataclasses

import pytest

from canvass.cluster.copies import replace
from canvass.cluster.member import ElectionState, Input, MemberRecord, TermEntry
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member

VALUES = (
    persistent_member(Rules(3, "1.50"), 4, (TermEntry(0, 0, -1),), 96),
    MemberRecord(1, 2, 3),
    TermEntry(0, 0, 96),
    Input(interval=True),
)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_it_is_what_the_library_makes(value: object) -> None:
    for field in dataclasses.fields(value):  # type: ignore[arg-type]
        changes = {field.name: ElectionState.CLOSED}

        made: object = replace(value, **changes)

        assert made == dataclasses.replace(value, **changes)  # type: ignore[type-var]
        assert hash(replace(value)) == hash(value)
    assert replace(value) == value


def test_a_field_that_there_is_not() -> None:
    with pytest.raises(TypeError, match="TermEntry has no field 'base'"):
        replace(TermEntry(0, 0, 96), base=1)


def test_a_class_that_checks_itself() -> None:
    with pytest.raises(TypeError, match="Rules is not only its fields"):
        replace(Rules(3, "1.50"), member_count=5)
