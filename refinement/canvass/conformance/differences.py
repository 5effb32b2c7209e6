"""The differences of two outcomes of one step: field by field, and in one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from canvass.cluster.member import Member
from canvass.cluster.names import wire_name
from canvass.steps.step import Sends

_MAX_SAID: Final = 3
"""Differences in one sentence."""
_SENDS_TO: Final = "sends to "


class Difference(Struct, frozen=True, rename=wire_name):
    """A field in which two states or lists of messages differ."""

    field: str
    before: str
    observed: str
    allowed: str


def differences(
    before: Member, observed: Member, allowed: Member, sent: Sends, would_send: Sends
) -> Iterator[Difference]:
    """Give the fields in which the observed state and sends differ from those allowed."""
    old, seen, right = (dict(_flat(state)) for state in (before, observed, allowed))
    for name in dict.fromkeys((*seen, *right)):
        if seen.get(name) != right.get(name):
            yield Difference(
                name, old.get(name, "absent"), seen.get(name, "absent"), right.get(name, "absent")
            )
    receivers = sorted({to for to, _ in (*sent, *would_send)})
    for receiver in receivers:
        is_sent = "; ".join(_text(message) for to, message in sent if to == receiver)
        should = "; ".join(_text(message) for to, message in would_send if to == receiver)
        if is_sent != should:
            yield Difference(f"{_SENDS_TO}{receiver}", "", is_sent or "none", should or "none")


def in_words(found: Sequence[Difference]) -> str:
    """Give a sentence with the outcome of the spec, and the one that the trace reports.

    Parameters
    ----------
    found
        At least one difference; the sentence has the first few.
    """
    said = found[:_MAX_SAID]
    allowed = _joined([_part(each.field, each.allowed) for each in said])
    observed = _joined([_part(each.field, each.observed) for each in said])
    rest = f"; {len(found) - _MAX_SAID} more not shown" if len(found) > _MAX_SAID else ""
    return f"by the spec this step leads to {allowed}; the trace reports {observed}{rest}"


def _part(field: str, value: str) -> str:
    if not field.startswith(_SENDS_TO):
        return f"{field} {value}"
    receiver = field.removeprefix(_SENDS_TO)
    return f"{'nothing sent' if value == 'none' else f'{value} sent'} to {receiver}"


def _joined(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _flat(state: Member) -> Iterator[tuple[str, str]]:
    for name in state.__struct_fields__:
        value = getattr(state, name)
        if name == "members":
            for j, record in enumerate(value):
                for field in record.__struct_fields__:
                    yield f"members[{j}].{wire_name(field)}", _text(getattr(record, field))
        elif name == "recording_log":
            for k, entry in enumerate(value):
                cells = (entry.leadership_term_id, entry.term_base_log_position, entry.log_position)
                yield f"recordingLog[{k}]", f"term {cells[0]} from {cells[1]} to {cells[2]}"
        else:
            yield wire_name(name), _text(value)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    names = getattr(value, "__struct_fields__", None)
    if names is not None:
        parts = (f"{wire_name(name)}={_text(getattr(value, name))}" for name in names)
        return f"{type(value).__name__}({', '.join(parts)})"
    return str(getattr(value, "value", value))
