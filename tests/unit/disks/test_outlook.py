"""The possible leaders of synthetic disks, the truncations that follow, and the options."""

from __future__ import annotations

from pathlib import Path

from canvass.disks.findings import Kind
from canvass.disks.verdict import DisksVerdict, assess
from support import aeron_disks
from support.aeron_disks import TIME, Snapshot, Term, disk_of, write_disks

A, B, C = b"a" * 32, b"b" * 32, b"c" * 32


def quorums(verdict: DisksVerdict) -> dict[int, list[list[int]]]:
    return {one.leader_member_id: one.quorums for one in verdict.outlook.leaderships}


def actions(verdict: DisksVerdict) -> list[str]:
    return [option.action for option in verdict.options]


def test_the_longest_log_of_the_last_term_decides_who_can_lead(tmp_path: Path) -> None:
    logs = [(A, B, C), (A, B), (A,)]
    disks = [disk_of(i, [Term(0, 0, one)]) for i, one in enumerate(logs)]

    verdict = assess(write_disks(tmp_path, disks))

    assert verdict.verdict == "SOUND"
    assert quorums(verdict) == {0: [[0, 1], [0, 2], [0, 1, 2]], 1: [[1, 2]], 2: []}
    leads = {one.leader_member_id: one for one in verdict.outlook.leaderships}
    (cut,) = [one for one in leads[1].truncations if one.member_id == 0]
    assert (cut.start, cut.end, cut.committed_until, cut.possible_until) == (288, 384, 0, 288)
    assert leads[1].stuck == {}, "in a term of the same leader nothing is truncated but its tail"


def test_a_tail_of_a_dead_leader_is_truncated_and_no_alarm(tmp_path: Path) -> None:
    first = Term(0, 0, (A,))
    disks = [
        disk_of(0, [Term(0, 0, (A, B))]),
        disk_of(1, [first, Term(1, 1, (C,))]),
        disk_of(2, [first, Term(1, 1, (C,))]),
    ]

    verdict = assess(write_disks(tmp_path, disks))

    assert verdict.verdict == "SOUND"
    assert verdict.common_position == 192
    assert quorums(verdict)[0] == []
    for one in verdict.outlook.leaderships[1:]:
        assert [(cut.member_id, cut.start, cut.end) for cut in one.truncations] == [(0, 192, 288)]
        assert not one.may_lose
        assert one.stuck == {}
    assert actions(verdict) == ["Start members 0, 1 and 2"]


def test_an_empty_disk_makes_a_quorum_that_loses_entries(tmp_path: Path) -> None:
    disks = [disk_of(0, [Term(0, 0, (A, B))]), disk_of(1, [Term(0, 0, (A,))])]

    verdict = assess(write_disks(tmp_path, disks), lost=[2])

    assert quorums(verdict) == {0: [[0, 1]], 1: []}
    assert verdict.with_empty is not None
    empty = {one.leader_member_id: one for one in verdict.with_empty.leaderships}
    assert [1, 2] in empty[1].quorums
    assert empty[1].may_lose
    assert actions(verdict) == [
        "Start members 0 and 1",
        "Do not start member 2 with an empty disk before a leader serves",
    ]


def test_a_purged_log_is_no_source_for_an_empty_disk(tmp_path: Path) -> None:
    terms = [Term(0, 0, (b"x" * 1000,) * 100)]
    whole = disk_of(0, terms)
    taken = (Snapshot(0, 0, len(whole.log)),)
    disks = [disk_of(i, terms, snapshots=taken, start=aeron_disks.SEGMENT_LENGTH) for i in range(2)]

    verdict = assess(write_disks(tmp_path, disks), lost=[2])

    assert actions(verdict) == [
        "Start members 0 and 1",
        "Copy the archive and cluster folders of a stopped member to member 2",
    ]
    assert "the leader's recording starts at 65536" in verdict.options[1].consequence


def test_two_leaders_of_one_term_are_an_alarm(tmp_path: Path) -> None:
    disks = [disk_of(i, [Term(0, 0), Term(1, i, (A,))]) for i in range(2)]

    verdict = assess(write_disks(tmp_path, disks), member_count=3)

    (found,) = [one for one in verdict.findings if one.kind is Kind.DIVERGED]
    assert found.offset == 96
    assert "members 0 and 1 hold different entries of term 1 at 96" in found.text


def test_committed_entries_on_one_disk_only_are_lost(tmp_path: Path) -> None:
    terms = [Term(0, 0, (A, B)), Term(1, 0)]
    disks = [disk_of(0, terms), disk_of(1, [Term(0, 0, (A,))]), disk_of(2, [Term(0, 0)])]

    verdict = assess(write_disks(tmp_path, disks))

    (found,) = [one for one in verdict.findings if one.kind is Kind.LOST]
    assert (found.member_id, found.offset) == (0, 288)
    assert "on 1 of 3 disks only (member 0), and a quorum is 2" in found.text
    leads = {one.leader_member_id: one for one in verdict.outlook.leaderships}
    assert any(cut.committed_until > cut.start for cut in leads[1].truncations)
    assert actions(verdict) == [
        "Start members 0 and 1 first, and the others when a leader serves",
        "Do not start members 1 and 2 without the others",
    ]


def test_a_recording_log_that_lacks_the_replicated_term_is_no_alarm(tmp_path: Path) -> None:
    """Hazard HZ2: the member was stopped before it wrote the entry of the term."""
    terms = [Term(0, 0, (A,)), Term(1, 1, (B,))]
    behind = disk_of(2, terms)
    behind.entries = ((0, 0, -1),)

    verdict = assess(write_disks(tmp_path, [disk_of(0, terms), disk_of(1, terms), behind]))

    assert verdict.verdict == "SOUND"
    assert any("HZ2" in one.consequence for one in verdict.findings)
    assert quorums(verdict)[2] == []


def test_five_members_need_three(tmp_path: Path) -> None:
    disks = [disk_of(i, [Term(0, 0, (A,))]) for i in range(5)]

    verdict = assess(write_disks(tmp_path, disks[:3]), member_count=5)

    assert verdict.outlook.quorum == 3
    assert quorums(verdict) == {0: [[0, 1, 2]], 1: [[0, 1, 2]], 2: [[0, 1, 2]]}


def test_a_snapshot_is_read_and_a_wrong_one_named(tmp_path: Path) -> None:
    terms = [Term(0, 0, (A,))]
    sound = [disk_of(i, terms, snapshots=(Snapshot(0, 0, 192),)) for i in range(3)]
    folders = write_disks(tmp_path, sound)
    assert assess(folders).verdict == "SOUND"

    path = folders[1] / "archive" / "1-0.rec"
    path.write_bytes(aeron_disks.snapshot_recording(Snapshot(0, 0, 96)).ljust(1 << 16, b"\0"))
    verdict = assess(folders)

    (found,) = [one for one in verdict.findings if one.kind is Kind.DAMAGED]
    assert (found.member_id, Path(found.file)) == (1, path)
    assert "at 192 of term 0 has a marker of position 96 of term 0" in found.text


def test_a_member_that_runs_is_noticed(tmp_path: Path) -> None:
    folders = write_disks(tmp_path, [disk_of(0, [Term(0, 0)])])

    running = assess(folders, now_ms=TIME + 5_000)
    stopped = assess(folders, now_ms=TIME + 50_000)

    assert [one.kind for one in running.findings] == [Kind.NOTE]
    assert stopped.findings == []


def test_with_very_many_terms_the_logs_alone_are_compared(tmp_path: Path) -> None:
    terms = [Term(number, number % 3) for number in range(502)]
    disks = [disk_of(0, terms), disk_of(1, terms), disk_of(2, terms[:-1])]

    verdict = assess(write_disks(tmp_path, disks))

    assert verdict.outlook.elections == 0
    assert "more than 500 terms: no election was simulated" in verdict.outlook.bounds
    assert quorums(verdict) == {
        0: [[0, 1], [0, 2], [0, 1, 2]],
        1: [[0, 1], [1, 2], [0, 1, 2]],
        2: [],
    }


def damaged(tmp_path: Path, member: int, position: int, data: bytes) -> DisksVerdict:
    """Three members with two terms. One disk has other bytes at a position."""
    terms = [Term(0, 0, (A, B)), Term(1, 1, (A, B, C))]
    folders = write_disks(tmp_path, [disk_of(i, terms) for i in range(3)])
    path = folders[member] / "archive" / "0-0.rec"
    content = bytearray(path.read_bytes())
    content[position : position + len(data)] = data
    path.write_bytes(content)
    return assess(folders)


def test_a_log_that_cannot_be_replayed_votes_and_neither_leads_nor_joins(tmp_path: Path) -> None:
    verdict = damaged(tmp_path, 2, 480, bytes(192))

    assert quorums(verdict) == {0: [[0, 1], [0, 1, 2]], 1: [[0, 1], [0, 1, 2]], 2: []}
    why = "its replay ends at the damage at 480"
    leads = {one.leader_member_id: one for one in verdict.outlook.leaderships}
    assert leads[2].refused["0, 2"].startswith(f"it wins and does not lead: {why}")
    assert leads[0].refused["0, 2"].startswith(f"member 2 votes for it and does not join: {why}")
    assert verdict.outlook.never_join[2].startswith(why)


def test_damage_that_a_leader_has_truncated_does_not_matter(tmp_path: Path) -> None:
    first = Term(0, 0, (A, B))
    disks = [
        disk_of(0, [first, Term(2, 0, (A,))]),
        disk_of(1, [first, Term(2, 0, (A,))]),
        disk_of(2, [first, Term(1, 2, (A, B, C))]),
    ]
    folders = write_disks(tmp_path, disks)
    path = folders[2] / "archive" / "0-0.rec"
    content = bytearray(path.read_bytes())
    content[480:576] = bytes(96)
    path.write_bytes(content)

    verdict = assess(folders)

    assert quorums(verdict)[0] == [[0, 1], [0, 2], [0, 1, 2]]
    assert verdict.outlook.never_join == {}


def test_a_replay_does_not_look_at_the_term_offset_of_a_frame(tmp_path: Path) -> None:
    verdict = damaged(tmp_path, 2, 480 + 9, b"\xff")

    assert verdict.verdict == "DAMAGED"
    assert quorums(verdict)[2] == [[0, 2], [1, 2], [0, 1, 2]]
    assert verdict.outlook.never_join == {}


def test_the_consensus_module_refuses_a_message_of_no_schema(tmp_path: Path) -> None:
    verdict = damaged(tmp_path, 2, 480 + 36, bytes(2))

    assert quorums(verdict)[2] == []
    assert set(verdict.outlook.never_join) == {2}


def test_a_frame_with_only_its_first_bytes_is_refused(tmp_path: Path) -> None:
    verdict = damaged(tmp_path, 2, 480 + 8, bytes(88))

    assert quorums(verdict)[2] == []
    assert set(verdict.outlook.never_join) == {2}


def test_a_follower_whose_replay_ends_in_an_older_term_truncates_the_damage(tmp_path: Path) -> None:
    """It replays no part of the damaged block, so its log term becomes 0."""
    terms = [Term(0, 0, (b"x" * 1000,) * 61), Term(1, 1, (A, B, C))]
    folders = write_disks(tmp_path, [disk_of(i, terms) for i in range(3)])
    begins = disk_of(2, terms).entries[1][1]
    assert begins > aeron_disks.TERM_LENGTH
    path = folders[2] / "archive" / f"0-{aeron_disks.SEGMENT_LENGTH}.rec"
    content = bytearray(path.read_bytes())
    place = begins + 192 - aeron_disks.SEGMENT_LENGTH
    content[place:] = bytes(len(content) - place)
    path.write_bytes(content)

    verdict = assess(folders)

    assert quorums(verdict)[2] == []
    assert verdict.outlook.never_join == {}


def test_a_term_opened_at_0_proves_no_entry_committed(tmp_path: Path) -> None:
    """No entry before position 0 can be lost."""
    disks = write_disks(tmp_path, [disk_of(0, [Term(0, 0, (A,))])])

    verdict = assess(disks, member_count=3)

    assert [one.text for one in verdict.findings if one.kind is Kind.MISSING] == [
        "no folder of member 1 was given",
        "no folder of member 2 was given",
    ]


def test_damage_behind_many_damaged_places_still_ends_a_replay(tmp_path: Path) -> None:
    """Only some damaged places are kept; the last one kept stands for all later ones."""
    terms = [Term(0, 0, (A,) * 80)]
    taken = (Snapshot(0, 0, 96 * 60),)
    folders = write_disks(tmp_path, [disk_of(i, terms, snapshots=taken) for i in range(3)])
    path = folders[2] / "archive" / "0-0.rec"
    content = bytearray(path.read_bytes())
    for number in (*range(2, 52, 2), 70):
        content[96 * number : 96 * (number + 1)] = bytes(96)
    path.write_bytes(content)

    verdict = assess(folders)

    assert quorums(verdict)[2] == []
    assert set(verdict.outlook.never_join) == {2}


def test_a_member_with_a_snapshot_that_cannot_be_loaded_does_not_lead(tmp_path: Path) -> None:
    terms = [Term(0, 0, (A,))]
    taken = (Snapshot(0, 0, 192),)
    folders = write_disks(tmp_path, [disk_of(i, terms, snapshots=taken) for i in range(3)])
    other = aeron_disks.snapshot_recording(Snapshot(0, 0, 96)).ljust(1 << 16, b"\0")
    path = folders[1] / "archive" / "1-0.rec"
    path.write_bytes(other)

    verdict = assess(folders)

    why = f"{path}:32: the snapshot of the consensus module at 192 of term 0 has a marker of"
    assert verdict.outlook.cannot_start[1].startswith(why)
    assert quorums(verdict) == {0: [[0, 2]], 2: [[0, 2]]}


def test_a_member_whose_terms_have_several_recordings_does_not_start(tmp_path: Path) -> None:
    terms = [Term(0, 0, (A,)), Term(1, 0, (B,))]
    folders = write_disks(tmp_path, [disk_of(i, terms) for i in range(3)])
    path = folders[2] / "cluster" / "recording.log"
    data = bytearray(path.read_bytes())
    data[64] = 9
    path.write_bytes(data)

    verdict = assess(folders)

    assert verdict.outlook.cannot_start == {2: f"{path}:64: term 1 has recording id 9"}
