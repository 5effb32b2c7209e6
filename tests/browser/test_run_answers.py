"""Answers about runs, read off a running server and held against the files."""

from __future__ import annotations

import json
import shutil
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from canvass.browser import api
from canvass.browser.verdicts import Checked
from canvass.conformance.verify import check_units
from canvass.explanation.explanation import explain
from canvass.explanation.reading import read
from canvass.lanes.diagram import Mark
from canvass.steps.answers import StepLookup
from canvass.tlc.errors import TlcError
from canvass.traces.alignment.importer import import_logs
from canvass.traces.parquet import write_dataset
from canvass.traces.run import Corpus
from support.aeron_story import StoryLog, lead, write_story
from support.browse import Asked, serving
from support.core_lookup import core_lookup

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "aeron" / "b-leader-killed"


@pytest.fixture(scope="module")
def server(member_graph: Path, good_run: Path, bad_run: Path) -> Iterator[Asked]:
    with serving([good_run, bad_run, member_graph]) as running:
        yield running


def events_of(folder: Path) -> list[list[dict[str, object]]]:
    return [
        [json.loads(line) for line in (folder / f"member-{k}.ndjson").read_text().splitlines()]
        for k in range(3)
    ]


def settled(server: Asked, run: str) -> api.RunView:
    """The run when its verdict is there."""
    server.get(api.RunView, f"/run/{run}")
    checked: Checked = server.store.content("run", run).checked
    assert checked.done.wait(60)
    return server.get(api.RunView, f"/run/{run}")


def test_the_session_lists_what_was_opened_in_its_order(server: Asked) -> None:
    session = server.get(api.Session, "/session")

    assert [one.kind for one in session.sources] == ["run", "run", "graph"]
    assert session.sources[0].id == session.sources[0].id == "good"


def test_a_good_run_conforms(server: Asked, good_run: Path) -> None:
    run = settled(server, "good")
    streams = events_of(good_run)

    assert (run.verdict, run.checking, run.divergence) == ("CONFORMS", False, None)
    assert run.members == len(streams)
    assert run.events == sum(map(len, streams))


def test_a_run_names_the_properties_that_its_verdict_does_not_cover(
    server: Asked, run_from_unknown_logs: Path
) -> None:
    good = settled(server, "good")
    assert (good.not_checked, good.checked_in_part) == ((), ())

    with serving([run_from_unknown_logs]) as other:
        run = settled(other, "from-unknown-logs")
    assert run.verdict == "CONFORMS"
    assert run.not_checked == ("AppliedWithinCommitted",)
    assert "CommittedIsDurable" in run.checked_in_part


def test_an_imported_run_names_the_releases_that_wrote_its_logs(
    server: Asked, tmp_path: Path
) -> None:
    leader, follower = StoryLog(0), StoryLog(1)
    lead(leader, [follower], 100.0, 103.0)
    for log in (leader, follower):
        log.lines[0] = log.lines[0].replace("version=1.52.2", "version=1.60.0")
    import_logs([write_story(tmp_path / "logs", [leader, follower])], tmp_path / "newer")
    with serving([tmp_path / "newer"]) as other:
        releases, *notes = other.get(api.RunView, "/run/newer").releases

    assert releases.startswith("Aeron 1.60.0 (members 0, 1); revision 1.50 of the spec")
    assert [note[:31] for note in notes] == ["note: release 1.60.0 (members 0"]
    assert server.get(api.RunView, "/run/good").releases == ()


def divergence(server: Asked) -> api.FirstDivergence:
    """The divergence of the bad run."""
    found = settled(server, "bad").divergence
    assert found is not None
    return found


def test_a_divergence_is_reported_with_what_is_allowed(server: Asked) -> None:
    """It is marked in the lanes, and said at its step and at no other."""
    run, answer = settled(server, "bad"), divergence(server)

    assert run.verdict == "DIVERGES"
    first = answer.first
    assert (first.kind.value, first.name, first.member) == ("IMPLEMENTATION_STEP", "Canvass", 1)
    assert any(one.field == "electionState" for one in answer.changed)
    assert answer.operator is not None
    assert answer.operator.lines[0].startswith("Canvass(")
    assert "ElectionError" in answer.enabled
    assert first in run.divergences
    (difference,) = (one for one in answer.expected if one.field == "electionState")
    assert (difference.observed, difference.allowed) == ("NOMINATE", "CANVASS")

    part = server.get(api.Lanes, "/run/bad/lanes", **{"from": answer.event_number, "count": 1})
    assert part.events[0].mark == Mark.DIVERGES.value
    assert part.events[0].reference == f"{first.member}:{first.step}"
    place = f"/run/bad/step/{first.member}"
    assert server.get(api.StepView, f"{place}/{first.step}").divergence == first.text
    assert server.get(api.StepView, f"{place}/{first.step - 1}").divergence == ""


def test_lanes_give_every_event_once_however_they_are_cut(server: Asked, good_run: Path) -> None:
    total = server.get(api.RunView, "/run/good").events
    answer: list[api.LaneEvent] = []
    for start in range(0, total, 70):
        part = server.get(api.Lanes, "/run/good/lanes", **{"from": start, "count": 70})
        assert (part.before, part.total) == (start, total)
        assert part.before + len(part.events) + part.after == total
        for message in part.messages:
            for place in (message.sent, message.received):
                assert place is None or 0 <= place < len(part.events)
        answer += part.events

    assert [one.number for one in answer] == list(range(total))
    expected = {
        (member, f"{member}:{event['step']}", event["action"])
        for member, stream in enumerate(events_of(good_run))
        for event in stream
    }
    assert {(one.lane, one.reference, one.title) for one in answer} == expected


def test_lanes_beyond_the_end_are_empty(server: Asked) -> None:
    total = server.get(api.RunView, "/run/good").events
    part = server.get(api.Lanes, "/run/good/lanes", **{"from": total})

    assert (part.events, part.before, part.after) == ((), total, 0)


def test_events_are_found_by_how_many_members_lead_and_are_candidates(server: Asked) -> None:
    total = server.get(api.RunView, "/run/good").events
    leaders, candidates = [], []
    for at in range(total):
        members = server.get(api.MembersAt, "/run/good/members", at=at).members
        leaders.append(sum(one.leads is not None for one in members))
        candidates.append(
            sum(one.election_state == "CANDIDATE_BALLOT" and not one.status for one in members)
        )
    assert (min(leaders), max(leaders)) == (0, 1)
    assert max(candidates) >= 2

    for where, expected in (
        ("leaders = 0", [count == 0 for count in leaders]),
        ("leaders > 0", [count > 0 for count in leaders]),
        ("candidates >= 2", [count >= 2 for count in candidates]),
        (
            "leaders = 0 and candidates = 1",
            [a == 0 and b == 1 for a, b in zip(leaders, candidates, strict=True)],
        ),
    ):
        found = server.get(api.RunFound, "/run/good/find", where=where, limit=1000)
        holds = {k for one in found.shown for k in range(one.event, one.last_event + 1)}
        assert holds == {k for k, held in enumerate(expected) if held}
        assert found.of_cluster
        assert found.events == sum(expected) == sum(one.events for one in found.shown)
        assert [one.event for one in found.shown] == sorted(one.event for one in found.shown)


def test_with_the_field_of_a_member_the_stretches_are_those_of_members(server: Asked) -> None:
    where = 'leaders = 0 and action = "Restart"'
    found = server.get(api.RunFound, "/run/good/find", where=where, limit=1000)

    assert not found.of_cluster
    assert {one.action for one in found.shown} == {"Restart"}
    assert all(one.event == one.last_event for one in found.shown)


def test_members_stand_where_their_last_event_left_them(server: Asked) -> None:
    lanes = server.get(api.Lanes, "/run/good/lanes", count=1000)
    now: dict[int, tuple[str, str]] = {}
    for event in lanes.events[:200]:
        now[event.lane] = (str(event.election_state), event.reference)
        if event.number % 20 == 0:
            found = server.get(api.MembersAt, "/run/good/members", at=event.number)
            assert {
                one.member: (one.election_state, f"{one.member}:{one.step}")
                for one in found.members
                if one.step >= 0
            } == now


def test_the_timeline_says_the_same_as_the_lanes(server: Asked) -> None:
    timeline = server.get(api.RunTimeline, "/run/good/timeline")
    lanes = server.get(api.Lanes, "/run/good/lanes", count=1000)
    assert timeline.total == lanes.total == len(lanes.events)
    assert timeline.left_out == 0

    for member in timeline.members:
        assert member.segments[0].start == 0
        starts = {one.start: one.election_state for one in member.segments if not one.status}
        state = ""
        for event in lanes.events:
            expected = event.election_state if event.lane == member.id else state
            if event.number in starts:
                state = starts[event.number]
            assert state == expected
        restarts = [one.number for one in timeline.marks if one.kind == "RESTART"]
        own = [one.number for one in lanes.events if one.lane == member.id]
        for place, one in enumerate(member.segments):
            if one.status == "DOWN":
                assert own[bisect_left(own, one.start) - 1] == one.start - 1
                assert member.segments[place + 1].start in restarts
    marked = {one.number: one.mark for one in lanes.events if one.mark}
    assert {one.number: one.kind for one in timeline.marks} == marked


def test_the_levels_are_those_of_each_step(server: Asked) -> None:
    levels = server.get(api.RunTimeline, "/run/good/timeline").levels
    lanes = server.get(api.Lanes, "/run/good/lanes", count=1000)
    for one in levels:
        changes = dict(
            zip(one.numbers, zip(one.term, one.commit, one.end, strict=True), strict=True)
        )
        now: tuple[int, ...] = ()
        for event in lanes.events:
            if event.lane == one.member:
                step = event.reference.replace(":", "/")
                after = server.get(api.StepView, f"/run/good/step/{step}").after
                now = changes.get(event.number, now)
                expected = ("moduleLeadershipTermId", "commitPosition", "recordedPosition")
                assert now == tuple(after[name] for name in expected)


def test_a_step_is_reported_as_the_stream_has_it(server: Asked, good_run: Path) -> None:
    stream = events_of(good_run)[1]
    for place in (0, 1, 17, len(stream) - 1):
        step = server.get(api.StepView, f"/run/good/step/1/{place}")
        assert (step.member, step.step, step.action) == (1, place, stream[place]["action"])
        assert step.after == stream[place]["state"]
        if place:
            assert step.before == stream[place - 1]["state"]
            paths = {one.field.partition("[")[0] for one in step.changes}
            before, after = stream[place - 1]["state"], stream[place]["state"]
            assert isinstance(before, dict)
            assert isinstance(after, dict)
            assert paths == {name for name in after if after[name] != before[name]}


def test_a_clause_that_several_divergences_of_a_step_have_is_said_once(
    server: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled(server, "bad")
    checked: Checked = server.store.content("run", "bad").checked
    assert checked.verdict is not None
    first = checked.verdict.divergences[0]
    both = tuple(replace(first, text=f"{text}; see HZ1") for text in ("one", "two"))
    monkeypatch.setattr(checked, "verdict", replace(checked.verdict, divergences=both))

    step = server.get(api.StepView, f"/run/bad/step/{first.member}/{first.step}")

    assert step.divergence == "one; two; see HZ1"


def test_a_step_lies_in_the_graph_between_states_like_its_own(server: Asked) -> None:
    graph_id = server.ids[-1]
    # Until all edges are canonicalised, the page is asked to try again.
    first = server.get(api.StepView, "/run/good/step/0/0")
    assert first.graph is None or not first.graph_pending
    server.store.content("graph", graph_id).steps.classes.get()
    found = 0
    for place in range(0, 60, 3):
        step = server.get(api.StepView, f"/run/good/step/0/{place}")
        assert not step.graph_pending
        if step.graph is None:
            continue
        found += 1
        graph = f"/graph/{step.graph.id}"
        source = server.get(api.StateView, f"{graph}/state/{step.graph.source}", limit=1)
        target = server.get(api.StateView, f"{graph}/state/{step.graph.target}", limit=1)
        assert step.before is not None
        assert target.tree["electionState"] == step.after["electionState"]
        assert source.tree["electionState"] == step.before["electionState"]
        around = f"{graph}/around/{step.graph.source}"
        drawn = server.get(api.Around, around, depth=1, limit=1000)
        here = (step.graph.source, step.graph.target, step.action)
        taken = [one for one in drawn.edges if (one.source, one.target, one.action) == here]
        assert [(one.action, one.source, one.target) for one in taken] == [
            (step.action, step.graph.source, step.graph.target)
        ]

    assert found > 10


def test_a_step_that_the_spec_does_not_allow_is_not_in_the_graph(server: Asked) -> None:
    server.store.content("graph", server.ids[-1]).steps.classes.get()
    first = divergence(server).first
    step = server.get(api.StepView, f"/run/bad/step/{first.member}/{first.step}")

    assert (step.graph, step.graph_pending) == (None, False)


def test_a_run_that_is_no_trace_is_reported_in_one_line(tmp_path: Path, good_run: Path) -> None:
    folder = Path(shutil.copytree(good_run, tmp_path / "broken"))
    with (folder / "member-0.ndjson").open("a") as stream:
        stream.write('{"step": <b>}\n')
    with serving([folder]) as server:
        reply = server.ask("/run/broken")

        assert reply.status == 422
        assert reply.problem().code == "unreadable"
        assert "member-0.ndjson" in reply.problem().message
        assert "\n" not in reply.problem().message


def test_a_data_set_gives_its_runs(tmp_path: Path, good_run: Path, bad_run: Path) -> None:
    for number, run in enumerate((good_run, bad_run)):
        write_dataset(Corpus(run), tmp_path / "set" / f"part-{number}")
    with serving([tmp_path / "set" / "part-0", tmp_path / "set" / "part-1"]) as server:
        assert [one.title for one in server.get(api.Session, "/session").sources] == ["good", "bad"]
        assert settled(server, "good").verdict == "CONFORMS"
        bad = settled(server, "bad")
        assert bad.verdict == "DIVERGES"
        assert bad.divergence is not None
        assert (bad.divergence.first.name, bad.divergence.first.member) == ("Canvass", 1)


def test_a_run_of_a_data_set_has_the_verdict_of_the_command(tmp_path: Path, good_run: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(good_run, folder)
    header = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(header | {"hardening": ["HZ99"]}))
    write_dataset(Corpus(folder), tmp_path / "set")

    with serving([tmp_path / "set"]) as server:
        run = settled(server, "good")

    assert run.verdict == "MALFORMED"
    assert "HZ99" in run.note


def test_a_run_that_cannot_be_checked_is_shown_and_it_says_why(good_run: Path) -> None:
    def fails(*_: object) -> list[bool]:
        raise TlcError("there is no Java")

    with serving([good_run], lookup=StepLookup(oracle=fails, cache=None)) as server:
        run = settled(server, "good")

        assert (run.verdict, run.checking) == (None, False)
        assert run.note == "not checked: TlcError: there is no Java"
        assert server.get(api.Lanes, "/run/good/lanes").events


def test_a_divergence_is_explained_without_tlc(bad_run: Path, tmp_path: Path) -> None:
    def fails(*_: object) -> list[bool]:
        raise TlcError("there is no Java")

    check_units([bad_run], core_lookup(tmp_path))
    with serving([bad_run], lookup=StepLookup(fails, cache=tmp_path, digest="the core")) as server:
        run = settled(server, "bad")

        assert run.verdict == "DIVERGES"
        assert run.divergence is not None
        assert run.divergence.first.name == "Canvass"
        assert (run.divergence.note, len(run.divergence.expected)) == ("", 1)


def test_event_logs_of_a_cluster_are_imported_when_they_are_asked_for() -> None:
    with serving([SAMPLE]) as server:
        run = settled(server, "b-leader-killed")

        assert (run.run_id, run.verdict) == ("b-leader-killed", "CONFORMS")
        assert run.events > 4000
        assert len(server.get(api.RunTimeline, "/run/b-leader-killed/timeline").members) == 3


def test_logs_that_are_none_are_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "member-0.log").write_bytes(b"\x00<b>nothing\n" * 10)
    with serving([tmp_path]) as server:
        reply = server.ask(f"/run/{server.ids[0]}")

        assert reply.status == 422
        assert "\n" not in reply.problem().message


def test_what_happened_is_what_the_command_says_with_the_events(
    server: Asked, good_run: Path
) -> None:
    found = explain(read(good_run))

    reported = server.get(api.ExplanationView, "/run/good/explanation")

    for name in ("leaderships", "interruptions", "elections", "stuck", "risks", "missing"):
        assert getattr(reported, name) == getattr(found, name)
    opened = server.store.content("run", "good").opened
    for row in found.leaderships:
        last = row.evidence[-1]
        there = reported.places[str(last)]
        assert there.event is not None
        assert opened.loaded.step(opened.lanes.rows[there.event]).member == last.member_id
        assert there.place == f"{last.file}:{last.line}"
