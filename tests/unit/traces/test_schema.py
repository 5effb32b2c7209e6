"""The structures of the format are those of the protocol core, name for name."""

from __future__ import annotations

import ast
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.cluster import core, member, messages
from canvass.cluster.core import action_name
from canvass.cluster.member import Member, MemberRecord, TermEntry
from canvass.cluster.messages import MESSAGE_TYPES, RequestVote, Vote, wire_name
from canvass.traces import arrow, schema
from canvass.traces.actions import ACTION_INPUTS, ACTIONS, Action
from canvass.traces.schema import NumberKind, encode, kind
from support.trace_events import MESSAGES, initial_member, inputs, plain_event, states

ROOT = Path(__file__).resolve().parents[3]
VALUES = [*MESSAGE_TYPES, Member, MemberRecord, TermEntry]


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_fields_have_the_names_of_the_spec_in_json(kind: type[msgspec.Struct]) -> None:
    assert tuple(map(wire_name, kind.__struct_fields__)) == kind.__struct_encode_fields__


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_no_field_is_optional(kind: type[msgspec.Struct]) -> None:
    assert not any(field.name for field in msgspec.structs.fields(kind) if not field.required)


@given(MESSAGES | states(3))
def test_values_of_the_core_are_read_as_they_were_written(value: msgspec.Struct) -> None:
    assert msgspec.json.decode(encode(value), type=type(value)) == value


def test_input_has_the_fields_of_the_core_in_order() -> None:
    names = list(member.Input.__struct_fields__)

    assert ["from_", "id", *names] == list(schema.Input.__struct_fields__)
    assert ["from", "id", *map(wire_name, names)] == list(schema.Input.__struct_encode_fields__)


def test_input_has_the_defaults_of_the_core() -> None:
    expected = schema.Input()

    assert expected == schema.to_trace_input(member.NO_INPUT)
    assert schema.to_core_input(expected) == member.NO_INPUT


def test_messages_say_their_type_first() -> None:
    for message_type in MESSAGE_TYPES:
        config = message_type.__struct_config__
        assert (config.tag_field, config.tag) == ("type", message_type.__name__)


def test_actions_are_those_of_the_core_with_its_function_names() -> None:
    assert {action.value for action in ACTIONS} == set(core.ACTIONS)
    for action in Action:
        handler = core.ACTIONS[action.value]
        assert action.name.lower() == handler.__name__
        assert action.value == action_name(handler)
    assert set(ACTIONS) == set(ACTION_INPUTS)


def test_an_action_on_a_message_is_named_after_it() -> None:
    for action, row in ACTION_INPUTS.items():
        if row.message is not None:
            assert action.value == f"On{row.message.__name__}"
    assert {row.message for row in ACTION_INPUTS.values()} == {None, *messages.MESSAGE_TYPES}


def functions_of_the_core() -> dict[str, ast.FunctionDef]:
    """Every function of the core by name."""
    return {
        node.name: node
        for path in sorted((ROOT / "impl" / "canvass" / "cluster").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    }


def fields_read(name: str, functions: dict[str, ast.FunctionDef], seen: set[str]) -> set[str]:
    """The fields of the input that a function, or one that it hands the input to, looks at."""
    if name in seen or name not in functions:
        return set()
    seen.add(name)
    found = set()
    for node in ast.walk(functions[name]):
        match node:
            case ast.Attribute(value=ast.Name(id="x"), attr=attribute):
                found.add(attribute)
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=args) if any(
                isinstance(argument, ast.Name) and argument.id == "x" for argument in args
            ):
                found |= fields_read(called, functions, seen)
    return found


def test_the_table_tells_what_each_action_of_the_core_reads() -> None:
    functions = functions_of_the_core()
    known = set(member.Input.__struct_fields__)

    for action, row in ACTION_INPUTS.items():
        read = fields_read(action.name.lower(), functions, set())

        assert read <= known
        assert read - {"message"} == row.fields, action.value


@given(st.sampled_from(Action).flatmap(lambda action: inputs(action, 3)))
def test_input_survives_the_way_to_the_core_and_back(given_input: schema.Input) -> None:
    core_input = schema.to_core_input(given_input)

    assert schema.to_trace_input(core_input, given_input.from_, given_input.id) == given_input


def test_an_event_reads_as_the_design_says() -> None:
    event = plain_event(
        17,
        action=Action.ON_REQUEST_VOTE,
        input=schema.Input(1, "1:42", RequestVote(0, 0, 1, 1)),
        sends=(schema.Send(1, "0:9", Vote(1, 0, 0, 1, 0, vote=True)),),
    )

    written = msgspec.json.decode(schema.encode(event))

    assert list(written) == ["step", "timeNs", "action", "input", "sends", "state"]
    assert written["input"] == {
        "from": 1,
        "id": "1:42",
        "message": {
            "type": "RequestVote",
            "logLeadershipTermId": 0,
            "logPosition": 0,
            "candidateTermId": 1,
            "candidateMemberId": 1,
        },
    }
    assert written["sends"][0]["id"] == "0:9"
    assert written["state"]["electionState"] == "INIT"
    assert len(written["state"]) == len(initial_member().__struct_fields__)


def test_published_schemas_are_up_to_date() -> None:
    """`python -m canvass.traces.arrow` writes them."""
    assert arrow.published() == {path.name: path.read_bytes() for path in arrow.FOLDER.iterdir()}


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("next_leadership_term_id", NumberKind.TERM),
        ("catchup_join_position", NumberKind.POSITION),
        ("graceful_closed_leader_id", NumberKind.MEMBER),
        ("follower_member_id", NumberKind.MEMBER),
        ("active", NumberKind.MEMBER_MASK),
        ("id", NumberKind.MESSAGE_ID),
        ("checksum", NumberKind.CHECKSUM),
        ("flags", NumberKind.CODE),
        ("vote", NumberKind.CODE),
        ("election_state", NumberKind.CODE),
    ],
)
def test_kind_of_a_column_follows_from_its_name(column: str, expected: NumberKind) -> None:
    assert kind(column) is expected
