"""Public questions about Aeron clusters, as disks, and the answers.

Each test is made from the description of a thread of aeron-io/aeron, named by its number.
"""

from __future__ import annotations

import json
from pathlib import Path

from canvass.disks.findings import Kind
from canvass.disks.layouts import INVALID_FLAG
from canvass.disks.verdict import DisksVerdict, assess
from support import aeron_disks
from support.aeron_disks import (
    SEGMENT_LENGTH,
    TIME,
    Snapshot,
    Term,
    disk_of,
    entry,
    write_disk,
    write_disks,
)


def found(verdict: DisksVerdict, kind: Kind) -> list[str]:
    return [one.text for one in verdict.findings if one.kind is kind]


def test_2147_a_commit_counted_with_the_log_of_another_term_is_lost(tmp_path: Path) -> None:
    """Pull request 2147, "Commits can be lost", after its step 6.

    Member 2 led term 2 and acknowledged an entry, because the log position of member 3, of term 1,
    was counted. Then it went down.
    """
    first = Term(1, 3)
    folders = write_disks(
        tmp_path,
        [
            disk_of(1, [first, Term(2, 2)]),
            disk_of(2, [first, Term(2, 2, (b"two",))]),
            disk_of(3, [Term(1, 3, (b"one",))]),
        ],
    )
    client = tmp_path / "client.jsonl"
    client.write_text(json.dumps({"clusterSessionId": 1, "timestamp": TIME + 192}) + "\n")

    without, answered = assess(folders), assess(folders, client=client)

    assert found(without, Kind.LOST) == []
    assert found(answered, Kind.LOST) == [
        (f"1 acknowledged entry is on member 2 only (the first: session 1, timestamp {TIME + 192})")
    ]
    assert answered.exit_code == 1
    leads = {one.leader_member_id: one for one in answered.outlook.leaderships}
    assert leads[1].quorums == [[1, 3]], "member 1 wins on term, as in step 7"
    assert [(cut.member_id, cut.start, cut.end) for cut in leads[1].truncations] == [
        (2, 192, 288),
        (3, 96, 192),
    ]
    assert leads[2].quorums == [[1, 2], [2, 3], [1, 2, 3]], "with member 2 the entry is kept"
    assert leads[3].quorums == []


def test_1777_deleted_old_snapshots_do_no_harm_while_a_newer_one_is_valid(tmp_path: Path) -> None:
    """Issue 1777, "Invalidate older snapshots after truncating the log".

    Recordings of old snapshots are deleted and the log is purged up to the newest; the entries of
    the old ones stay valid.
    """
    terms = [Term(0, 0, (b"x" * 1000,) * 100)]
    whole = disk_of(0, terms)
    old, new = Snapshot(0, 0, 96, 7), Snapshot(0, 0, len(whole.log), 1)
    purged = disk_of(0, terms, snapshots=(old, new), start=SEGMENT_LENGTH)
    folder = write_disk(tmp_path / "member-0", purged)
    (folder / "archive" / "archive.catalog").write_bytes(
        aeron_disks.catalog(
            [
                aeron_disks.descriptor(0, SEGMENT_LENGTH, len(purged.log)),
                *(aeron_disks.descriptor(i, 0, 192) for i in (1, 2)),
            ],
            9,
        )
    )

    assert assess([folder]).verdict == "SOUND"

    # If, by mistake, the newer entries are invalidated, the deleted ones are selected.
    path = folder / "cluster" / "recording.log"
    data = bytearray(path.read_bytes())
    for index in (3, 4):
        data[64 * index + 44 : 64 * index + 48] = (1 | INVALID_FLAG & 0xFFFFFFFF).to_bytes(
            4, "little"
        )
    path.write_bytes(data)
    verdict = assess([folder])

    assert verdict.verdict == "DAMAGED"
    assert "which the archive does not have" in verdict.outlook.cannot_start[0]
    texts = found(verdict, Kind.DAMAGED)
    assert any("which the archive does not have" in text for text in texts)
    assert any("the log starts at 65536, and the last snapshot is at 96" in text for text in texts)


def test_1146_a_term_entry_that_was_invalidated_is_named(tmp_path: Path) -> None:
    """Issue 1146, "Issue with ReplayLog when recording log last entry is a leadership term"."""
    terms = [Term(0, 0, (b"a",)), Term(1, 1)]
    folder = write_disk(tmp_path / "member-0", disk_of(0, terms))
    base = len(aeron_disks.write_log(terms[:1]))
    invalid = entry(0, 0, 0, base) + entry(INVALID_FLAG, 1, base, -1)
    (folder / "cluster" / "recording.log").write_bytes(invalid)

    verdict = assess([folder])

    (text,) = [one for one in verdict.findings if one.kind is Kind.DAMAGED]
    assert (text.offset, text.text) == (64, "the entry of term 1 is marked invalid")
    assert verdict.logs[0].log_leadership_term_id == 0


def test_604_a_snapshot_without_a_recording_keeps_the_member_from_starting(tmp_path: Path) -> None:
    """Issue 604, "Cluster node fails to start due to unknown recording id=-1"."""
    terms = [Term(0, 0, (b"a",))]
    snapshot = Snapshot(0, 0, 160, recording_id=-1)
    disks = [disk_of(i, terms) for i in (0, 1)] + [disk_of(2, terms)]
    folders = write_disks(tmp_path, disks)
    path = folders[2] / "cluster" / "recording.log"
    path.write_bytes(path.read_bytes() + entry(1, 0, 0, snapshot.position, -1, -1))

    verdict = assess(folders)

    (text,) = [one for one in verdict.findings if one.kind is Kind.DAMAGED]
    assert (text.member_id, text.offset) == (2, 64)
    assert "recording id -1" in text.text
    assert "unknown recording id" in text.consequence
    assert verdict.outlook.cannot_start == {2: f"{text.place}: {text.text}"}
    assert verdict.outlook.leaderships[0].quorums == [[0, 1]]


def test_1533_members_that_lost_their_files_cannot_replicate_a_purged_log(tmp_path: Path) -> None:
    """Issue 1533, "Cluster cannot start if some nodes lost their files and log has been truncated".

    A snapshot was taken and the log purged up to it; then two of three members lost all files.
    """
    terms = [Term(0, 0, (b"x" * 1000,) * 100)]
    log = aeron_disks.write_log(terms)
    taken = Snapshot(0, 0, len(log))
    folders = write_disks(
        tmp_path, [disk_of(0, terms, snapshots=(taken,), start=SEGMENT_LENGTH, candidate_term=0)]
    )
    for member in (1, 2):
        folder = tmp_path / f"member-{member}"
        folder.mkdir()
        folders.append(folder)

    verdict = assess(folders)

    assert verdict.verdict == "LOST", "what was committed is on one disk"
    leads = {one.leader_member_id: one for one in verdict.outlook.leaderships}
    why = "needs the log from 0 on, and the leader's recording starts at 65536"
    assert leads[0].stuck == {1: why, 2: why}
    assert leads[1].quorums == [[1, 2]], "without member 0 the empty members start a new history"
    assert any(cut.committed_until > cut.start for cut in leads[1].truncations)
    actions = [option.action for option in verdict.options]
    assert "Do not start members 1 and 2 without the others" in actions


def test_1898_a_member_that_replayed_beyond_the_commit_position_cannot_join(tmp_path: Path) -> None:
    """Pull request 1898: in an election up to 1.49 a follower replays all that it has recorded.

    Member 2 was faster than the majority, replayed its tail, and its services took a snapshot of
    it. The majority went on without the tail, and member 2 truncated it.
    """
    first = Term(0, 0, (b"both",))
    ends = len(aeron_disks.write_log([first]))
    applied = len(aeron_disks.write_log([Term(0, 0, (b"both", b"fast"))]))
    majority = [disk_of(i, [first, Term(1, 1, (b"next", b"more"))]) for i in range(2)]
    fast = disk_of(2, [first, Term(1, 1)], snapshots=(Snapshot(0, 0, applied),))

    verdict = assess(write_disks(tmp_path, [*majority, fast]))

    assert applied > ends
    (lost,) = found(verdict, Kind.LOST)
    assert lost.startswith(f"the snapshot at {applied} of term 0: the term ends at {ends} (")
    assert set(verdict.outlook.never_join) == {2}
    assert (
        "the services of this member have processed other entries" in verdict.outlook.never_join[2]
    )
    assert {one.leader_member_id for one in verdict.outlook.leaderships if one.quorums} == {0, 1}


def test_1940_entries_that_a_standby_may_have_read_and_members_truncate_are_named(
    tmp_path: Path,
) -> None:
    """Issue 1940: a standby replays a member's recording without a bound, and not to the commit
    position only. May it process entries that the cluster rolls back?

    The standby's source was the leader, member 0, which had recorded an entry that nobody else has.
    """
    both = Term(0, 0, (b"both",))
    shared = len(aeron_disks.write_log([both]))
    whole = len(aeron_disks.write_log([Term(0, 0, (b"both", b"tail"))]))
    source = disk_of(0, [Term(0, 0, (b"both", b"tail"))])
    disks = [source, disk_of(1, [both]), disk_of(2, [both])]

    verdict = assess(write_disks(tmp_path, disks))

    assert verdict.verdict == "SOUND", (
        "an entry on one disk is not lost: nobody was answered for it"
    )
    assert verdict.common_position == shared
    ends = {one.member_id: one.end for one in verdict.logs}
    assert ends == {0: whole, 1: shared, 2: shared}, "so far the standby may be ahead of the others"
    leads = {one.leader_member_id: one for one in verdict.outlook.leaderships}
    for other in (1, 2):
        (cut,) = leads[other].truncations
        assert (cut.member_id, cut.start, cut.end) == (0, shared, whole)
        assert cut.committed_until <= cut.start
    assert leads[0].truncations == [], "with member 0 the entry stays, and the standby is right"
