"""Disks of clusters whose whole history is known, compared with that history."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from canvass.disks.findings import Kind
from canvass.disks.verdict import assess
from canvass.simulation.world import agreement, length
from support.aeron_disks import TIME, write_disks
from support.aeron_histories import History, history, restarted


def check(seed: int, folder: Path) -> str:
    """Compare the verdict on one set of disks with its history. Return the verdict."""
    known = history(seed)
    folders = write_disks(folder, [known.disk(i) for i in range(3)])
    client = folder / "client.jsonl"
    answered = known.acknowledged()
    client.write_text("".join(json.dumps(one) + "\n" for one in answered))

    verdict = assess(folders, client=client if answered else None)

    where = f"seed {seed}"
    grave = {one.kind for one in verdict.findings} - {Kind.NOTE, Kind.MISSING}
    assert verdict.revision == "1.50" or not any(known.world.logs), where
    lost = lost_messages(known, answered)
    reported = [one for one in verdict.findings if "acknowledged" in one.text]
    assert sum(int(one.text.split()[0]) for one in reported) == lost, where
    if not known.wiped:
        assert not grave or lost, f"{where}: {[one.text for one in verdict.findings]}"
    compare_logs(known, verdict.common_position, where)
    compare_elections(known, verdict.outlook.leaderships, where)
    return verdict.verdict


def lost_messages(known: History, answered: list[dict[str, object]]) -> int:
    """The number of acknowledged messages that are on no quorum of the disks."""
    count = 0
    for one in answered:
        data = bytes.fromhex(str(one["payload"]))
        term, position = int.from_bytes(data[:2], "little"), int.from_bytes(data[2:], "little")
        assert one["timestamp"] == TIME + position
        count += known.holders(position, term) < 2
    return count


def compare_logs(known: History, common: int, where: str) -> None:
    logs = [log for log in known.world.logs if log]
    if len(logs) > 1:
        expected = min(agreement(a, b) if a is not b else length(a) for a in logs for b in logs)
        assert common == expected, where


def compare_elections(known: History, leaderships: object, where: str) -> None:
    """Compare each election with the members of the history, which are started again."""
    for one in leaderships:  # type: ignore[attr-defined]
        for members in ([0, 1], [0, 2], [1, 2], [0, 1, 2]):
            candidate = one.leader_member_id
            if candidate not in members:
                continue
            world, wins = restarted(known, members, candidate)
            assert (members in one.quorums) == wins, f"{where}: {candidate} among {members}"
            if wins and len(members) == 3:
                for cut in one.truncations:
                    before, after = known.world.logs[cut.member_id], world.logs[cut.member_id]
                    if len(world.up) == 3 and cut.member_id not in one.stuck:
                        assert agreement(before, after) == cut.start, where


@pytest.mark.parametrize("seed", range(8))
def test_the_verdict_agrees_with_the_history_of_the_disks(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path)


@pytest.mark.night
def test_the_verdicts_on_a_thousand_sets_of_disks_agree_with_their_histories(
    tmp_path: Path,
) -> None:
    found = Counter(check(seed, tmp_path / str(seed)) for seed in range(1000))

    assert set(found) >= {"SOUND", "LOST"}
