"""The language of scenarios: what is written is read. And the logs of their world."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.cluster.messages import MESSAGE_TYPES, Message
from canvass.cluster.rules import Rules
from canvass.simulation.world import Segment, agreement, append, copy, cut, length
from support.arbitrary_steps import Draw
from support.dialogue import Dialogue, replay
from support.scenario_language import ScenarioError, heard, said

CLUSTER = ("cluster 3 1.50",)


@given(st.sampled_from(MESSAGE_TYPES), st.randoms(use_true_random=False))
def test_a_message_is_read_as_it_is_written(kind: type[Message], rng: Random) -> None:
    message = Draw(rng, Rules.of("1.50")).message(kind, 0)

    assert heard(said(message)) == message


@pytest.mark.parametrize(
    "commands",
    [
        ("start 0",),
        (*CLUSTER, "dance 0"),
        (*CLUSTER, "start 7"),
        (*CLUSTER, "disk 0 terms=0:0-96 recorded=100"),
        (*CLUSTER, "receive 0 CommitPosition log=0@96 from=1 term=1"),
        (*CLUSTER, "receive 0 Vote log=0@96 term=1 candidate=0 from=1"),
    ],
)
def test_a_command_that_cannot_be_carried_out_is_refused(commands: tuple[str, ...]) -> None:
    """Else a scenario would show something other than what is written."""
    with pytest.raises(ScenarioError):
        Dialogue().run(commands)


def test_a_scenario_written_again_is_the_same() -> None:
    written = replay(
        "# Prose.\ncluster 3 1.50\nstart all\n----\nwrong\n\n# More.\n\nshow 0\n----\n"
    )

    assert replay(written) == written
    assert "# More.\n\nshow 0\n----\n0 CANVASS" in written


OLD = (Segment(0, 0, 0, 100),)
LONG = (Segment(0, 0, 0, 100), Segment(1, 100, 100, 150))
OTHER = (Segment(0, 0, 0, 80), Segment(2, 80, 80, 150))


def test_logs_agree_up_to_where_their_terms_differ() -> None:
    assert agreement(OLD, LONG) == 100
    assert agreement(LONG, OTHER) == 80
    assert agreement((), LONG) == 0


def test_a_log_is_cut_and_continued_from_another() -> None:
    assert cut(LONG, 120) == (Segment(0, 0, 0, 100), Segment(1, 100, 100, 120))
    assert cut(LONG, 100) == OLD
    assert copy(cut(LONG, 50), LONG, 150) == LONG
    assert copy(OLD, OTHER, 150) == (*OLD, Segment(2, 80, 100, 150))
    assert length(()) == 0


def test_bytes_that_do_not_follow_are_refused() -> None:
    with pytest.raises(ValueError, match="do not follow"):
        append(OLD, Segment(1, 150, 150, 200))
