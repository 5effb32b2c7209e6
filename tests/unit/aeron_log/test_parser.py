"""Lives, cut and damaged lines, what is not the log's own; the same however the bytes are cut."""

from __future__ import annotations

import random
from pathlib import Path
from time import thread_time

import msgspec
import pytest

from canvass.traces.aeron_log.line import shown
from canvass.traces.aeron_log.parser import JOINED_LINES, PROBE_LINES
from canvass.traces.aeron_log.records import (
    CommitPosition,
    DamagedLine,
    LogRecord,
    NewElection,
    ProcessStart,
    TruncatedLine,
)
from canvass.traces.aeron_log.source import AeronLogError, LogCode
from canvass.traces.schema import MAX_LINE_BYTES
from support.aeron_lines import HEADER, STARTED, commit, read, text

CAPTURED = Path(__file__).with_name("lines-1.52.log").read_text().splitlines()
NEXT_HEADER = HEADER.replace("[100.", "[200.").replace("10:20:30.123", "10:22:10.123")


def kinds(records: list[LogRecord]) -> list[str]:
    return [type(record).__name__ for record in records]


def test_a_header_starts_a_life() -> None:
    records, parser = read(text(HEADER, STARTED, commit(64), NEXT_HEADER, STARTED))

    assert kinds(records) == [
        *("ProcessStart", "NewElection", "CommitPosition"),
        *("ProcessStart", "NewElection"),
    ]
    assert records[0] == ProcessStart(
        *(0, 1, 100_000_000_000, 1769854830123),
        loggers=(("CLUSTER", "version=1.52.2 commit=5b62f21d91"),),
    )
    assert (parser.counts.headers, parser.counts.lines) == (2, 5)
    assert parser.counts.events == {"NEW_ELECTION": 2, "COMMIT_POSITION": 1}
    assert parser.counts.members == {0: (0, 2)}


def test_the_header_of_1_53_has_no_loggers_and_any_time_zone() -> None:
    records, _ = read(text("[1.000000000] log started 2026-01-31 10:20:30.123-0530", commit(64)))

    assert records[0] == ProcessStart(0, 1, 1_000_000_000, 1769874630123, ())


def test_a_log_may_begin_within_a_life() -> None:
    records, parser = read(text(commit(64)))

    assert kinds(records) == ["CommitPosition"]
    assert parser.counts.headers == 0


def test_a_line_without_end_is_truncated_even_if_it_could_be_read() -> None:
    """The last digits of its last value may be missing."""
    line = (
        "[102.000000000] CLUSTER: TERMINATION_POSITION [20/20]: memberId=0 logLeadershipTermId=3 "
        "logPosition=634"
    )
    records, parser = read(text(HEADER, STARTED) + line.encode())

    assert kinds(records) == ["ProcessStart", "NewElection", "TruncatedLine"]
    assert records[2] == TruncatedLine(
        *(0, 3, 102_000_000_000, len(line) + 1),
        reason="the line does not end",
        text=line,
    )
    assert (parser.counts.unreadable, parser.counts.lines) == (1, 3)


LAST_LINES = [line for line in CAPTURED if "] CLUSTER: " in line]


@pytest.mark.parametrize("line", LAST_LINES, ids=lambda line: line.split()[2])
def test_a_last_line_without_line_end_is_read_if_it_shows_its_end(line: str) -> None:
    """Editors and copies take the last line end off; a number alone may have been cut."""
    event = line.split()[2]
    ended, _ = read(text(HEADER, STARTED, line))
    records, parser = read(text(HEADER, STARTED, line).removesuffix(b"\n"))

    if event in ("TERMINATION_POSITION", "TRUNCATE_LOG_ENTRY", "CATCHUP_POSITION"):
        assert kinds(records)[2:] == ["TruncatedLine"]
    else:
        assert records == ended
        assert parser.counts.unreadable == 0


@pytest.mark.parametrize("line", LAST_LINES, ids=lambda line: line.split()[2])
def test_a_last_line_that_is_cut_is_truncated_or_whole(line: str) -> None:
    """No beginning of a line is taken for another line."""
    whole, _ = read(text(line))
    for end in range(len(line)):
        records, _ = read(text(HEADER) + line[:end].encode())
        found = [msgspec.structs.replace(one, line=1) for one in records[1:]]

        assert found == [] or isinstance(found[0], TruncatedLine) or found == whole


def test_a_header_without_line_end_is_read() -> None:
    for header in (HEADER, HEADER.partition(",")[0]):
        records, _ = read(text(header, STARTED).removesuffix(b"\n"))
        assert kinds(records) == ["ProcessStart", "NewElection"]
        assert kinds(read(header.encode())[0]) == ["ProcessStart"]
        assert kinds(read(header[:-1].encode())[0]) == ["TruncatedLine"]


def test_a_byte_order_mark_is_passed_over() -> None:
    plain = text(HEADER, STARTED, commit(64))
    for pieces in (0, 1, 2, 3, 50):
        assert read(b"\xef\xbb\xbf" + plain, pieces=pieces)[0] == read(plain)[0]
    assert kinds(read(b"\xef\xbb\xbf" + commit(64).encode())[0]) == ["CommitPosition"]
    assert kinds(read(b"\xef\xbb\xbf")[0]) == []


def test_a_line_cut_before_the_next_life_is_truncated() -> None:
    cut = commit(64)[:60]
    glued, parser = read(text(HEADER, STARTED, cut + NEXT_HEADER, STARTED))
    apart, _ = read(text(HEADER, STARTED, cut, NEXT_HEADER, STARTED))

    for records in (glued, apart):
        assert kinds(records) == [
            *("ProcessStart", "NewElection", "TruncatedLine"),
            *("ProcessStart", "NewElection"),
        ]
        assert isinstance(records[2], TruncatedLine)
        assert records[2].text == cut
    assert parser.counts.unreadable == 1


@pytest.mark.parametrize("cut", [1, 15, 40, 60, 80])
def test_a_line_cut_within_a_life_is_damage(cut: int) -> None:
    records, parser = read(text(HEADER, STARTED, commit(64)[:-cut], commit(128)))

    assert kinds(records) == ["ProcessStart", "NewElection", "DamagedLine", "CommitPosition"]
    assert parser.counts.unreadable == 1


def test_the_end_of_a_torn_line_is_damage() -> None:
    records, _ = read(text(HEADER, STARTED, commit(64)[-30:], commit(128)))

    assert isinstance(records[2], DamagedLine)
    assert records[2].reason == "the line has the end of an event and not its beginning"


def test_zeros_where_the_disk_lost_power_are_a_cut_line() -> None:
    records, _ = read(text(HEADER, STARTED) + b"\0" * 4000 + b"\n" + text(NEXT_HEADER, STARTED))

    assert kinds(records)[2:] == ["TruncatedLine", "ProcessStart", "NewElection"]
    assert isinstance(records[2], TruncatedLine)
    assert records[2].reason == "the line holds control characters"
    assert records[2].time_ns == 0


def test_unknown_events_and_other_components_are_counted() -> None:
    records, parser = read(
        text(
            HEADER,
            "[100.5] CLUSTER: COMMIT_POSITION [1/1]: x",
            "[100.500000000] CLUSTER: ADD_PASSIVE_MEMBER [1/1]: memberId=0 correlationId=1",
            "[100.500000000] DRIVER: FRAME_IN [1/1]: address=1.2.3.4:5",
            "[100.500000000] STANDBY: SOMETHING",
            "[100.500000000] CLUSTE: COMMIT_POSITION [1/1]: memberId=0",
            "Unknown EventCodeType: 9",
            "",
            commit(64),
        )
    )
    counts = parser.counts

    assert kinds(records) == ["ProcessStart", "CommitPosition"]
    assert counts.unknown_events == {"ADD_PASSIVE_MEMBER": 1, "CLUSTE: COMMIT_POSITION": 1}
    assert counts.other_components == 2
    assert counts.foreign == 3
    assert counts.lines == 9


def test_line_ends_of_windows_are_taken_off() -> None:
    plain = text(*CAPTURED)

    assert read(plain)[0] == read(plain.replace(b"\n", b"\r\n"))[0]


def test_a_text_with_line_ends_in_it_is_one_event() -> None:
    closing = '[103.000000000] CLUSTER: STATE_CHANGE [9/9]: memberId=0 ACTIVE -> CLOSED reason="x'
    records, parser = read(text(HEADER, closing, "  y", 'z"', commit(64, 104)))

    assert kinds(records) == ["ProcessStart", "StateChange", "CommitPosition"]
    assert getattr(records[1], "reason", None) == "x\n  y\nz"
    assert parser.counts.lines == 5

    endless, _ = read(text(HEADER, closing, *["y"] * (JOINED_LINES + 9), commit(64, 104)))
    assert kinds(endless) == ["ProcessStart", "DamagedLine", "CommitPosition"]


def test_texts_of_both_encodings_are_read() -> None:
    line = '[103.000000000] CLUSTER: STATE_CHANGE [9/9]: memberId=0 ACTIVE -> CLOSED reason="é"\n'
    for encoding in ("utf-8", "latin-1"):
        (record,), _ = read(line.encode(encoding))
        assert getattr(record, "reason", None) == "é"


def test_the_header_of_a_rolled_file_is_no_new_life() -> None:
    """1.52 repeats the start of the process, later releases write the time of the rolling."""
    rolled_same = HEADER.replace("[100.", "[150.")
    rolled_new = NEXT_HEADER
    for rolled in (rolled_same, rolled_new):
        records, parser = read(text(HEADER, STARTED, commit(64)), text(rolled, commit(128, 201)))

        assert kinds(records) == [
            *("ProcessStart", "NewElection", "CommitPosition"),
            "CommitPosition",
        ]
        assert parser.counts.headers == 2
        assert parser.counts.lines == 5


def test_a_later_file_may_also_begin_with_a_new_process() -> None:
    archive = "[200.500000000] ARCHIVE: CMD_IN_KEEP_ALIVE [24/24]: controlSessionId=1"
    records, parser = read(
        text(HEADER, STARTED, commit(64)[:50]), text(NEXT_HEADER, archive, STARTED)
    )

    assert kinds(records) == [
        *("ProcessStart", "NewElection", "TruncatedLine"),
        *("ProcessStart", "NewElection"),
    ]
    assert (parser.counts.unreadable, parser.counts.lines) == (1, 6)


@pytest.mark.parametrize(
    ("then", "starts"), [pytest.param(STARTED, True), pytest.param(commit(128, 203), False)]
)
def test_sessions_at_the_beginning_of_a_file_do_not_show_whether_a_process_starts(
    then: str, starts: bool
) -> None:
    """A process that starts opens the sessions of its snapshot, one that runs a client's."""
    opened = (
        "[200.600000000] CLUSTER: CLUSTER_SESSION_STATE_CHANGE [46/46]: memberId=0 sessionId=1"
        ' action=CLIENT null -> INIT reason=""'
    )
    records, parser = read(text(HEADER, STARTED, commit(64)), text(NEXT_HEADER, opened, then))
    header = ["ProcessStart"] if starts else []
    last = "NewElection" if starts else "CommitPosition"

    assert kinds(records)[3:] == [*header, "ClusterSessionStateChange", last]
    assert (parser.counts.headers, parser.counts.lines) == (2, 6)


def test_a_line_cut_at_the_end_of_a_rolled_file_is_damage() -> None:
    records, _ = read(text(HEADER, STARTED) + b"[101.0", text(commit(64)))

    assert kinds(records) == ["ProcessStart", "NewElection", "DamagedLine", "CommitPosition"]


def test_a_header_with_nothing_after_it_starts_a_life() -> None:
    records, parser = read(text(HEADER, STARTED), text(NEXT_HEADER))

    assert kinds(records) == ["ProcessStart", "NewElection", "ProcessStart"]
    assert parser.counts.headers == 2


def test_a_cut_header_is_a_cut_line() -> None:
    records, _ = read(text(HEADER, STARTED, "[200.000000000] log started 2026-01-3"))

    assert kinds(records) == ["ProcessStart", "NewElection", "TruncatedLine"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"hello\n", LogCode.NOT_A_LOG),
        (b"hello", LogCode.NOT_A_LOG),
        (b'{"step": 0}\n' * 5, LogCode.NOT_A_LOG),
        (b"\x7fELF\0\0\0\0" * 100, LogCode.NOT_A_LOG),
        (b"x\n" * PROBE_LINES + text(commit(64)), LogCode.NOT_A_LOG),
        (b"\0" * (MAX_LINE_BYTES + 1), LogCode.LINE_TOO_LONG),
        (text(commit(64)) + b"[" * (MAX_LINE_BYTES + 1) + b"\n", LogCode.LINE_TOO_LONG),
    ],
)
def test_what_is_no_event_log_is_refused(data: bytes, code: LogCode) -> None:
    for pieces in (0, 1 << 16):
        with pytest.raises(AeronLogError) as caught:
            read(data, pieces=pieces)

        assert caught.value.code is code
        assert caught.value.file == "file-0"
        assert str(caught.value).startswith("file-0:")


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        (text(HEADER, commit(64)).decode().encode("utf-16"), "convert it to UTF-8"),
        (text(HEADER, commit(64)).decode().encode("utf-16-be"), "convert it to UTF-8"),
    ],
)
def test_a_log_in_another_encoding_is_refused_with_advice(data: bytes, advice: str) -> None:
    with pytest.raises(AeronLogError) as caught:
        read(data)

    assert caught.value.code is LogCode.NOT_A_LOG
    assert advice in caught.value.reason


def test_an_application_may_write_before_the_log() -> None:
    records, parser = read(b"x\n" * (PROBE_LINES - 1) + text(commit(64)))

    assert kinds(records) == ["CommitPosition"]
    assert parser.counts.foreign == PROBE_LINES - 1


def test_an_empty_file_has_no_records() -> None:
    assert read(b"")[0] == []
    assert read(b"\n\n")[0] == []


def test_the_message_of_an_error_holds_no_control_characters() -> None:
    assert shown("\x1b[31mred\x00é") == r"'\x1b[31mred\x00\xe9'"
    assert len(shown("x" * 10_000)) < 200


def stamp(line: str) -> float:
    return float(line[1 : line.index("]")])


def test_a_line_that_is_older_than_the_one_before_it_is_damage() -> None:
    """One thread writes the cluster's lines, so they stand in the order of their stamps."""
    lines = [commit(64, 102), commit(96, 103), commit(128, 104), commit(160, 105)]
    moved, parser = read(text(HEADER, STARTED, *lines[1:3], lines[0], lines[3]))
    later = lines[1].replace("[103.", "[903.")
    false_stamp, _ = read(text(HEADER, STARTED, lines[0], later, *lines[2:]))
    equal, _ = read(text(HEADER, STARTED, lines[0], lines[0], lines[1]))

    start, commits = ["ProcessStart", "NewElection"], ["CommitPosition"] * 4
    assert kinds(moved) == [*start, *commits[:2], "DamagedLine", commits[2]]
    assert isinstance(moved[4], DamagedLine)
    assert moved[4].reason.startswith("older than the line before it")
    assert moved[4].text == lines[0]
    assert (parser.counts.lines, parser.counts.unreadable) == (6, 1)
    assert kinds(false_stamp) == [*start, *commits[:2], "DamagedLine", commits[2]]
    assert kinds(equal) == [*start, *commits[:3]]


def test_a_block_that_is_there_twice_is_damage() -> None:
    block = [STARTED, *(commit(64, at) for at in range(102, 200))]
    after = [commit(128, 300)]
    for first, again in ((text(HEADER, *block), block[40:]), (text(*block), block)):
        records, parser = read(first, text(*again, *after))
        damaged = [one for one in records if isinstance(one, DamagedLine)]

        # The last line of the block is not older than the one before the block.
        assert [one.line for one in damaged] == list(range(1, len(again)))
        assert all(one.reason.startswith("older than the line before it") for one in damaged)
        assert kinds(records)[-1] == "CommitPosition"
        assert parser.counts.lines == first.count(b"\n") + len(again) + 1


def test_a_header_that_is_there_twice_is_refused() -> None:
    log = text(HEADER, STARTED, commit(64))
    for files in ((log, log), (log + log,), (log, text(NEXT_HEADER, STARTED) + log)):
        with pytest.raises(AeronLogError) as caught:
            read(*files)

        assert caught.value.code is LogCode.DUPLICATE_LOG


@pytest.mark.parametrize("header", [[], [NEXT_HEADER.replace("[200.", "[1.")]])
def test_a_host_that_booted_counts_from_the_beginning(header: list[str]) -> None:
    started = STARTED.replace("[101.", "[2.")
    records, _ = read(text(HEADER, STARTED, commit(64), *header, started, commit(64, 3)))

    assert kinds(records)[-2:] == ["NewElection", "CommitPosition"]
    assert not any(isinstance(one, DamagedLine) for one in records)


def test_every_prefix_of_a_log_loses_at_most_its_last_line() -> None:
    """But for an inferred header: the line after it shows that a process starts."""
    data = text(HEADER, *sorted([STARTED, *LAST_LINES], key=stamp))
    whole = [r for r in read(data)[0] if not isinstance(r, ProcessStart)]
    for end in random.Random(1).sample(range(200, len(data)), 200):
        records, _ = read(data[:end])
        complete = [r for r in records if not isinstance(r, TruncatedLine | ProcessStart)]

        assert complete == whole[: len(complete)]
        assert len(complete) - data[:end].count(b"\n") in (-1, 0)


@pytest.mark.parametrize(
    "line",
    [
        COMMIT_TAIL * 1
        for COMMIT_TAIL in (
            '" a=' * 120_000,
            'reason="' + '"' * 500_000,
            " reason=" * 60_000,
            "a=1 " * 120_000,
            "A -> B" * 80_000,
            "[1.000000000] log started " * 20_000,
            " leaderId=" * 50_000,
        )
    ],
)
def test_hostile_lines_take_linear_time(line: str) -> None:
    """Half a megabyte that invites backtracking is read at a rate far from quadratic.

    No measure of speed: only work that is quadratic takes so much of a processor, however busy.
    """
    head = "[5.000000001] CLUSTER: STATE_CHANGE [9/9]: memberId=0 "
    start = thread_time()
    for lead in (head, "[5.000000001] ", "", "[5.000000001] ARCHIVE: X "):
        read(text(commit(64), lead + line, commit(64)))
    elapsed = thread_time() - start

    assert elapsed < 10.0, "quadratic work would take minutes"


def test_records_carry_file_and_line() -> None:
    records, _ = read(text(HEADER, STARTED), text(NEXT_HEADER, "", commit(64)))
    last = records[-1]

    assert isinstance(records[1], NewElection)
    assert (records[1].file, records[1].line) == (0, 2)
    assert isinstance(last, CommitPosition)
    assert (last.file, last.line) == (1, 3)
