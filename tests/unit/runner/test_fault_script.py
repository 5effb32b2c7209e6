"""Commands to a running cluster, and scripts of commands."""

from __future__ import annotations

import pytest

from canvass.runner import RunnerError
from canvass.runner.commands import (
    Command,
    TimedCommand,
    parse_command,
    parse_script,
    random_script,
)

SCRIPT = """
# What happens to the cluster.
3s pause leader   # It may lead again.
1.5 kill 2

4 toggle snapshot
"""


def test_a_script_is_read_in_the_order_of_time() -> None:
    assert parse_script(SCRIPT, 3) == [
        TimedCommand(1.5, Command("kill", "2")),
        TimedCommand(3.0, Command("pause", "leader")),
        TimedCommand(4.0, Command("toggle", "snapshot")),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kill 3", "give 0 to 2, leader"),
        ("kill everybody", "give 0 to 2, leader"),
        ("burn 1", "; give kill|start|stop|pause|resume"),
        ("toggle NEUTRAL", "toggle suspend|resume|snapshot|shutdown|abort|standby-snapshot, quit"),
        (f"kill {'9' * 5000}", "give 0 to 2, leader"),
        ("", "unknown command ''"),
    ],
)
def test_an_unknown_command_is_refused_with_the_list_of_commands(text: str, expected: str) -> None:
    with pytest.raises(RunnerError) as found:
        parse_command(text, 3)
    assert expected in str(found.value)


@pytest.mark.parametrize("line", ["soon kill 1", "-1 kill 1", "nan kill 1", "1s", "1 kill 7"])
def test_a_wrong_line_is_named(line: str) -> None:
    with pytest.raises(RunnerError, match=r"^line 2: "):
        parse_script(f"# first\n{line}\n", 3)


def test_a_command_reads_back_as_it_is_typed() -> None:
    for text in ("kill 1", "pause leader", "toggle suspend", "toggle standby-snapshot", "quit"):
        assert str(parse_command(text, 3)) == text


def test_random_faults_affect_one_member_at_a_time_and_end_in_time() -> None:
    for seed in range(20):
        script = random_script(seed, 120, 3, clock=5)
        assert script == random_script(seed, 120, 3, clock=5)
        assert max(one.at_s for one in script) <= 120
        disturbed = 0
        for one in sorted(script, key=lambda one: one.at_s):
            if one.command.action in ("kill", "pause"):
                disturbed += 1
            elif one.command.action in ("start", "resume"):
                disturbed -= 1
            assert disturbed in (0, 1)
        assert {"kill", "pause"} <= {one.command.action for one in script}
