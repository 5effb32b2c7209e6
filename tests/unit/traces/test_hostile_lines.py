"""Lines that are no events: each is refused with its line, and with the path of what is wrong.

`test_published_schemas` has fields with wrong values, `test_ndjson` has lines that come in pieces.
"""

from __future__ import annotations

import pytest

from canvass.traces.errors import Code
from canvass.traces.schema import MAX_LINE_BYTES
from support.trace_reading import LINE, NEXT, refusal


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
    "not json": ("step 1", Code.BAD_SYNTAX, "(byte 0)"),
    "an array": ("[]", Code.BAD_VALUE, "got `array`"),
    "empty line": ("", Code.EMPTY_LINE, ""),
    "blank line": (" \t", Code.EMPTY_LINE, ""),
    "byte order mark": ("\ufeff" + LINE, Code.BAD_SYNTAX, "(byte 0)"),
    "nul within a string": (changed('"FOLLOWER"', '"FOLL\0"'), Code.BAD_SYNTAX, "character"),
    "nul escaped": (with_input('{"id":"\\u0000"}'), Code.BAD_VALUE, "$.input.id"),
    "latin 1": (LINE.encode().replace(b"FOLLOWER", b"\xe4"), Code.BAD_SYNTAX, "utf-8"),
    "two documents": (LINE + NEXT, Code.BAD_SYNTAX, "trailing characters"),
    "5000 digits": (changed('"timeNs":1000', '"timeNs":' + "9" * 5000), Code.BAD_VALUE, "$.timeNs"),
    "unknown key, deep": (changed('"role":', '"rule":[1],"role":'), Code.BAD_VALUE, "$.state"),
    "a message for an action without": (
        with_input('{"from":1,"id":"1:1","message":' + VOTE + "}"),
        Code.BAD_EVENT,
        "Restart consumes no message",
    ),
    "an action without its message": (
        changed('"Restart"', '"OnVote"'),
        Code.BAD_EVENT,
        "OnVote consumes a Vote",
    ),
    "a sender without a message": (with_input('{"from":1}'), Code.BAD_EVENT, "input.from"),
    "a member twice": (with_input('{"active":[1,1]}'), Code.BAD_EVENT, "names one twice"),
    "an active member of a larger cluster": (
        with_input('{"active":[0,3]}'),
        Code.BAD_EVENT,
        "names member 3",
    ),
    "a vote of a larger cluster": (with_input('{"accepted":[3]}'), Code.BAD_EVENT, "member 3"),
    "a send by somebody else": (
        changed('"sends":[]', '"sends":[{"to":1,"id":"2:1","message":' + VOTE + "}]"),
        Code.BAD_EVENT,
        "send 2:1",
    ),
    "ends early": (LINE[:-1], Code.BAD_SYNTAX, "truncated"),
    "deep arrays": (
        changed('"timeNs":1000', '"timeNs":' + "[" * 100_000),
        Code.BAD_VALUE,
        "$.timeNs",
    ),
    "a line without an end": (LINE + " " * (2 * MAX_LINE_BYTES), Code.LINE_TOO_LONG, "bytes"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_line_is_refused_with_line_and_path(name: str) -> None:
    text, code, said = HOSTILE[name]
    data = text if isinstance(text, bytes) else text.encode()

    error = refusal(LINE.encode() + b"\n" + data.replace(b'"step":0', b'"step":1') + b"\n")

    assert (error.code, error.file, error.line) == (code, "s", 2)
    assert said in error.reason
    assert "\n" not in str(error)
