"""Disks of real members of Aeron 1.44 to 1.53, compared with the output of Aeron's tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.cluster.predicates import quorum_size
from canvass.disks.disk import MemberDisk
from canvass.disks.findings import Kind
from canvass.disks.log import session_messages
from canvass.disks.verdict import assess, load_disks
from support.aeron_disk_captures import (
    COMMITTED,
    captures,
    field_of,
    log_entries,
    recording_log_entries,
    write_acknowledgements,
)

CAPTURES = [
    pytest.param(
        path,
        id=path.name,
        marks=[] if path.parent == COMMITTED else [pytest.mark.night],
    )
    for path in captures()
]
REFUSES = "1.52.2-chaos-100"
LOST = "1.52.2-wipe-241"


def disks_of(capture: Path) -> list[MemberDisk]:
    return load_disks([capture])


@pytest.mark.parametrize("capture", CAPTURES)
def test_recording_logs_are_read_as_aeron_reads_them(capture: Path) -> None:
    for disk in disks_of(capture):
        assert disk.recording_log is not None
        found = [
            {
                "recordingId": str(entry.recording_id),
                "leadershipTermId": str(entry.leadership_term_id),
                "termBaseLogPosition": str(entry.term_base_log_position),
                "logPosition": str(entry.log_position),
                "timestamp": str(entry.timestamp),
                "serviceId": str(entry.service_id),
                "type": entry.type,
                "isValid": str(entry.is_valid).lower(),
                "entryIndex": str(entry.index),
            }
            for entry in sorted(disk.recording_log, key=lambda entry: entry.sort_key)
        ]
        assert found == recording_log_entries(capture, disk.member_id)


@pytest.mark.parametrize("capture", CAPTURES)
def test_logs_are_read_as_aeron_reads_them(capture: Path) -> None:
    for disk in disks_of(capture):
        log = disk.log
        assert log is not None
        assert log.problems == []
        printed = [entry for entry in log_entries(capture, disk.member_id) if entry[2] != "padding"]
        messages = [entry for entry in printed if entry[2] == "SessionMessage"]
        opened = [entry for entry in printed if entry[2] == "NewLeadershipTermEvent"]
        assert [row[:4] for row in session_messages(log, log.start, log.end).tolist()] == [
            [
                int(entry[0]),
                field_of(entry, "sessionId"),
                field_of(entry, "timestamp"),
                field_of(entry, "leadershipTermId"),
            ]
            for entry in messages
        ]
        assert [run.start for run in log.terms if run.base >= 0] == [
            int(entry[0]) for entry in opened
        ]
        assert log.end == int(printed[-1][1])


@pytest.mark.parametrize("capture", CAPTURES)
def test_lost_acknowledgements_are_found_and_no_others(capture: Path, tmp_path: Path) -> None:
    client = tmp_path / "client.jsonl"
    answered = write_acknowledgements(capture, client)
    disks = disks_of(capture)
    held = [
        {
            field_of(entry, "value")
            for entry in log_entries(capture, disk.member_id)
            if entry[2] == "SessionMessage"
        }
        for disk in disks
    ]
    lost = sum(sum(value in one for one in held) < quorum_size(len(disks)) for value in answered)

    verdict = assess([capture], client=client)

    texts = [one for one in verdict.findings if "acknowledged" in one.text]
    assert [one.kind for one in texts] == ([Kind.LOST] if lost else [])
    assert [one.text.split()[0] for one in texts] == ([str(lost)] if lost else [])
    accused = {LOST: 1, REFUSES: 1}.get(capture.name)
    assert verdict.exit_code in ({accused} if accused else {0, 3})


def test_a_snapshot_of_truncated_entries_is_found_and_its_member_never_joins() -> None:
    verdict = assess([COMMITTED / LOST])

    assert verdict.verdict == "LOST"
    (found,) = [one for one in verdict.findings if one.kind is Kind.LOST]
    assert (found.member_id, found.offset) == (0, 256)
    assert "18368 of term 0: the term ends at 13152" in found.text
    assert set(verdict.outlook.never_join) == {0}
    assert {one.leader_member_id for one in verdict.outlook.leaderships if one.quorums} == {1, 2}
    assert verdict.options[0].action == "Start members 1 and 2"


def test_an_archive_that_refused_to_start_is_found_with_the_place() -> None:
    verdict = assess([COMMITTED / REFUSES])

    assert verdict.verdict == "DAMAGED"
    (found,) = [one for one in verdict.findings if one.kind is Kind.DAMAGED]
    assert Path(found.file).name == "0-524288.rec.gz"
    assert found.offset == 712_512 - 524_288
    assert set(verdict.outlook.cannot_start) == {1}
    assert verdict.options[0].action == "Run `ArchiveTool verify` on the archive of member 1"


def test_all_members_of_a_sound_cluster_can_lead_with_any_quorum() -> None:
    verdict = assess([COMMITTED / "1.53-tight-242"])

    assert (verdict.verdict, verdict.revision, verdict.schema_version) == ("SOUND", "1.50", 17)
    assert [len(one.quorums) for one in verdict.outlook.leaderships] == [3, 3, 3]
    assert not any(one.truncations for one in verdict.outlook.leaderships)


def test_a_member_that_missed_the_last_election_cannot_lead() -> None:
    verdict = assess([COMMITTED / "1.44.7-kills-9119"])

    assert (verdict.verdict, verdict.revision, verdict.schema_version) == ("SOUND", "1.49", 12)
    assert [len(one.quorums) for one in verdict.outlook.leaderships] == [3, 0, 3]
    assert verdict.outlook.leaderships[1].refused["0, 1"] == (
        "member 0 refuses: its log ends at 98560 of term 3, the candidate's at 98464 of term 2"
    )
