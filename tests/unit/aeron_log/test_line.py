"""Lines of every event and generation, and the record that each becomes."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from canvass.cluster.messages import NULL_VALUE
from canvass.traces.aeron_log import records as r
from canvass.traces.aeron_log.event_types import EVENT_TYPES, Release
from canvass.traces.aeron_log.line import ClusterLineParser, LineProblem, split_fields, stamp_of
from canvass.traces.aeron_log.records import ClusterEvent
from support.aeron_lines import read, text

CAPTURED = Path(__file__).with_name("lines-1.52.log").read_text().splitlines()
"""One line of each event, of the cluster and of the archive, as Aeron 1.52.2 wrote it."""

S = 1_000_000_000


def one(line: str) -> r.LogRecord:
    (record,), parser = read(text(line))
    assert parser.unknown_fields == {}
    return record


def captured(event: str) -> r.LogRecord:
    (line,) = (line for line in CAPTURED if f"CLUSTER: {event} " in line)
    record = one(line)
    return msgspec.structs.replace(record, line=0)


CAPTURED_RECORDS: dict[str, ClusterEvent] = {
    "ELECTION_STATE_CHANGE": r.ElectionStateChange(
        0, 0, 1331346750580, 0, "INIT", "CANVASS", -1, -1, -1, 0, -1, 0, -1, ""
    ),
    "NEW_LEADERSHIP_TERM": r.NewLeadershipTerm(
        *(0, 0, 1331764636562, 0, -1, 0, 0, -1, 0, 0, 0, 0, -1, 1795173750122, 1, 23102466),
        app_version=1,
        is_startup=False,
    ),
    "STATE_CHANGE": r.StateChange(0, 0, 1331346775798, 0, "INIT", "ACTIVE", "started"),
    "ROLE_CHANGE": r.RoleChange(0, 0, 1331751005912, 1, "FOLLOWER", "CANDIDATE", ""),
    "CANVASS_POSITION": r.CanvassPosition(0, 0, 1331468686516, 0, -1, 0, -1, 1, 65536),
    "REQUEST_VOTE": r.RequestVote(0, 0, 1331753229108, 0, -1, 0, 0, 1, 65536),
    "VOTE": r.Vote(0, 0, 1331755417683, 1, -1, 0, 0, 1, 2, vote=True),
    "CATCHUP_POSITION": r.CatchupPosition(0, 0, 1361750773016, 0, 1, 9600, 1, "127.0.0.1:29105"),
    "STOP_CATCHUP": r.StopCatchup(0, 0, 1377720380265, 0, 2, 0),
    "TRUNCATE_LOG_ENTRY": r.TruncateLogEntry(
        0, 0, 1801405397209, 1, "CANVASS", 0, 0, 0, 0, 0, 110592, 110592, 86400
    ),
    "REPLAY_NEW_LEADERSHIP_TERM": r.ReplayNewLeadershipTerm(
        *(0, 0, 1331913076678, 0), False, 0, 96, 0, 1, 1795173750260, "MILLISECONDS"
    ),
    "APPEND_POSITION": r.AppendPosition(0, 0, 1331899128535, 1, 0, 0, 0, 0),
    "COMMIT_POSITION": r.CommitPosition(0, 0, 1331764704133, 0, 0, 0, 1),
    "APPEND_SESSION_CLOSE": r.AppendSessionClose(
        0, 0, 1340778368689, 1, 1, "CLIENT_ACTION", 0, 1795173759140, "MILLISECONDS"
    ),
    "APPEND_SESSION_OPEN": r.AppendSessionOpen(
        0, 0, 1332242232191, 1, 1, 0, 256, 1795173750601000000, "MILLISECONDS"
    ),
    "CLUSTER_SESSION_STATE_CHANGE": r.ClusterSessionStateChange(
        0, 0, 1332257615364, 0, 1, "CLIENT", "null", "INIT", ""
    ),
    "TERMINATION_POSITION": r.TerminationPosition(0, 0, 1535624799486, 1, 3, 63424),
    "TERMINATION_ACK": r.TerminationAck(0, 0, 1535659077912, 0, 3, 63424, 1),
    "SERVICE_ACK": r.ServiceAck(0, 0, 1331262950383, 0, 0, 0, "MILLISECONDS", 0, 38, 0),
    "REPLICATION_ENDED": r.ReplicationEnded(
        *(0, 0, 1429627112463, 1, "ELECTION", "aeron:udp?endpoint=127.0.0.1:29001", 0, 0, 22272),
        has_synced=False,
    ),
    "NEW_ELECTION": r.NewElection(0, 0, 1331297113077, 0, -1, 0, 0, "node started"),
}


@pytest.mark.parametrize("event", sorted(CAPTURED_RECORDS))
def test_a_captured_line_of_each_event_becomes_its_record(event: str) -> None:
    assert CAPTURED_RECORDS[event] == captured(event)


def test_every_captured_event_has_an_expectation() -> None:
    events = {line.split(" ")[2] for line in CAPTURED if "] CLUSTER: " in line}

    assert events == CAPTURED_RECORDS.keys()


def as_built_in(line: str) -> str:
    """The line as the built-in logger of 1.53 writes it."""
    head, _, tail = line.partition(" [")
    words = tail.partition("]: ")[2].split(" -> ")
    body = words[0]
    if len(words) == 2:
        before, _, old = words[0].rpartition(" ")
        body = f"{before} oldState={old} newState={words[1]}"
    for name in ("catchupEndpoint", "purpose", "channel"):
        start, found, value = body.partition(f" {name}=")
        if found:
            value, space, rest = value.partition(" ")
            body = f'{start} {name}="{value}"{space}{rest}'
    body = body.replace("=1.0.0", "=65536").replace("=0.0.1", "=1").replace("=0b00000000", "=0")
    return f"{head} {body}".replace("=null ", '="null" ')


@pytest.mark.parametrize("event", sorted(CAPTURED_RECORDS))
def test_the_built_in_logger_of_1_53_gives_the_same_record(event: str) -> None:
    (line,) = (line for line in CAPTURED if f"CLUSTER: {event} " in line)
    converted = as_built_in(line)

    assert "[" not in converted[1:]
    assert " -> " not in converted
    assert one(line) == one(converted)


def test_1_53_events_that_the_agent_lacks_or_orders_otherwise() -> None:
    start = one('[5.000000001] CLUSTER: START version="1.53.0"')
    replay = one(
        "[5.000000001] CLUSTER: REPLAY_NEW_LEADERSHIP_TERM memberId=2 isInElection=true "
        "leadershipTermId=3 logPosition=96 timestamp=77 termBaseLogPosition=0 "
        "timeUnit=MILLISECONDS appVersion=256"
    )
    standby = one(
        "[5.000000001] CLUSTER: STANDBY_SNAPSHOT_NOTIFICATION memberId=2 recordingId=9 "
        "leadershipTermId=3 termBaseLogPosition=64 logPosition=96 timestamp=77 "
        'timeUnit=MILLISECONDS serviceId=-1 archiveEndpoint="host:80"'
    )

    assert start == r.Start(0, 1, 5 * S + 1, NULL_VALUE, "1.53.0")
    assert replay == r.ReplayNewLeadershipTerm(
        0, 1, 5 * S + 1, 2, True, 3, 96, 0, 256, 77, "MILLISECONDS"
    )
    assert standby == r.StandbySnapshotNotification(
        0, 1, 5 * S + 1, 2, 9, 3, 64, 96, 77, "MILLISECONDS", -1, "host:80"
    )


def test_the_agents_events_that_no_capture_holds() -> None:
    standby = one(
        "[5.000000001] CLUSTER: STANDBY_SNAPSHOT_NOTIFICATION [9/9]: memberId=2 recordingId=9 "
        "leadershipTermId=3 termBaseLeadershipPosition=64 logPosition=96 timestamp=77 "
        "timeUnit=MILLISECONDS serviceId=-1 archiveEndpoint=host:80"
    )
    backup = one(
        "[5.000000001] CLUSTER: CLUSTER_BACKUP_STATE_CHANGE [9/9]: memberId=-1 "
        'BACKUP_QUERY -> SNAPSHOT_RETRIEVE reason=""'
    )
    invalid = one(
        "[5.000000001] CLUSTER: SNAPSHOT_ENTRY_INVALIDATION [9/9]: memberId=2 entryIndex=4 "
        "recordingId=9 logPosition=96 serviceId=-1"
    )

    assert standby == r.StandbySnapshotNotification(
        0, 1, 5 * S + 1, 2, 9, 3, 64, 96, 77, "MILLISECONDS", -1, "host:80"
    )
    assert backup == r.ClusterBackupStateChange(
        0, 1, 5 * S + 1, -1, "BACKUP_QUERY", "SNAPSHOT_RETRIEVE", ""
    )
    assert invalid == r.SnapshotEntryInvalidation(0, 1, 5 * S + 1, 2, 4, 9, 96, -1)


OLDER = {
    "ELECTION_STATE_CHANGE of 1.44": (
        (
            "ELECTION_STATE_CHANGE [9/9]: memberId=1 INIT -> CANVASS leaderId=-1 "
            "candidateTermId=7 leadershipTermId=7 logPosition=1000 logLeadershipTermId=7 "
            "appendPosition=1248 catchupPosition=-1"
        ),
        ("reason", Release(1, 45)),
    ),
    "ROLE_CHANGE of 1.49": (
        "ROLE_CHANGE [9/9]: memberId=1 FOLLOWER -> LEADER",
        ("reason", Release(1, 50)),
    ),
    "STATE_CHANGE of 1.49": (
        "STATE_CHANGE [9/9]: memberId=1 INIT -> ACTIVE",
        ("reason", Release(1, 50)),
    ),
    "CLUSTER_BACKUP_STATE_CHANGE of 1.49": (
        "CLUSTER_BACKUP_STATE_CHANGE [9/9]: memberId=-1 BACKUP_QUERY -> SNAPSHOT_RETRIEVE",
        ("reason", Release(1, 50)),
    ),
    "NEW_LEADERSHIP_TERM of 1.49": (
        (
            "NEW_LEADERSHIP_TERM [9/9]: memberId=1 logLeadershipTermId=0 nextLeadershipTermId=1 "
            "nextTermBaseLogPosition=2 nextLogPosition=3 leadershipTermId=4 termBaseLogPosition=5 "
            "logPosition=6 leaderRecordingId=7 timestamp=8 leaderId=2 logSessionId=-9 "
            "appVersion=1.2.3 isStartup=true"
        ),
        ("commit_position", Release(1, 50)),
    ),
}


@pytest.mark.parametrize("line", OLDER)
def test_a_field_that_a_release_does_not_print_is_unknown(line: str) -> None:
    """It is None: -1 is a value that Aeron prints."""
    written, (field, _) = OLDER[line]
    record = one(f"[5.000000001] CLUSTER: {written}")

    assert isinstance(record, ClusterEvent)
    assert record.member_id in (1, -1)
    assert getattr(record, field) is None


@pytest.mark.parametrize("line", OLDER)
def test_a_line_without_a_field_that_its_release_prints_is_damaged(line: str) -> None:
    written, (_, since) = OLDER[line]
    event = ClusterLineParser(EVENT_TYPES[written.split()[0]])
    whole = f"[5.000000001] CLUSTER: {written}"

    assert event.scan(0, 1, whole, Release(since.major, since.minor - 1)) is not None
    with pytest.raises(LineProblem) as found:
        event.scan(0, 1, whole, since)
    assert found.value.reason.startswith("the line ends without ")


def test_only_the_start_of_1_53_names_no_member() -> None:
    line = "[5.000000001] CLUSTER: STOP_CATCHUP [9/9]: leadershipTermId=0 followerMemberId=2"
    record = one(line)

    assert isinstance(record, r.TruncatedLine)
    assert record.reason == "the line ends without memberId"


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ('reason=""', ""),
        ('reason="leader heartbeat timeout"', "leader heartbeat timeout"),
        ('reason="a b=c memberId=9 d"', "a b=c memberId=9 d"),
        ('reason="he said "no" twice=2"', 'he said "no" twice=2'),
        ('reason="image closed..."', "image closed..."),
        ("reason=", ""),
        ("reason=unexpected vote request: this.leadershipTermId=4 candidateTermId=5",
         "unexpected vote request: this.leadershipTermId=4 candidateTermId=5"),
        ("reason=cut off by the agent...", "cut off by the agent..."),
        ('reason="null"', "null"),
    ],
)  # fmt: skip
def test_reasons_with_and_without_quotes(written: str, reason: str) -> None:
    record = one(
        "[5.000000001] CLUSTER: NEW_ELECTION [9/9]: memberId=1 leadershipTermId=7 "
        f"logPosition=1000 appendPosition=1248 {written}"
    )

    assert record == r.NewElection(0, 1, 5 * S + 1, 1, 7, 1000, 1248, reason)


def test_a_field_of_a_later_release_is_counted_and_does_not_hurt() -> None:
    line = (
        "[5.000000001] CLUSTER: NEW_ELECTION [9/9]: memberId=1 leadershipTermId=7 logPosition=1 "
        'appendPosition=2 reason="a b" generation=3'
    )
    (record,), parser = read(text(line))

    assert record == r.NewElection(0, 1, 5 * S + 1, 1, 7, 1, 2, "a b")
    assert parser.unknown_fields == {"NEW_ELECTION.generation": 1}


@pytest.mark.parametrize(
    ("stamp", "time_ns"),
    [
        ("[0.000000000] ", 0),
        ("[1331.346775798] ", 1331346775798),
        ("[-1.000000005] ", -1_000_000_005),
        ("[-1.-5] ", -1_000_000_005),
        ("[0.-123] ", -123),
    ],
)
def test_stamps_may_be_negative(stamp: str, time_ns: int) -> None:
    assert stamp_of(stamp + "CLUSTER: X") == (time_ns, len(stamp))


@pytest.mark.parametrize("stamp", ["", "[1.5] ", "[x.000000000] ", "[1.000000000]", "1.000000000"])
def test_what_is_no_stamp(stamp: str) -> None:
    assert stamp_of(stamp) is None


COMMIT = "[5.000000001] CLUSTER: COMMIT_POSITION [24/24]: memberId=0 leadershipTermId=0 "
ROLE = "[5.000000001] CLUSTER: ROLE_CHANGE [9/9]: memberId=1 "
REPORT = COMMIT.replace("COMMIT_POSITION", "APPEND_POSITION") + "logPosition=5 followerMemberId=1 "
VOTE = "[5.000000001] CLUSTER: VOTE [9/9]: memberId=1 logLeadershipTermId=1 logPosition=2 "


@pytest.mark.parametrize(
    ("line", "reason", "column"),
    [
        (COMMIT + "logPosition=5", "the line ends without ", len(COMMIT) + 14),
        (COMMIT + "logPosition=5 leaderId=x", "not a 64-bit integer: ", len(COMMIT) + 24),
        (COMMIT + "logPosition=1_0 leaderId=1", "not a 64-bit integer: ", len(COMMIT) + 13),
        (COMMIT + f"logPosition={1 << 63} leaderId=1", "not a 64-bit integer: ", len(COMMIT) + 13),
        (COMMIT + "logPosition=5 leaderId=-1", "no member has the id ", len(COMMIT) + 24),
        (
            COMMIT.replace("=0 ", "=-1 ", 1) + "logPosition=5 leaderId=1",
            "no member has the id ",
            None,
        ),
        (COMMIT + "logPosition=5 leaderId=1 leaderId=1", "leaderId comes twice", None),
        (
            COMMIT + "logPosition=5 leaderId=1 stray",
            "neither name=value nor OLD -> NEW: ",
            len(COMMIT) + 26,
        ),
        (COMMIT + "logPosition=5 (truncated)", "the line ends without ", None),
        (REPORT + "flags=256", "not a byte of flags: ", len(REPORT) + 7),
        (REPORT + "flags=-1", "not a byte of flags: ", len(REPORT) + 7),
        (ROLE + 'FOLLOWER -> KING reason=""', "'KING' is none of the roles", len(ROLE) + 13),
        (ROLE + 'reason=""', "the line ends without ", None),
        (
            ROLE + 'FOLLOWER -> LEADER reason="a',
            "the quoted value of reason does not end",
            len(ROLE) + 27,
        ),
        (
            VOTE + "candidateTermId=3 candidateId=1 voterId=2 vote=yes",
            "neither true nor false: ",
            None,
        ),
        ("[5.000000001] nothing", "no component and event after the stamp", 15),
    ],
)
def test_a_line_that_is_no_event_says_where_and_why(
    line: str, reason: str, column: int | None
) -> None:
    record = one(line)

    assert isinstance(record, r.TruncatedLine)
    assert record.text == line
    assert record.reason.startswith(reason)
    assert record.time_ns == 5 * S + 1
    if column is not None:
        assert record.column == column


def test_a_position_may_take_all_of_63_bits() -> None:
    top = (1 << 63) - 1
    record = one(COMMIT + f"logPosition={top} leaderId={top}")

    assert isinstance(record, r.CommitPosition)
    assert (record.log_position, record.leader_member_id) == (top, top)


def test_split_fields_gives_values_with_their_columns() -> None:
    assert split_fields('a=1 b="c d" f=g=h OLD -> NEW', 0) == {
        "a": ("1", 3),
        "b": ('"c d"', 7),
        "f": ("g=h", 15),
        "oldState": ("OLD", 19),
        "newState": ("NEW", 26),
    }
    with pytest.raises(LineProblem):
        split_fields("a=1 a=2", 0)


@pytest.mark.parametrize("event", EVENT_TYPES)
def test_a_search_for_the_name_of_an_event_finds_its_class(event: str) -> None:
    doc = EVENT_TYPES[event].record.__doc__ or ""

    assert doc.startswith((f"{event}: ", f"{event}, received: "))
