"""Logs out of which lines were cut are not contradicted; what they must have had is named."""

from __future__ import annotations

from pathlib import Path
from random import Random
from shutil import copytree

import pytest
from msgspec.structs import replace

from canvass.cluster.messages import Message
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import ElectionStateChange, LogRecord, ProcessStart
from canvass.traces.alignment.alignment import ImportFault
from canvass.traces.alignment.importer import EXPLAINED, INCOMPLETE, ImportSummary, import_logs
from canvass.traces.alignment.send_windows import SLOTS, Windows
from canvass.traces.run import RunFolder
from canvass.traces.schema import FactKind
from support.aeron_runs import (
    KILLED_WITHIN_A_STEP,
    LOST_REPORT,
    SAMPLES,
    captures,
    import_records,
    logs_of_nodes,
    read_cluster,
)
from support.aeron_simulated import STORIES, options_of, simulate
from support.checked_runs import checked

Lines = dict[int, list[LogRecord]]


def captured(path: Path) -> Lines:
    logs = read_cluster([path])
    return {member_id: log.records for member_id, log in logs.members.items()}


def without(lines: Lines, member_id: int, at: int, count: int = 1) -> Lines:
    mine = lines[member_id]
    return {**lines, member_id: mine[:at] + mine[at + count :]}


def said_of(lines: Lines, folder: Path) -> ImportSummary:
    """The result of the import; the checker accuses a member only where the import does."""
    summary = import_records(logs_of_nodes(lines), folder)

    assert summary.outcome in (EXPLAINED, INCOMPLETE), summary.contradiction
    assert checked(folder).verdict.value != "DIVERGES", summary.missing
    return summary


@pytest.mark.parametrize(
    ("member_id", "at"),
    [
        pytest.param(0, 128, id="a leader's election closes"),
        pytest.param(2, 387, id="a follower's election closes"),
        pytest.param(2, 35, id="the commit position up to which an entry is processed"),
        pytest.param(0, 439, id="what ends a catch-up"),
        pytest.param(0, 438, id="an entry in a catch-up"),
        pytest.param(0, 300, id="what ends another's catch-up"),
    ],
)
def test_a_line_that_something_else_needs(member_id: int, at: int, tmp_path: Path) -> None:
    summary = said_of(without(captured(SAMPLES[1]), member_id, at), tmp_path / "run")

    assert summary.outcome == INCOMPLETE
    assert summary.missing


def test_a_log_that_begins_midway_is_searched_in_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hundreds of receipts have no window there: each search goes through all steps of a sender."""
    lines = {i: found[len(found) // 10 :] for i, found in captured(SAMPLES[1]).items()}
    looked, first = [0], Windows.first

    def counted(
        one: Windows, place: int, to: int, m: Message, stop: int | None = None
    ) -> int | None:
        found = first(one, place, to, m, stop)
        end = len(one.steps) if stop is None else stop
        looked[0] += max((end if found is None else found // SLOTS) - place // SLOTS, 0)
        return found

    monkeypatch.setattr(Windows, "first", counted)
    summary = said_of(lines, tmp_path / "run")

    assert summary.outcome == INCOMPLETE
    assert looked[0] < 100 * sum(map(len, lines.values()))


def test_reports_without_which_a_leader_could_not_have_committed(tmp_path: Path) -> None:
    """Another member receives the commit position before the next report that is there."""
    summary = said_of(without(captured(SAMPLES[1]), 1, 58, 7), tmp_path / "run")

    assert summary.outcome == INCOMPLETE
    assert summary.missing[0].startswith("member-1.log:89: lines are missing before it")


def test_the_last_report_that_a_leader_received_before_it_was_killed(tmp_path: Path) -> None:
    """One follower alone receives what the leader committed with that report: the other was down.

    The leader's logging had not written the line yet.
    """
    summary = import_records(read_cluster([LOST_REPORT]), tmp_path / "run")

    assert summary.outcome == INCOMPLETE
    assert summary.missing[0].endswith("the last lines of a process that was killed are missing")
    assert checked(tmp_path / "run").verdict.value != "DIVERGES"


def test_processes_that_log_no_step_follow_one_that_lacks_its_last_lines(tmp_path: Path) -> None:
    """The gap is in the run all the same: before the first step of the process that has some."""
    logs = read_cluster([LOST_REPORT])
    for log in logs.members.values():
        log.records[:] = [
            one for one in log.records for _ in range(3 if isinstance(one, ProcessStart) else 1)
        ]
    summary = import_records(logs, tmp_path / "run")

    assert summary.outcome == INCOMPLETE
    assert checked(tmp_path / "run").verdict.value != "DIVERGES"


def test_a_process_lacks_its_last_lines_and_the_log_has_no_later_step(tmp_path: Path) -> None:
    """The run of the killed member ends before the gap. It must show that steps are missing."""
    lines = captured(LOST_REPORT)
    starts = [k for k, one in enumerate(lines[1]) if isinstance(one, ProcessStart)]
    lines[1] = lines[1][: starts[-1] + 1]
    summary = said_of(lines, tmp_path / "run")

    assert summary.outcome == INCOMPLETE
    assert summary.missing[0].endswith("the last lines of a process that was killed are missing")


def test_a_process_that_is_killed_within_a_step_leaves_the_first_of_its_lines(
    tmp_path: Path,
) -> None:
    """Its log ends with NEW_ELECTION; the archive took long to stop, and INIT did not end."""
    logs = read_cluster([KILLED_WITHIN_A_STEP])
    summary = import_records(logs, tmp_path / "run")
    ends = [at for at, one in enumerate(logs.members[0].records) if isinstance(one, ProcessStart)]

    assert isinstance(logs.members[0].records[ends[1] - 1], records.NewElection)
    assert (summary.outcome, summary.missing) == (EXPLAINED, [])
    assert [one.accounted == one.lines for one in summary.members] == [True] * 3


def test_a_log_can_end_in_init(tmp_path: Path) -> None:
    """The member is killed there, and does not start again."""
    lines = captured(KILLED_WITHIN_A_STEP)
    starts = [at for at, one in enumerate(lines[0]) if isinstance(one, ProcessStart)]
    lines[0] = lines[0][: starts[1]]
    end = lines[0][-1].time_ns
    lines |= {i: [one for one in lines[i] if one.time_ns <= end] for i in lines if i}
    summary = import_records(logs_of_nodes(lines), tmp_path / "run")

    assert isinstance(lines[0][-1], records.NewElection)
    assert (summary.outcome, summary.missing) == (EXPLAINED, [])


def test_a_module_that_closes_before_its_election_leaves_init_has_no_line_of_that(
    tmp_path: Path,
) -> None:
    """Its archive is not connected any more. It receives reports until it closes."""
    lines = captured(SAMPLES[0])
    leader = next(i for i in lines if any(map(begins_to_lead, lines[i])))
    reports = [one for one in lines[leader] if isinstance(one, records.AppendPosition)]
    last = max((one for one in reports if not one.flags), key=lambda one: one.time_ns)
    left = {i: [one for one in lines[i] if one.time_ns <= last.time_ns] for i in lines}
    (start,) = (one for one in left[leader] if isinstance(one, records.NewElection))
    role = next(one for one in left[leader] if isinstance(one, records.RoleChange))
    module = next(one for one in left[leader] if isinstance(one, records.StateChange))
    left[leader] += [
        replace(role, old_state="LEADER", new_state="FOLLOWER"),
        replace(
            start,
            reason="inactive follower quorum",
            leadership_term_id=last.leadership_term_id,
            log_position=last.log_position,
            append_position=last.log_position,
        ),
        last,
        replace(module, old_state="ACTIVE", new_state="CLOSED"),
    ]
    summary = import_records(logs_of_nodes(left), tmp_path / "run")

    assert (summary.outcome, summary.missing) == (EXPLAINED, [])
    assert checked(tmp_path / "run").verdict.value == "CONFORMS"


def begins_to_lead(record: LogRecord) -> bool:
    """Whether a line says that a leader's election ends."""
    return isinstance(record, ElectionStateChange) and record.old_state == "LEADER_READY"


def test_a_member_that_never_came_to_its_election_is_a_member(tmp_path: Path) -> None:
    """Its log has headers alone; a quorum of three is not one of two, and it has no steps."""
    summary = import_records(read_cluster([KILLED_WITHIN_A_STEP]), tmp_path / "run")
    result = checked(tmp_path / "run")

    assert summary.members[2].steps == 0
    assert summary.member_count == 3
    assert RunFolder(tmp_path / "run").run.without_steps == (2,)
    assert (result.verdict.value, result.divergences) == ("CONFORMS", ())


def test_a_member_that_closes_before_its_election_took_no_step(tmp_path: Path) -> None:
    """Its archive did not answer in time: the module closes in INIT, and its log says so."""
    logs = tmp_path / "logs"
    copytree(KILLED_WITHIN_A_STEP, logs)
    (logs / "member-2.log.gz").unlink()
    (logs / "member-2.log").write_text(
        "[38693.770594782] log started 2026-11-23 23:47:11.769+0000\n"
        '[38698.866915805] CLUSTER: START version="1.53.0-SNAPSHOT"\n'
        "[38708.922636436] CLUSTER: STATE_CHANGE memberId=2 oldState=INIT newState=CLOSED "
        'reason="closed"\n'
    )

    summary = import_logs([logs], tmp_path / "run")

    assert (summary.outcome, summary.missing) == (EXPLAINED, [])
    assert (summary.members[2].accounted, summary.members[2].lines) == (2, 2)
    assert RunFolder(tmp_path / "run").run.without_steps == (2,)


def test_logs_of_a_cluster_in_which_no_member_came_to_an_election_are_refused(
    tmp_path: Path,
) -> None:
    """Each module closed in INIT or logged nothing: a run without a step shows nothing."""
    logs = tmp_path / "logs"
    logs.mkdir()
    started = "[1954.664766128] log started 2026-11-24 18:58:40.865+0000\n"
    closed = '[1993.932792570] CLUSTER: STATE_CHANGE memberId=1 INIT -> CLOSED reason="closed"\n'
    for member_id, text in enumerate([started, started + closed, started]):
        (logs / f"member-{member_id}.log").write_text(text)

    with pytest.raises(ImportFault, match=r"member-\d\.log: no member came to an election"):
        import_logs([logs], tmp_path / "run")


def test_a_member_whose_lines_of_elections_are_lost_took_steps(tmp_path: Path) -> None:
    """The remaining lines show no step of the member; but others received its messages."""
    lines = captured(SAMPLES[1])
    acks: list[LogRecord] = [one for one in lines[2] if isinstance(one, records.ServiceAck)]
    import_records(logs_of_nodes({**lines, 2: acks}), tmp_path / "run")

    assert acks
    assert RunFolder(tmp_path / "run").run.without_steps == ()
    assert checked(tmp_path / "run").verdict.value == "INCOMPLETE"


def test_a_member_that_others_have_heard_of_and_that_has_no_line_has_lost_its_log(
    tmp_path: Path,
) -> None:
    """Its steps are inferred from what the others received, as if the file were not there."""
    logs = tmp_path / "logs"
    copytree(SAMPLES[1], logs)
    (logs / "member-2.log.gz").unlink()
    without_file = import_logs([logs], tmp_path / "without")
    started = "[1000.000000000] log started 2026-09-18 13:28:25.493+0000\n"
    (logs / "member-2.log").write_text(started)
    summary = import_logs([logs], tmp_path / "run")

    assert summary.missing == without_file.missing
    assert "the log of member 2 is not there" in summary.missing
    assert [one.accounted for one in summary.members] == [one.lines for one in summary.members]


def test_the_first_entry_of_a_term_that_a_follower_must_have_processed(tmp_path: Path) -> None:
    lines = captured(next(path for path in captures() if path.name == "s1-with-sends"))
    entries = [
        at for at, one in enumerate(lines[2]) if isinstance(one, records.ReplayNewLeadershipTerm)
    ]
    summary = said_of(without(lines, 2, entries[-1] - 1, 4), tmp_path / "run")

    assert summary.outcome == INCOMPLETE
    assert "missing: ReplayNewLeadershipTerm" in summary.missing[0]


@pytest.mark.parametrize(
    "kept", [1, 4, *(pytest.param(k, marks=pytest.mark.night) for k in (2, 3))]
)
@pytest.mark.parametrize("member_id", [0, 1])
def test_a_catch_up_of_which_only_the_end_is_there(
    member_id: int, kept: int, tmp_path: Path
) -> None:
    """FOLLOWER_LOG_INIT after a catch-up has a subscription to the log, after a replay none."""
    lines = captured(SAMPLES[1])
    changes = {
        (record.old_state, record.new_state): at
        for at, record in enumerate(lines[member_id])
        if isinstance(record, ElectionStateChange)
    }
    first = changes["CANVASS", "FOLLOWER_REPLAY"] + 1
    last = changes["FOLLOWER_CATCHUP", "FOLLOWER_LOG_INIT"] - kept
    summary = said_of(without(lines, member_id, first, last - first), tmp_path / "run")

    assert summary.outcome == INCOMPLETE


BLOCKS = {
    "the opening of the last leader's term, and its close": ("s1-with-sends", 0, 458, 14),
    "the end of a process and the beginning of the next": ("d-snapshot-restart", 0, 896, 15),
    "the beginning of a process": ("d-snapshot-restart", 2, 640, 6),
    "that of one that hears nobody again": ("h-operator-actions", 2, 365, 8),
    "two votes, and the role that they gave": ("h-operator-actions", 0, 16, 3),
    # The snapshot or termination long after it cannot be matched: that line is not false.
    "the end of an election before a snapshot": ("d-snapshot-restart", 1, 628, 98),
    "the end of an election": ("h-operator-actions", 2, 29, 20),
    "the end of an election before a termination": ("s1-with-sends", 2, 803, 125),
}


@pytest.mark.night
@pytest.mark.parametrize(
    ("path", "block"),
    [
        pytest.param(path, (member_id, at, count), id=what)
        for what, (name, member_id, at, count) in BLOCKS.items()
        for path in captures()
        if path.name == name
    ],
)
def test_a_block_of_lines(path: Path, block: tuple[int, int, int], tmp_path: Path) -> None:
    summary = said_of(without(captured(path), *block), tmp_path / "run")

    assert summary.outcome == INCOMPLETE


def marked(story: str) -> object:
    """A push takes two stories, the night all."""
    late = [] if story in ("kills", "operators") else [pytest.mark.night]
    return pytest.param(story, marks=late)


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(k, marks=pytest.mark.night) for k in (2, 3))]
)
@pytest.mark.parametrize("story", [marked(story) for story in sorted(STORIES)])
def test_a_gap_in_the_log_of_a_simulated_member_contradicts_nothing(
    story: str, seed: int, tmp_path: Path
) -> None:
    chance = Random(seed)
    lines = simulate(options_of(story, seed, 3 if seed % 2 else 5, 1_500)).lines
    member_id, count = chance.choice(list(lines)), chance.choice((10, 40, 100))
    at = chance.randrange(1, max(2, len(lines[member_id]) - count))
    said_of(without(lines, member_id, at, count), tmp_path / "run")


def test_the_log_of_a_member_that_is_not_there_makes_the_run_incomplete(tmp_path: Path) -> None:
    for absent in range(2):
        lines = captured(SAMPLES[0])
        del lines[absent]
        logs = logs_of_nodes(lines)
        run = tmp_path / f"run-{absent}"
        summary = import_records(type(logs)(logs.members, (absent,), ()), run)
        facts = RunFolder(run).load().facts

        assert summary.outcome == INCOMPLETE, summary.contradiction
        assert (FactKind.MISSING_STREAM, absent) in {(one.kind, one.member_id) for one in facts}
