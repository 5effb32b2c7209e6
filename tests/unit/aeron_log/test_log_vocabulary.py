"""The vocabulary of a log, by its release and by the events that are enabled."""

from __future__ import annotations

from itertools import pairwise

import pytest

from canvass.traces.aeron_log import records as r
from canvass.traces.aeron_log.event_types import EVENT_TYPES, Release, parse_release
from canvass.traces.aeron_log.releases import LogVocabulary, events_named, log_vocabulary
from support.aeron_lines import header, logs_of

ELECTED = (
    "[102.000000000] CLUSTER: ELECTION_STATE_CHANGE [9/9]: memberId=0 INIT -> CANVASS leaderId=-1 "
    "candidateTermId=-1 leadershipTermId=-1 logPosition=0 logLeadershipTermId=-1 appendPosition=0 "
    "catchupPosition=-1"
)
ROLE = "[103.000000000] CLUSTER: ROLE_CHANGE [9/9]: memberId=0 FOLLOWER -> CANDIDATE"
REQUEST = (
    "[104.000000000] CLUSTER: REQUEST_VOTE [9/9]: memberId=0 logLeadershipTermId=-1 logPosition=0 "
    "candidateTermId=0 candidateId=1 protocolVersion=1.0.0"
)
VOTE = (
    "[104.000000000] CLUSTER: VOTE [9/9]: memberId=0 logLeadershipTermId=-1 logPosition=0 "
    "candidateTermId=0 candidateId=1 voterId=2 vote=true"
)
COMMIT = (
    "[105.000000000] CLUSTER: COMMIT_POSITION [9/9]: memberId=0 leadershipTermId=0 logPosition=0 "
    "leaderId=1"
)
ELECTION = (
    "[101.000000000] CLUSTER: NEW_ELECTION [9/9]: memberId=0 leadershipTermId=-1 logPosition=0 "
    "appendPosition=0 reason=node started"
)
OPENED = (
    "[106.000000000] CLUSTER: APPEND_SESSION_OPEN [9/9]: memberId=0 sessionId=1 "
    "leadershipTermId=0 logPosition=256 timestamp=1 timeUnit=MILLISECONDS"
)


def vocabulary(*lines: str, events: str = "") -> LogVocabulary:
    """The vocabulary of one log."""
    return log_vocabulary(logs_of(lines), events_named(events) if events else None)


def names(one: LogVocabulary) -> set[str]:
    """The names in the log of what a vocabulary has."""
    return {name for name, row in EVENT_TYPES.items() if row.record in one.kinds}


def added_by(release: Release, before: Release) -> set[str]:
    """The events of a release that an older one lacks."""
    new, old = (vocabulary(header(str(one)), events="all") for one in (release, before))
    assert old.kinds <= new.kinds
    return names(new) - names(old)


def test_the_events_of_each_release() -> None:
    lines = [Release(1, minor) for minor in range(43, 54)]
    added = {
        release.minor: events
        for before, release in pairwise(lines)
        if (events := added_by(release, before))
    }

    assert len(vocabulary(header("1.43.0"), events="all").kinds) == 19
    assert added == {
        44: {"NEW_ELECTION"},
        49: {"APPEND_SESSION_OPEN", "CLUSTER_SESSION_STATE_CHANGE"},
        50: {"VOTE"},
        51: {"SNAPSHOT_ENTRY_INVALIDATION"},
        53: {"START"},
    }


def test_the_header_says_which_release_it_is() -> None:
    found = vocabulary(header("1.49.3"), COMMIT)

    assert found.release == Release(1, 49, 3)


def test_the_first_event_of_1_53_says_which_release_it_is() -> None:
    found = vocabulary(header(), '[100.500000000] CLUSTER: START version="1.53.0-SNAPSHOT"')

    assert found.release == Release(1, 53)
    assert r.Start in found.kinds


@pytest.mark.parametrize(
    ("lines", "release"),
    [
        ((header(), ELECTION, ELECTED), Release(1, 44)),
        ((header(), ELECTION, ELECTED + " reason=", ROLE), Release(1, 49)),
        ((header(), ELECTION, ELECTED + " reason="), Release(1, 49)),
        ((ELECTED + ' reason=""', ROLE + ' reason=""'), Release(1, 53)),
        ((ELECTED + " reason=", ROLE), Release(1, 49)),
        ((COMMIT,), Release(1, 53)),
    ],
)
def test_a_release_that_is_not_named_is_the_newest_that_the_text_can_be_of(
    lines: tuple[str, ...], release: Release
) -> None:
    found = vocabulary(*lines)

    assert found.release == release


def test_a_log_that_begins_in_the_middle_is_of_the_release_that_others_name() -> None:
    found = log_vocabulary(logs_of((header("1.50.4"), COMMIT), (COMMIT,)))

    assert found.release == Release(1, 50, 4)


def test_an_upgrade_in_the_middle_of_a_log_leaves_what_both_releases_print() -> None:
    """Votes of the older process have no line, so those of the newer one are no evidence either."""
    upgraded = header("1.50.0", 200)
    lines = (header("1.49.3"), REQUEST, ROLE, upgraded, REQUEST, VOTE, ROLE + ' reason=""')
    found = vocabulary(*lines)

    assert r.Vote not in found.kinds
    assert r.RequestVote in found.kinds
    assert (found.release.revision, found.oldest) == ("1.50", Release(1, 49, 3))
    assert r.Vote in vocabulary(*lines[3:]).kinds


def test_a_header_with_a_false_digit_takes_no_event_of_all_releases_away() -> None:
    damaged = header("1.2.0", 200)
    found = vocabulary(header("1.52.2"), REQUEST, damaged, REQUEST)

    assert r.RequestVote in found.kinds
    assert found.release == Release(1, 52, 2)


@pytest.mark.parametrize(("release", "printed"), [("1.49.3", False), ("1.50.0", True)])
def test_votes_come_with_the_requests_for_them(release: str, printed: bool) -> None:
    """The agent enables VOTE by the switch of REQUEST_VOTE."""
    assert (r.Vote in vocabulary(header(release), REQUEST).kinds) is printed
    assert (r.Vote in vocabulary(header(release), REQUEST, events="REQUEST_VOTE").kinds) is printed
    assert not vocabulary(header(release), events="VOTE").kinds


def test_the_built_in_logger_has_a_switch_for_each_event() -> None:
    start = '[100.500000000] CLUSTER: START version="1.53.0"'
    found = vocabulary(header(), start, events="REQUEST_VOTE")

    assert names(found) == {"REQUEST_VOTE", "START"}


def test_an_event_is_enabled_if_any_member_has_logged_it() -> None:
    found = log_vocabulary(logs_of((header("1.52.2"), COMMIT), (header("1.52.2"), OPENED)))

    assert names(found) == {"APPEND_SESSION_CLOSE", "APPEND_SESSION_OPEN", "COMMIT_POSITION"}


def test_the_events_of_production() -> None:
    found = vocabulary(header("1.52.2"), events="production")
    disabled = {name for name in EVENT_TYPES if EVENT_TYPES[name].record not in found.kinds} - {
        "START"
    }

    assert disabled == {"CANVASS_POSITION", "APPEND_POSITION", "COMMIT_POSITION"}


def test_a_kind_that_is_there_is_in_the_vocabulary_whatever_is_said() -> None:
    assert r.CommitPosition in vocabulary(header("1.52.2"), COMMIT, events="production").kinds
    assert r.Vote in vocabulary(header("1.49.3"), VOTE).kinds


def test_names_of_events_are_read_as_aeron_reads_them() -> None:
    assert events_named("VOTE, new_election") == {"VOTE", "NEW_ELECTION"}
    assert events_named("all") == EVENT_TYPES.keys()
    for wrong in ("VOTES", "", "VOTE,,VOTE"):
        with pytest.raises(ValueError, match="no event is called"):
            events_named(wrong)


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("1.52.2", Release(1, 52, 2)),
        ("version=1.49.3 commit=0e0a311f73", Release(1, 49, 3)),
        ("1.53.0-SNAPSHOT", Release(1, 53)),
        ("1.53", Release(1, 53)),
        ("2.0.0", Release(2, 0)),
        ("0e0a311f73", None),
        ("1.2.3.4", None),
        ("", None),
    ],
)
def test_versions(version: str, release: Release | None) -> None:
    assert parse_release(version) == release
