"""Configurations and options: read, written, bound to constants, refused."""

from __future__ import annotations

import pytest

from canvass.tlc.config import TlcConfig, parse_config
from canvass.tlc.errors import ConfigError
from canvass.tlc.runner import TlcOptions

EVERYTHING = r"""
\* A comment with CONSTANT in it.
CONSTANTS
    Servers = {s1, s2, {"a b", 3}}   (* and one
    over two lines: INIT Nothing *)
    Least = -1
    Send <- MCSend
    Other <- [Module] MCOther
    f(1, x) = TRUE
SPECIFICATION Spec
INVARIANTS TypeOK
    Safe
INVARIANT Last
PROPERTY Live
CONSTRAINT Bound
ACTION_CONSTRAINTS Step
SYMMETRY Perms
VIEW Seen
CHECK_DEADLOCK FALSE
"""


def test_a_configuration_is_read() -> None:
    config = parse_config(EVERYTHING)

    assert config == TlcConfig(
        constants={
            "Servers": '= { s1 , s2 , { "a b" , 3 } }',
            "Least": "= -1",
            "Send": "<- MCSend",
            "Other": "<- [ Module ] MCOther",
            "f(1,x)": "= TRUE",
        },
        specification="Spec",
        invariants=("TypeOK", "Safe", "Last"),
        properties=("Live",),
        constraints=("Bound",),
        action_constraints=("Step",),
        symmetry="Perms",
        view="Seen",
        check_deadlock=False,
    )


def test_a_written_configuration_is_read_back_except_the_deadlock() -> None:
    config = parse_config(EVERYTHING.replace("CHECK_DEADLOCK FALSE", ""))

    assert parse_config(config.text()) == config
    assert "CHECK_DEADLOCK" not in parse_config(EVERYTHING).text()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hello", "a keyword was expected, not 'hello'"),
        ("INIT", "INIT needs one name"),
        ("INIT a b", "INIT needs one name"),
        ("CONSTANT x", "was expected after x"),
        ("CONSTANT x =", "was expected after x"),
        ("CHECK_DEADLOCK maybe", "TRUE or FALSE"),
    ],
)
def test_another_text_than_a_configuration_is_refused_by_name(text: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "Model.cfg")

    assert reason in str(caught.value)
    assert str(caught.value).startswith("Model.cfg: ")


def test_arguments_follow_from_options() -> None:
    check = TlcOptions(workers=2, seed=7, extra_args=("-gzip",))
    simulate = TlcOptions(simulate=True, traces=3, depth=9)

    assert " ".join(check.tlc_args()) == ("-tool -workers 2 -fp 0 -checkpoint 0 -seed 7 -gzip")
    assert " ".join(simulate.tlc_args()) == "-tool -workers 1 -simulate num=3 -depth 9"
    assert "-Xss512m" in TlcOptions(stack_mib=512).java_args()
