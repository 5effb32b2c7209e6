"""The language of scenarios: what is written is read, and what cannot be read is refused."""

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
from support.scenario_language import ScenarioError, blocks, heard, said

CLUSTER = ("cluster 3 1.50",)


@given(st.sampled_from(MESSAGE_TYPES), st.randoms(use_true_random=False))
def test_a_message_is_read_as_it_is_written(kind: type[Message], rng: Random) -> None:
    message = Draw(rng, Rules.of("1.50")).message(kind, 0)
    name, *words = said(message).split()

    assert heard(name, words) == message


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Shout log=0@96", "no message 'Shout'"),
        ("CommitPosition log=0@96", "lacks, or misspells, 'from'"),
        ("CommitPosition log=96 from=1", "lacks, or misspells"),
        ("CommitPosition log=0@x from=1", "'x' is no number"),
        ("CommitPosition log=0@96 from=1 term=1", "does not say 'term'"),
        ("Vote log=0@96 term=1 candidate=0 from=1", "YES or NO"),
        (
            "NewLeadershipTerm about=0 next=1 term=1 base=0 position=0 commit=0 from=1",
            "lacks, or misspells, 'next': '1' is not like",
        ),
    ],
)
def test_a_message_that_is_not_one_is_refused(line: str, reason: str) -> None:
    name, *words = line.split()
    with pytest.raises(ScenarioError, match=reason):
        heard(name, words)


def test_a_scenario_is_prose_commands_and_output() -> None:
    text = "# Prose.\ncluster 3 1.50\n----\nok\n\n# Only prose.\n\nstart 0\n----\nout\nput\n"
    first, second, third = blocks(text)

    assert first.prose == ("# Prose.",)
    assert first.commands == ("cluster 3 1.50",)
    assert first.expected == "ok"
    assert second.commands == ()
    assert third.line == 8
    assert third.expected == "out\nput"


@pytest.mark.parametrize("text", ["cluster 3 1.50\n", "cluster 3 1.50\n\nok\n", "----\nok\n"])
def test_a_block_without_commands_or_rule_is_refused(text: str) -> None:
    with pytest.raises(ScenarioError, match="line 1: a block is"):
        list(blocks(text))


def test_a_scenario_written_again_is_the_same() -> None:
    written = replay(
        "# Prose.\ncluster 3 1.50\nstart all\n----\nwrong\n\n# More.\n\nshow 0\n----\n"
    )

    assert replay(written) == written
    assert "# More.\n\nshow 0\n----\n0 CANVASS" in written


@pytest.mark.parametrize(
    ("commands", "reason"),
    [
        (("start 0",), "begins with `cluster`"),
        ((*CLUSTER, "dance 0"), "no command 'dance'"),
        ((*CLUSTER, "start x"), "'x' is no number"),
        ((*CLUSTER, "start 7"), "cannot be carried out"),
        ((*CLUSTER, "cluster 3 2.0"), "'2.0' is none of"),
        ((*CLUSTER, "disk 0 terms=0:0-96 recorded=100"), "the log has 96 bytes, not 100"),
        ((*CLUSTER, "start 0", "do 0 Sleep"), "cannot be carried out"),
    ],
)
def test_a_command_that_cannot_be_carried_out_is_refused(
    commands: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(ScenarioError, match=reason):
        Dialogue().run(commands)


def test_a_refusal_names_the_line() -> None:
    with pytest.raises(ScenarioError, match="line 4: there is no command 'dance'"):
        replay("cluster 3 1.50\n----\n\ndance\n----\n")


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
