"""Following logs that grow, are rolled or truncated, and the picture that is kept of them."""

from __future__ import annotations

import os
import re
import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import accumulate, chain
from pathlib import Path
from typing import TypeAlias

import pytest

from canvass.explanation import picture as picture_module
from canvass.explanation.explanation import Explanation, explain
from canvass.explanation.followed_logs import FollowedLogs
from canvass.explanation.metrics import render
from canvass.explanation.picture import KeptRecords, News, Picture
from canvass.explanation.timeline import HostClock, make_timeline
from canvass.traces.aeron_log.errors import AeronLogError
from canvass.traces.aeron_log.logs import MemberLog, read_cluster
from canvass.traces.aeron_log.records import LogRecord
from support.aeron_runs import HOSTS, SAMPLES, lines_of, more_captures
from support.aeron_story import StoryLog, lead, write_story


@pytest.fixture
def follow() -> Iterator[Callable[[Path], FollowedLogs]]:
    """Makes followers, and closes them."""
    with ExitStack() as stack:
        yield lambda folder: stack.enter_context(FollowedLogs(folder))


Follow: TypeAlias = Callable[[Path], FollowedLogs]


def drain(logs: FollowedLogs, into: Picture) -> None:
    at_end = False
    while not at_end:
        found, at_end = logs.read()
        into.add(found)


def news_of(logs: FollowedLogs, into: Picture) -> list[News]:
    drain(logs, into)
    return into.update({member_id: log.names for member_id, log in logs.members.items()})


def write_part(folder: Path, path: Path, share: float) -> None:
    """A part of the lines of a capture, the last one cut in its midst."""
    for member_id in (0, 1, 2):
        text = "\n".join(lines_of(path, member_id)) + "\n"
        (folder / f"member-{member_id}.log").write_text(text[: int(len(text) * share)])


def test_logs_that_grow_give_the_same_leaderships_as_whole_ones(
    tmp_path: Path, follow: Follow
) -> None:
    sample = SAMPLES[-1]
    write_part(tmp_path, sample, 0.01)
    logs, seen = follow(tmp_path), Picture()
    for share in (0.01, 0.3, 0.5, 0.77, 1.0):
        write_part(tmp_path, sample, share)
        news_of(logs, seen)
    whole = read_cluster([tmp_path])
    expected = explain(make_timeline(whole.members, whole.missing))

    assert seen.explanation is not None
    assert seen.explanation.leaderships == expected.leaderships
    assert seen.explanation.gaps == expected.gaps
    assert seen.totals.elections == len(expected.elections) == 3
    assert sum(log.lines for log in logs.members.values()) == sum(
        len(log.records) for log in whole.members.values()
    )


@pytest.mark.parametrize(
    "path",
    [
        *SAMPLES,
        *HOSTS,
        *(pytest.param(path, marks=pytest.mark.night) for path in more_captures()),
    ],
    ids=lambda path: path.name,
)
def test_logs_that_grow_second_by_second_are_explained_as_whole_ones(
    path: Path, tmp_path: Path, follow: Follow
) -> None:
    """A time that goes on is counted once it has ended: the last one may be shorter at first."""
    whole = read_cluster([path])
    expected = explain(make_timeline(whole.members, whole.missing))
    lines = {i: lines_of(path, i) for i in whole.members}
    stamp = re.compile(r"\[(\d+)\.(\d{9})\]")
    times = {
        i: [
            (int(at[1] + at[2]) + expected.clock_offsets_ns.get(i, 0)) // 10**9
            for row in rows
            if (at := stamp.match(row))
        ]
        for i, rows in lines.items()
    }
    assert all(len(times[i]) == len(rows) for i, rows in lines.items())
    # Lines can be written a little out of order.
    times = {i: list(accumulate(seconds, max)) for i, seconds in times.items()}
    for i in lines:
        (tmp_path / f"member-{i}.log").touch()
    logs, seen = follow(tmp_path), Picture()
    done = dict.fromkeys(lines, 0)
    begin, end = (choose(map(choose, times.values())) for choose in (min, max))
    for second in range(begin, end + 1):
        for i, rows in lines.items():
            upto = bisect_right(times[i], second)
            with (tmp_path / f"member-{i}.log").open("a") as file:
                file.writelines(f"{row}\n" for row in rows[done[i] : upto])
            done[i] = upto
        news_of(logs, seen)

    found = seen.explanation
    assert found is not None
    assert found.clock_offsets_ns == expected.clock_offsets_ns
    assert [(gap.from_ns, gap.until_ns) for gap in found.gaps] == [
        (gap.from_ns, gap.until_ns) for gap in expected.gaps
    ]
    assert leaders_of(found) == leaders_of(expected)
    assert {risk.kind for risk in seen.dangers} == {
        risk.kind for risk in expected.risks if risk.severity == "danger"
    }
    assert seen.totals.without_leader_ns == pytest.approx(
        expected.without_leader_ns, rel=0.01, abs=5 * 10**8
    )


def leaders_of(found: Explanation) -> list[tuple[int, int | None, int | None]]:
    """Each term with its leader, and the time from which it led."""
    return [
        (row.leadership_term_id, row.leader_member_id, row.from_ns) for row in found.leaderships
    ]


@pytest.mark.parametrize("copied", [False, True])
def test_a_file_that_is_rolled_is_read_on_under_its_new_name(
    tmp_path: Path, follow: Follow, copied: bool
) -> None:
    """A tool that rotates logs may copy a file and truncate it; each line is read once."""
    sample = SAMPLES[-1]
    lines = {member_id: lines_of(sample, member_id) for member_id in (0, 1, 2)}
    logs: FollowedLogs | None = None
    seen = Picture()
    for part in range(4):
        for member_id, text in lines.items():
            size = len(text) // 4 + 1
            path = tmp_path / f"member-{member_id}.log"
            later, rolled = part * size + 10, tmp_path / f"member-{member_id}.log.{part}"
            if part:
                # The last lines were not read before the file was rolled.
                with path.open("a") as file:
                    file.writelines(line + "\n" for line in text[part * size : later])
                if copied:
                    shutil.copy(path, rolled)
                else:
                    path.rename(rolled)
            begin = later if part else 0
            path.write_text("\n".join(text[begin : (part + 1) * size]) + "\n")
        logs = logs or follow(tmp_path)
        news_of(logs, seen)
    assert logs is not None
    whole = read_cluster([tmp_path]).members
    assert {i: log.lines for i, log in logs.members.items()} == {
        i: len(log.records) for i, log in whole.items()
    }
    assert seen.explanation is not None
    rows = seen.explanation.leaderships
    named = set(chain.from_iterable(row.evidence for row in rows))

    assert [(row.leadership_term_id, row.leader_member_id) for row in rows] == [
        (0, 1),
        (1, 0),
        (2, 1),
    ]
    for one in named:
        line = (tmp_path / one.file).read_text().split("\n")[one.line - 1]
        assert line.startswith(f"[{one.time_ns // 10**9}.{one.time_ns % 10**9:09d}]")


def test_a_copy_of_a_log_beside_it_is_not_read_when_the_log_is_rolled(
    tmp_path: Path, follow: Follow
) -> None:
    log = StoryLog(0)
    lead(log, (), 100.0, 101.0)
    write_story(tmp_path, [log])
    logs = follow(tmp_path)
    read = len(logs.read()[0][0])
    path = tmp_path / "member-0.log"
    shutil.copy(path, tmp_path / "member-0.log.7")
    os.mkfifo(tmp_path / "member-0.log.8")
    (tmp_path / "member-0.log.9").symlink_to(tmp_path / "nowhere")
    path.rename(tmp_path / "member-0.log.1")
    later = StoryLog(0)
    later.module(150.0, "ACTIVE CLOSED", "closed")
    write_story(tmp_path, [later])
    while not logs.read()[1]:
        pass

    assert (read, logs.members[0].lines) == (len(log.lines), len(log.lines) + 1)
    assert logs.members[0].names == ["member-0.log.1", "member-0.log"]


def test_files_rolled_before_are_read_first(tmp_path: Path, follow: Follow) -> None:
    for member_id in (0, 1, 2):
        text = lines_of(SAMPLES[-1], member_id)
        (tmp_path / f"member-{member_id}.log.1").write_text("\n".join(text[:100]) + "\n")
        (tmp_path / f"member-{member_id}.log").write_text("\n".join(text[100:]) + "\n")
    seen = Picture()
    news_of(follow(tmp_path), seen)

    assert seen.explanation is not None
    assert len(seen.explanation.leaderships) == 3


def test_a_file_that_is_truncated_is_begun_anew(tmp_path: Path, follow: Follow) -> None:
    log = StoryLog(0)
    lead(log, (), 100.0, 101.0)
    write_story(tmp_path, [log])
    logs, seen = follow(tmp_path), Picture()
    news_of(logs, seen)
    later = StoryLog(0)
    later.module(150.0, "ACTIVE CLOSED", "closed")
    write_story(tmp_path, [later])
    news = news_of(logs, seen)

    assert [one.kind for one in news] == ["leadership"]


def test_a_member_whose_log_comes_later_is_found(tmp_path: Path, follow: Follow) -> None:
    leader, one = StoryLog(0), StoryLog(1)
    lead(leader, (one,), 100.0, 101.0)
    write_story(tmp_path, [leader])
    logs, seen = follow(tmp_path), Picture()
    news_of(logs, seen)
    write_story(tmp_path, [leader, one])
    logs.look()
    news_of(logs, seen)

    assert seen.explanation is not None
    assert seen.explanation.members == (0, 1)


def test_what_is_new_is_said_once(tmp_path: Path, follow: Follow) -> None:
    write_part(tmp_path, SAMPLES[-1], 1.0)
    logs, seen = follow(tmp_path), Picture()

    first = news_of(logs, seen)

    assert [one.kind for one in first].count("election") == 3
    assert news_of(logs, seen) == []


def test_the_end_of_a_danger_is_a_note(tmp_path: Path, follow: Follow) -> None:
    """Member 1 loses its disk, and copies its log again."""
    leader, one = StoryLog(0), StoryLog(1)
    lead(leader, (one,), 100.0, 103.0)
    one.start(110.0)
    one.election(110.0, "node started")
    logs, seen = follow(write_story(tmp_path, [leader, one])), Picture()
    (danger,) = [each for each in news_of(logs, seen) if each.severity == "danger"]
    assert "No later line shows that a quorum held the log up to 96 again." in danger.text
    assert "The entries are on member 0 at the end of the logs. Copy its disk before" in danger.text

    one.state(111.0, "CANVASS FOLLOWER_READY CLOSED", leader=0, log=(0, 96))
    write_story(tmp_path, [leader, one])
    (end,) = [each for each in news_of(logs, seen) if each.kind == "risk"]

    assert str(end).startswith(f"note: no longer: {danger.text.split(': ')[0]}: Member 1 held")
    assert "A quorum held the log up to 96 again after 1,000 ms." in end.text
    assert "Copy" not in end.text
    assert seen.totals.risks == {"danger": 1}


def test_a_line_that_comes_later_makes_a_note_a_danger(tmp_path: Path, follow: Follow) -> None:
    """Member 1 truncates 32 to 96. Then a line shows that the log was committed up to 96."""
    stories = [StoryLog(member_id) for member_id in range(5)]
    lead(stories[0], stories[1:], 100.0, 103.0)
    for each in stories:
        each.lines = [line for line in each.lines if "COMMIT_POSITION" not in line]
    stories[1].event(
        104.0,
        "TRUNCATE_LOG_ENTRY",
        "state=CANVASS logLeadershipTermId=0 leadershipTermId=0 candidateTermId=0 commitPosition=0"
        " logPosition=32 appendPosition=96 oldPosition=96 newPosition=32",
    )
    logs, seen = follow(write_story(tmp_path, stories)), Picture()
    (note,) = [each for each in news_of(logs, seen) if each.kind == "risk"]
    assert str(note).startswith("note: truncated: Member 1 truncated its log from 96 to 32.")

    stories[2].committed(103.0, 0, 0, 96)
    write_story(tmp_path, stories)
    (danger,) = [each for each in news_of(logs, seen) if each.kind == "risk"]

    assert str(danger).startswith("danger: truncated (docs/findings/L-D.md): Member 1 truncated")
    assert "After that members 0, 2, 3, 4 still held the log up to 96." in danger.text


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many positions leave one record, and old elections are forgotten."""
    monkeypatch.setattr(picture_module, "MAX_RECORDS", 400)
    log = StoryLog(0)
    lead(log, (), 100.0, 101.0)
    for beat in range(500):
        log.appended(101.0 + beat / 100, 1, 0, beat)
    once = records_of(tmp_path / "once", log)
    kept = KeptRecords()
    kept.add(once, HostClock().times(once))
    assert len(kept.lines()) < 20

    many = KeptRecords()
    for number in range(60):
        again = StoryLog(0)
        lead(again, (), 200.0 + number, 200.5 + number)
        more = records_of(tmp_path / str(number), again)
        many.add(more, HostClock().times(more))
        many.forget()
    assert len(many.lines()) < 420


def test_a_leadership_that_lasts_is_not_forgotten(
    tmp_path: Path, follow: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of sessions come and go in one term; then the leader is killed."""
    monkeypatch.setattr(picture_module, "MAX_RECORDS", 400)
    leader, one = StoryLog(0), StoryLog(1)
    lead(leader, (one,), 100.0, 103.0)
    logs, seen = follow(write_story(tmp_path, [leader, one])), Picture()
    for number in range(1_000):
        fields = f"leadershipTermId=0 sessionId={number} logPosition=96"
        text = f"{fields} timestamp=1 timeUnit=ms"
        leader.event(104.0 + number / 100, "APPEND_SESSION_OPEN", text)
        if number % 100 == 0:
            write_story(tmp_path, [leader, one])
            news_of(logs, seen)
    assert seen.explanation is not None
    assert [row.ended_by for row in seen.explanation.leaderships] == ["log ends"]
    leader.start(120.0)
    write_story(tmp_path, [leader, one])
    news_of(logs, seen)

    assert seen.leadership is not None
    assert (seen.leadership.leader_member_id, seen.leadership.ended_by) == (0, "process ended")


def test_the_release_is_known_when_its_header_is_forgotten(
    tmp_path: Path, follow: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The member is upgraded; then it leads again and again."""
    monkeypatch.setattr(picture_module, "MAX_RECORDS", 40)
    log = StoryLog(0)
    log.start(100.0)
    log.lines[0] = log.lines[0].replace("1.52.2", "1.51.0")
    lead(log, (), 101.0, 102.0)
    logs, seen = follow(write_story(tmp_path, [log])), Picture()
    for number in range(1, 60):
        log.election(102.0 + number, "leader heartbeat timeout")
        write_story(tmp_path, [log])
        news_of(logs, seen)

    assert seen.explanation is not None
    assert seen.explanation.begin_ns > 103 * 10**9
    assert seen.explanation.releases is not None
    assert seen.explanation.releases.members == {0: ("1.51.0", "1.52.2")}


def records_of(folder: Path, log: StoryLog) -> list[LogRecord]:
    found: MemberLog = read_cluster([write_story(folder, [log])]).members[0]
    return found.records


def test_metrics_say_who_leads(tmp_path: Path, follow: Follow) -> None:
    leader, one = StoryLog(0), StoryLog(1)
    lead(leader, (one,), 100.0, 103.0)
    logs, seen = follow(write_story(tmp_path, [leader, one])), Picture()
    news_of(logs, seen)
    lines = {member_id: log.lines for member_id, log in logs.members.items()}
    text = render(seen, lines, {0: 10}, 0.25, "CONFORMS", 3.0)

    assert "canvass_elections_total 1\n" in text
    assert "canvass_leader_member_id 0\n" in text
    assert 'canvass_member_lag_bytes{member="1"} 0\n' in text
    assert 'canvass_verdict{verdict="CONFORMS"} 1\n' in text
    assert "canvass_seconds_behind 0.25\n" in text
    assert all(line.startswith(("# ", "canvass_")) for line in text.splitlines())


def test_a_folder_that_is_not_there_is_one_line_of_error(tmp_path: Path) -> None:
    with pytest.raises(AeronLogError, match="nowhere"):
        FollowedLogs(tmp_path / "nowhere")


def test_a_file_that_was_written_and_rolled_between_two_looks_is_read(
    tmp_path: Path, follow: Follow
) -> None:
    for member_id in (0, 1, 2):
        text = lines_of(SAMPLES[-1], member_id)
        (tmp_path / f"member-{member_id}.log").write_text("\n".join(text[:90]) + "\n")
    logs, seen = follow(tmp_path), Picture()
    news_of(logs, seen)
    for member_id in (0, 1, 2):
        text = lines_of(SAMPLES[-1], member_id)
        path = tmp_path / f"member-{member_id}.log"
        path.rename(tmp_path / f"member-{member_id}.log.1")
        (tmp_path / f"member-{member_id}.log.2").write_text("\n".join(text[90:150]) + "\n")
        path.write_text("\n".join(text[150:]) + "\n")
    news_of(logs, seen)

    assert seen.explanation is not None
    assert len(seen.explanation.leaderships) == 3
    assert seen.explanation.missing == ()


def test_a_member_that_others_name_counts_though_its_log_is_not_there(
    tmp_path: Path, follow: Follow
) -> None:
    leader, one, two = StoryLog(1), StoryLog(2), StoryLog(3)
    lead(leader, (one, two), 100.0, 103.0)
    seen = Picture()
    news_of(follow(write_story(tmp_path, [leader, one])), seen)

    assert seen.explanation is not None
    assert seen.explanation.member_count == 3
    assert "member 3 is not here" in seen.explanation.missing[0].text
