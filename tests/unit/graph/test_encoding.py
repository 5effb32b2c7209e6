"""``Encoding.tla`` and ``MemberGraph.tla`` use the codes and fields that Python does."""

from __future__ import annotations

import re

import pytest

from canvass.cluster.messages import MESSAGE_TYPES, wire_name
from canvass.spec.files import find_file
from canvass.steps.oracle import DIGITS, OracleError, to_digits
from canvass.traces.actions import ACTION_INPUTS, ACTIONS
from canvass.traces.schema import (
    ACTION_NAMES,
    INPUT_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_TYPE_NAMES,
    STATE_COLUMNS,
    STATE_ENUMS,
)


def module(name: str) -> str:
    return find_file(f"{name}.tla").read_text(encoding="utf-8")


def definition(name: str, of: str = "Encoding") -> str:
    found = re.search(rf"^{name}(?:\(.*?\))? ==(.*?)(?=^\S)", module(of), re.MULTILINE | re.DOTALL)
    assert found, name
    return found[1]


def table(name: str, of: str = "Encoding") -> list[str]:
    return re.findall(r'"(\w+)"', definition(name, of))


def test_tables_name_what_the_codes_of_python_stand_for() -> None:
    tables = ("MessageTable", "ElectionTable", "OtherTable")
    assert [name for one in tables for name in table(one, of="Member")] == list(ACTION_NAMES)
    assert table("ElectionStateTable", of="MemberState") == [
        each.value for each in STATE_ENUMS["election_state"]
    ]
    assert table("RoleTable") == [each.value for each in STATE_ENUMS["role"]]
    assert table("ModuleStateTable") == [each.value for each in STATE_ENUMS["module_state"]]


def test_fields_of_states_and_inputs_stand_in_the_order_of_python() -> None:
    state = re.findall(r"\bs\.(\w+)", definition("EncodeState"))
    given = re.findall(r"\bx\.(\w+)", definition("EncodeInput"))

    assert state[: len(STATE_COLUMNS)] == [wire_name(name) for name in STATE_COLUMNS]
    assert given == [*(wire_name(name) for name in INPUT_COLUMNS), "message"]
    assert re.findall(r"\br\.(\w+)", definition("EncodeRecord")) == [
        wire_name(name) for name in MEMBER_COLUMNS
    ]
    assert f"StateWidth == {len(STATE_COLUMNS)}" in module("Encoding")
    assert f"InputWidth == {len(INPUT_COLUMNS)}" in module("Encoding")
    assert f"RecordWidth == {len(MEMBER_COLUMNS)}" in module("Encoding")


def test_messages_have_the_codes_and_fields_of_python() -> None:
    text = definition("EncodeMessage")
    for code, (name, kind) in enumerate(zip(MESSAGE_TYPE_NAMES, MESSAGE_TYPES, strict=True)):
        found = re.search(rf'm\.type = "{name}" ->\s*<<(.*?)>>', text, re.DOTALL)
        assert found, name
        cells = [cell.strip() for cell in found[1].split(",")]
        fields = [re.sub(r"Bit\((.*)\)", r"\1", cell).removeprefix("m.") for cell in cells[1:]]

        assert cells[0] == str(code)
        assert fields == [wire_name(field) for field in kind.__struct_fields__]


def test_actions_read_the_same_fields_of_their_input_everywhere() -> None:
    text = definition("FieldsReadBy", of="MemberGraph")
    spec = {
        action: set(re.findall(r'"(\w+)"', fields))
        for actions, fields in re.findall(r"action (.*?) ->\s*\{(.*?)\}", text)
        for action in re.findall(r'"(\w+)"', actions)
    }
    traces = {
        action.value: {wire_name(name) for name in ACTION_INPUTS[action].fields}
        for action in ACTIONS
        if ACTION_INPUTS[action].fields
    }

    assert spec == traces


def test_oracle_writes_integers_in_the_digits_of_the_spec() -> None:
    digits = re.search(r'DigitTable == "(.*?)"', module("Encoding"))
    assert digits

    assert digits[1] == DIGITS
    assert to_digits([-8, -1, 0, 55]) == "1" + DIGITS[0] + DIGITS[7] + DIGITS[8] + DIGITS[63]
    assert to_digits([0, -1]) == "187"
    assert to_digits([1 << 29]) == "6" + DIGITS[1] + DIGITS[32] + DIGITS[0] * 4
    with pytest.raises(OracleError, match="too large"):
        to_digits([1 << 30])
