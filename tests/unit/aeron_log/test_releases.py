"""The captured clusters of all releases are read in the vocabulary of their release."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from canvass.cluster.messages import wire_name
from canvass.traces.aeron_log import records as r
from canvass.traces.aeron_log.event_types import EVENT_TYPES, NAMED, ROW_OF, Release, parse_release
from canvass.traces.aeron_log.releases import events_named, log_vocabulary
from support.aeron_lines import read, text
from support.aeron_runs import FINDING, RELEASES, read_cluster
from support.aeron_text import line_of

DISABLED = {"CANVASS_POSITION", "APPEND_POSITION", "COMMIT_POSITION"}


def release_of(run: Path) -> Release:
    """The release that wrote the logs, as was noted when they were captured."""
    config = json.loads((run / "config.json").read_text())
    release = parse_release(config["aeron"]["version"])
    assert release is not None
    return release


def test_there_is_one_of_each_release_line_from_1_44_on() -> None:
    lines = {release_of(run)[:2] for run in RELEASES}

    assert lines == {(1, minor) for minor in range(44, 54)}


@pytest.mark.parametrize("run", RELEASES, ids=lambda run: run.name)
def test_the_vocabulary_is_that_of_the_release(run: Path) -> None:
    release = release_of(run)
    found = log_vocabulary(read_cluster([run]))

    assert found.release.revision == release.revision
    assert found.kinds <= {row.record for row in EVENT_TYPES.values() if row.since <= release}
    if release >= NAMED:
        assert found.release == release
    else:
        # Some lines of releases print the same.
        assert (found.release < Release(1, 45)) == (release < Release(1, 45))
        assert found.release < Release(1, 50)


@pytest.mark.parametrize("run", RELEASES, ids=lambda run: run.name)
def test_fields_are_unknown_where_the_release_does_not_print_them(run: Path) -> None:
    release = release_of(run)
    found: dict[tuple[type[r.ClusterEvent], str], set[bool]] = {}
    for log in read_cluster([run]).members.values():
        for record in log.records:
            if isinstance(record, r.ClusterEvent):
                for field in ("reason", "commit_position"):
                    if hasattr(record, field):
                        is_unknown = getattr(record, field) is None
                        found.setdefault((type(record), field), set()).add(is_unknown)

    for (kind, field), unknown in found.items():
        if kind in (r.TruncateLogEntry, r.NewElection, r.ClusterSessionStateChange):
            since = Release(1, 43)
        else:
            since = Release(1, 45) if kind is r.ElectionStateChange else Release(1, 50)
        assert unknown == {release < since}, (kind, field)


@pytest.mark.parametrize("run", RELEASES, ids=lambda run: run.name)
def test_events_that_are_disabled_are_not_in_the_vocabulary(run: Path) -> None:
    found = log_vocabulary(read_cluster([run]))
    silent = {name for name in DISABLED if EVENT_TYPES[name].record not in found.kinds}

    assert silent == (DISABLED if run.name.endswith("production") else set())
    if silent:
        enabled = {EVENT_TYPES[name].record for name in events_named("production")}
        assert found.kinds <= enabled


@pytest.mark.parametrize("run", RELEASES, ids=lambda run: run.name)
def test_a_change_is_printed_before_or_after_its_role(run: Path) -> None:
    """In 1.44 the change of the election comes first, and a change to CANVASS shows the leader."""
    logs = read_cluster([run])
    first = log_vocabulary(logs).prints_change_before_role
    led = set()
    roles = 0
    for log in logs.members.values():
        for k, record in enumerate(log.records):
            if isinstance(record, r.RoleChange) and record.new_state != "FOLLOWER":
                change = log.records[k - 1 if first else k + 1]
                roles += 1
                assert isinstance(change, r.ElectionStateChange)
                assert change.new_state in ("CANDIDATE_BALLOT", "LEADER_LOG_REPLICATION")
            if isinstance(record, r.ElectionStateChange) and record.new_state == "CANVASS":
                led.add(record.leader_member_id)

    assert first == (release_of(run) < Release(1, 45))
    assert roles > 0
    assert first or led == {-1}


LINES = [Release(1, minor) for minor in range(43, 54)]


@pytest.mark.parametrize("release", LINES, ids=str)
def test_what_a_release_prints_is_read_again(release: Release) -> None:
    """Records of 1.52, without what the release does not print, are the records of its lines."""
    printed = line_of(release)
    later = {
        kind: {field.log_name for field in row.fields if field.since > release}
        for kind, row in ROW_OF.items()
    }
    for log in read_cluster([FINDING]).members.values():
        kept = [
            one
            for one in log.records
            if isinstance(one, r.ClusterEvent) and ROW_OF[type(one)].since <= release
        ]
        expected = [
            msgspec.structs.replace(
                one,
                line=2 + k,
                **{
                    name: None
                    for name in one.__struct_fields__
                    if wire_name(name) in later[type(one)]
                },
            )
            for k, one in enumerate(kept)
        ]
        start = next(one for one in log.records if isinstance(one, r.ProcessStart))
        found, parser = read(text(printed(start), *(printed(one) for one in kept)))

        assert [one for one in found if not isinstance(one, r.ProcessStart)] == expected
        assert parser.unknown_fields == {}
