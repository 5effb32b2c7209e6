"""Lines that are no events: each is refused with its code and its place, however the bytes come."""

from __future__ import annotations

import pytest

from canvass.traces.errors import Code
from canvass.traces.limits import MAX_DEPTH, MAX_LINE_BYTES, MAX_STRING_LENGTH, MAX_TOKENS
from support.trace_reading import LINE, NEXT, outcome, refusal


def changed(old: str, new: str) -> str:
    assert LINE.count(old) == 1, old
    return LINE.replace(old, new)


def with_input(text: str) -> str:
    return changed('"input":{}', f'"input":{text}')


VOTE = (
    '{"type":"Vote","candidateTermId":1,"logLeadershipTermId":0,"logPosition":0,'
    '"candidateMemberId":1,"followerMemberId":2,"vote":true}'
)
HOSTILE: dict[str, tuple[str | bytes, Code, str]] = {
    "not json": ("step 1", Code.BAD_SYNTAX, "s"),
    "an array": ("[]", Code.BAD_VALUE, "["),
    "a number": ("12", Code.BAD_VALUE, "1"),
    "null": ("null", Code.BAD_VALUE, "n"),
    "empty line": ("", Code.EMPTY_LINE, ""),
    "blank line": (" \t", Code.EMPTY_LINE, " "),
    "byte order mark": ("\ufeff" + LINE, Code.BAD_CHARACTER, "\ufeff"),
    "nul before": ("\0" + LINE, Code.BAD_CHARACTER, "\0"),
    "nul within a string": (changed('"FOLLOWER"', '"FOLL\0"'), Code.BAD_CHARACTER, "\0"),
    "nul escaped": (with_input('{"id":"\\u0000"}'), Code.BAD_STRING, '"\\u0000'),
    "tab in a string": (changed('"FOLLOWER"', '"FOLL\t"'), Code.BAD_CHARACTER, "\t"),
    "vertical tab": (LINE + "\v", Code.BAD_CHARACTER, "\v"),
    "no-break space": ("\u00a0" + LINE, Code.BAD_SYNTAX, "\u00a0"),
    "lone surrogate": (with_input('{"id":"\\ud800"}'), Code.BAD_STRING, '"\\ud800'),
    "surrogates in wrong order": (
        with_input('{"id":"\\udc00\\ud800"}'),
        Code.BAD_STRING,
        '"\\udc00',
    ),
    "latin 1": (LINE.encode().replace(b"FOLLOWER", b"\xe4"), Code.BAD_UTF8, "\udce4"),
    "overlong utf-8": (LINE.encode().replace(b"FOLLOWER", b"\xc0\x80"), Code.BAD_UTF8, "\udcc0"),
    "surrogate in utf-8": (
        LINE.encode().replace(b"FOLLOWER", b"\xed\xa0\x80"),
        Code.BAD_UTF8,
        "\udced",
    ),
    "unknown escape": (changed('"FOLLOWER"', '"\\q"'), Code.BAD_SYNTAX, '"\\q"'),
    "two documents": (LINE + NEXT, Code.BAD_SYNTAX, NEXT),
    "two documents with a space": (LINE + " " + NEXT, Code.BAD_SYNTAX, NEXT),
    "a comma after": (LINE + ",", Code.BAD_SYNTAX, ","),
    "trailing comma": (changed('"input":{}', '"input":{},'), Code.BAD_SYNTAX, ',"sends"'),
    "single quotes": (changed('"input"', "'input'"), Code.BAD_SYNTAX, "'"),
    "comment": (LINE + "//", Code.BAD_SYNTAX, "//"),
    "NaN": (changed('"timeNs":1000', '"timeNs":NaN'), Code.BAD_NUMBER, "NaN"),
    "Infinity": (changed('"timeNs":1000', '"timeNs":Infinity'), Code.BAD_NUMBER, "Infinity"),
    "minus Infinity": (
        changed('"timeNs":1000', '"timeNs":-Infinity'),
        Code.BAD_NUMBER,
        "-Infinity",
    ),
    "a float": (changed('"timeNs":1000', '"timeNs":1000.0'), Code.BAD_VALUE, "1000.0"),
    "an exponent": (changed('"timeNs":1000', '"timeNs":1e3'), Code.BAD_VALUE, "1e3"),
    "a float out of range": (changed('"timeNs":1000', '"timeNs":1e999'), Code.BAD_NUMBER, "1e999"),
    "a leading zero": (changed('"timeNs":1000', '"timeNs":01'), Code.BAD_SYNTAX, "1,"),
    "a plus": (changed('"timeNs":1000', '"timeNs":+1'), Code.BAD_SYNTAX, "+"),
    "hexadecimal": (changed('"timeNs":1000', '"timeNs":0x10'), Code.BAD_SYNTAX, "x10"),
    "true for an int": (changed('"timeNs":1000', '"timeNs":true'), Code.BAD_VALUE, "true,"),
    "a string for an int": (changed('"timeNs":1000', '"timeNs":"1"'), Code.BAD_VALUE, '"1"'),
    "null for an int": (changed('"timeNs":1000', '"timeNs":null'), Code.BAD_VALUE, "null"),
    "1 for true": (changed('"logReplication":false', '"logReplication":0'), Code.BAD_VALUE, "0,"),
    "above 64 bits": (
        changed('"timeNs":1000', f'"timeNs":{1 << 63}'),
        Code.BAD_NUMBER,
        str(1 << 63),
    ),
    "below 64 bits": (
        changed('"timeNs":1000', f'"timeNs":{-(1 << 63) - 1}'),
        Code.BAD_NUMBER,
        str(-(1 << 63) - 1),
    ),
    "5000 digits": (changed('"timeNs":1000', '"timeNs":' + "9" * 5000), Code.BAD_NUMBER, "999"),
    "negative step": (changed('"step":0', '"step":-1'), Code.BAD_VALUE, "-1,"),
    "a key twice": (changed('"step":0', '"step":0,"step":0'), Code.DUPLICATE_KEY, '"step":0,"time'),
    "a key twice, once escaped": (
        changed('"step":0', '"step":0,"\\u0073tep":0'),
        Code.DUPLICATE_KEY,
        '"\\u0073',
    ),
    "a key twice, deep": (
        changed('"role":"FOLLOWER"', '"role":"LEADER","role":"FOLLOWER"'),
        Code.DUPLICATE_KEY,
        '"role":"FOLLOWER"',
    ),
    "a default key twice": (
        with_input('{"interval":false,"interval":false}'),
        Code.DUPLICATE_KEY,
        '"interval":false}',
    ),
    "unknown key": (changed('"step":0', '"stpe":1,"step":0'), Code.BAD_VALUE, '"stpe"'),
    "unknown key, deep": (
        changed('"role":', '"rule":{"a":[1]},"role":'),
        Code.BAD_VALUE,
        '"rule"',
    ),
    "missing key": (changed('"step":0,', ""), Code.BAD_VALUE, "{"),
    "missing key, deep": (changed('"role":"FOLLOWER",', ""), Code.BAD_VALUE, '{"persisted'),
    "unknown action": (changed('"Restart"', '"Resign"'), Code.BAD_VALUE, '"Resign"'),
    "unknown election state": (changed('"INIT"', '"DONE"'), Code.BAD_VALUE, '"DONE"'),
    "state in lower case": (changed('"INIT"', '"init"'), Code.BAD_VALUE, '"init"'),
    "no members": (
        LINE[: LINE.index('"members":[') + 11] + LINE[LINE.index('],"electionState') :],
        Code.BAD_VALUE,
        "[]",
    ),
    "a message without a type": (
        with_input('{"from":1,"id":"1:1","message":{}}'),
        Code.BAD_VALUE,
        "{}}",
    ),
    "a message of unknown type": (
        with_input('{"from":1,"id":"1:1","message":{"type":"Ping"}}'),
        Code.BAD_VALUE,
        '"Ping"',
    ),
    "a message for an action without": (
        with_input('{"from":1,"id":"1:1","message":' + VOTE + "}"),
        Code.BAD_EVENT,
        "{",
    ),
    "an action without its message": (changed('"Restart"', '"OnVote"'), Code.BAD_EVENT, "{"),
    "a sender without a message": (with_input('{"from":1}'), Code.BAD_EVENT, "{"),
    "an id without a message": (with_input('{"id":"1:1"}'), Code.BAD_EVENT, "{"),
    "an id of another sender": (
        with_input('{"from":2,"id":"1:1","message":' + VOTE + "}").replace("Restart", "OnVote"),
        Code.BAD_EVENT,
        "{",
    ),
    "an id with a newline": (
        with_input('{"from":1,"id":"1:1\\n","message":' + VOTE + "}"),
        Code.BAD_VALUE,
        '"1:1',
    ),
    "an id with a leading zero": (
        with_input('{"from":1,"id":"1:01","message":' + VOTE + "}"),
        Code.BAD_VALUE,
        '"1:01',
    ),
    "an id without bounds": (
        with_input('{"from":1,"id":"1:' + "1" * 16 + '","message":' + VOTE + "}"),
        Code.BAD_VALUE,
        '"1:1',
    ),
    "member 9": (with_input('{"active":[9]}'), Code.BAD_VALUE, "9]"),
    "member -1": (with_input('{"active":[-1]}'), Code.BAD_VALUE, "-1]"),
    "a member twice": (with_input('{"active":[1,1]}'), Code.BAD_EVENT, "{"),
    "members out of order": (with_input('{"accepted":[1,0]}'), Code.BAD_EVENT, "{"),
    "an active member of a larger cluster": (with_input('{"active":[0,3]}'), Code.BAD_EVENT, "{"),
    "a vote of a larger cluster": (with_input('{"accepted":[3]}'), Code.BAD_EVENT, "{"),
    "ten members": (with_input(f'{{"active":{[*range(9), 8]}}}'), Code.BAD_VALUE, "["),
    "a send by somebody else": (
        changed('"sends":[]', '"sends":[{"to":1,"id":"2:1","message":' + VOTE + "}]"),
        Code.BAD_EVENT,
        "{",
    ),
    "ends early": (LINE[:-1], Code.ENDS_EARLY, ""),
    "deep arrays for a number": (
        changed('"timeNs":1000', '"timeNs":' + "[" * 100_000),
        Code.TOO_DEEP,
        "[" * (100_000 - MAX_DEPTH + 1),
    ),
    "deep objects": ('{"a":' * 100_000, Code.TOO_DEEP, ""),
    "many tokens": (
        changed('"timeNs":1000', '"timeNs":[' + "1," * MAX_TOKENS),
        Code.TOO_MANY_TOKENS,
        "",
    ),
    "a long string": (
        with_input('{"id":"' + "1" * (MAX_STRING_LENGTH + 1) + '"}'),
        Code.STRING_TOO_LONG,
        '"1',
    ),
    "too many sends": (
        changed(
            '"sends":[]',
            '"sends":[' + ",".join(['{"to":1,"id":"0:1","message":' + VOTE + "}"] * 1_025) + "]",
        ),
        Code.BAD_VALUE,
        "[{",
    ),
    "a long line": (LINE + " " * MAX_LINE_BYTES, Code.LINE_TOO_LONG, "{"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_line_is_refused_with_code_and_place(name: str) -> None:
    text, code, at = HOSTILE[name]
    data = text if isinstance(text, bytes) else text.encode()

    error = refusal(data + b"\n" + NEXT.encode() + b"\n")

    assert (error.code, error.line, error.file) == (code, 1, "s")
    assert data.decode(errors="surrogateescape")[error.column - 1 :].startswith(at)
    assert error.column >= 1
    assert error.reason
    assert "\n" not in str(error)


@pytest.mark.parametrize("name", HOSTILE)
def test_the_same_line_in_second_place_is_found_there(name: str) -> None:
    text, code, _ = HOSTILE[name]
    data = text if isinstance(text, bytes) else text.encode()

    error = refusal(LINE.encode() + b"\n" + data.replace(b'"step":0', b'"step":1') + b"\n")

    assert (error.code, error.line) == (code, 2)


@pytest.mark.parametrize("piece", [1, 2, 3, 1 << 20])
@pytest.mark.parametrize("name", [name for name, (text, *_) in HOSTILE.items() if len(text) < 4000])
def test_a_refusal_does_not_depend_on_how_the_bytes_come(name: str, piece: int) -> None:
    text, *_ = HOSTILE[name]
    data = LINE.encode() + b"\n" + (text if isinstance(text, bytes) else text.encode()) + b"\n"

    assert outcome(data, piece) == outcome(data, len(data))
