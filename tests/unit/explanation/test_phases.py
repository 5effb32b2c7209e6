"""Sentences about the end of a phase and about a truncated log."""

from __future__ import annotations

from pathlib import Path

from canvass.explanation.reading import read
from canvass.explanation.report import explain
from support.aeron_runs import FINDING
from support.aeron_story import StoryLog, write_story


def test_the_last_member_to_answer_ends_a_canvass_though_it_answers_twice(tmp_path: Path) -> None:
    """Both positions of member 2 come before the change of state, well before the timeout."""
    log = StoryLog(0)
    log.start(100.0)
    log.election(100.0, "node started")
    log.canvassed(100.1, 1, (-1, 0))
    log.canvassed(100.8, 2, (-1, 0))
    log.canvassed(100.8, 2, (-1, 0))
    log.state(100.81, "CANVASS NOMINATE")
    log.state(100.9, "NOMINATE CANDIDATE_BALLOT", candidate=0)
    ready = "CANDIDATE_BALLOT LEADER_LOG_REPLICATION LEADER_REPLAY LEADER_INIT LEADER_READY CLOSED"
    log.state(101.0, ready, leader=0, term=0)

    [election] = explain(read(write_story(tmp_path, [log]), infer=False)[0]).elections

    canvass = next(phase for phase in election.phases if phase.state == "CANVASS")
    assert canvass.governed_by == "message"
    assert "it needed the canvass position (-1, 0) of member 2, which came last" in str(canvass)
    assert [line.line for line in canvass.sentence.evidence] == [3, 5, 7]


def test_reports_sent_before_a_truncation_do_not_restore_the_log() -> None:
    """In HZ3 every member truncates its log from 8352 to 8256, and later receives positions that
    others sent before they truncated.
    """
    found = explain(read(FINDING.parent / "aeron-hz3", infer=False)[0])

    lost = [risk for risk in found.risks if risk.severity == "danger"]
    assert len(lost) == 3
    for risk in lost:
        assert risk.until_ns is None
        *_, until, advice = (sentence.text for sentence in risk.sentences)
        assert until == "No later line shows that a quorum held the log up to 8352 again."
        # Members 1 and 2 truncate the entries as well, after member 3.
        assert advice == (
            "No line shows a member that has the entries at the end of the logs. Copy all disks"
            " before you restart a member."
        )
