"""Good runs conform, corrupted ones are rejected for the right reason, and nothing else matters."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.cluster.rules import Rules
from canvass.conformance import check
from canvass.conformance.findings import (
    CorpusVerdict,
    DivergenceClass,
    RunVerdict,
    Verdict,
    exit_code,
)
from canvass.conformance.report import notes, to_junit
from canvass.conformance.verify import check_run, check_units, make_lookup
from canvass.selftest.runs import record_run
from canvass.steps.answers import AnswersWarning
from canvass.traces import parquet
from canvass.traces.parquet import RUNS_KEY, write_dataset
from canvass.traces.run import Corpus
from support import corruptions
from support.checked_runs import check_corpus
from support.core_lookup import core_lookup
from support.corruptions import corrupted, read_streams
from support.examples import examples
from support.random_spoils import began_earlier, term_begins_nowhere, term_begins_unseen

STEP = DivergenceClass.IMPLEMENTATION_STEP
CAUSALITY = DivergenceClass.CAUSALITY
SAFETY = DivergenceClass.SAFETY_PROPERTY
GAP = DivergenceClass.INSTRUMENTATION_GAP


def limits(*runs: RunVerdict) -> list[str]:
    return [line for line in notes(CorpusVerdict(runs)) if line.startswith("Not a full check")]


LOOKUP = core_lookup()
"""Remembers its answers, for tests that check many variants of the same runs."""


def found_in(verdict: RunVerdict) -> set[tuple[DivergenceClass, str]]:
    return {(each.kind, each.name) for each in verdict.divergences}


def test_a_run_that_is_too_long_is_malformed_with_its_size_and_the_limit(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = min(corpus.iterdir())
    events = check_run(run, core_lookup()).events
    monkeypatch.setattr(check, "MAX_RUN_EVENTS", events - 1)
    found = check_run(run, core_lookup())

    said = f"{run}: TOO_LARGE: {events:,} events in the run {found.run_id}; a run"
    assert found.verdict is Verdict.MALFORMED
    assert found.reason == f"{said} that is checked has at most {events - 1:,}"


def test_check_good_runs_conform(corpus: Path) -> None:
    found = check_corpus([corpus], core_lookup())

    assert [run for run in found.runs if run.verdict is not Verdict.CONFORMS] == []
    assert len(found.runs) == 60
    assert found.counts.events == sum(run.events for run in found.runs) >= 60 * 250
    assert found.exit_code == 0


@pytest.mark.parametrize("revision", ["1.49", "1.50"])
def test_check_good_runs_of_each_revision_conform(revision: str, tmp_path: Path) -> None:
    for seed in range(8):
        record_run(tmp_path / f"run-{seed}", Rules.of(revision), seed, 400, faults=0.0)

    assert check_corpus([tmp_path], core_lookup()).exit_code == 0


def test_check_an_appointed_leader_is_distinguished_from_the_others(tmp_path: Path) -> None:
    rules = Rules.of("1.50", 3, appointed_leader_id=2)
    record_run(tmp_path / "run", rules, 4, 400, faults=0.0)

    assert check_run(tmp_path / "run", core_lookup()).verdict is Verdict.CONFORMS


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (corruptions.commit_too_far, (STEP, "ConsumeLog")),
        (corruptions.vote_without_disk, (STEP, "OnRequestVote")),
        (corruptions.untouched_field, (GAP, "UpdateFollowerPosition")),
        (corruptions.event_dropped_unseen, None),
        (corruptions.events_swapped, None),
        (corruptions.event_duplicated, (CAUSALITY, "MessageCausality")),
        (corruptions.send_removed, None),
        (corruptions.message_sent_twice, (CAUSALITY, "MessageCausality")),
        (corruptions.message_from_nowhere, (CAUSALITY, "MessageCausality")),
        (corruptions.message_forged, (CAUSALITY, "MessageCausality")),
        (corruptions.message_overtaken, (CAUSALITY, "MessageCausality")),
        (corruptions.checksum_forged, (CAUSALITY, "LogStream")),
        (corruptions.checksum_beyond, (CAUSALITY, "LogStream")),
        (corruptions.recorded_from_nowhere, (CAUSALITY, "LogStream")),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_check_rejects_a_corrupted_run(
    change: Callable[[corruptions.Streams], None],
    expected: tuple[DivergenceClass, str] | None,
    good_run: Path,
    tmp_path: Path,
) -> None:
    verdict = check_run(corrupted(good_run, tmp_path / "run", change), core_lookup())

    assert verdict.verdict is Verdict.DIVERGES
    if expected is not None:
        assert expected in found_in(verdict)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (
            {"role": "LEADER"},
            "by the spec this step leads to role CANDIDATE; the trace reports role LEADER",
        ),
        (
            {"electionState": "INIT", "candidateTermId": 7},
            (
                "by the spec this step leads to electionState CANDIDATE_BALLOT"
                " and candidateTermId 0; the trace reports electionState INIT and candidateTermId 7"
            ),
        ),
        (
            {"moduleNotifiedCommitPosition": 32},
            (
                "this step cannot change moduleNotifiedCommitPosition; the trace reports a change;"
                " the rest of the step is allowed, so that a step before it is not recorded"
            ),
        ),
    ],
)
def test_check_says_what_the_spec_leads_to_and_what_was_reported(
    changed: dict[str, object], text: str, good_run: Path, tmp_path: Path
) -> None:
    def spoil(streams: corruptions.Streams) -> None:
        _, _, line = next(corruptions.events(streams, "Nominate"))
        line["state"].update(changed)

    bad = corrupted(good_run, tmp_path / "bad", spoil)
    first, *_ = check_run(bad, LOOKUP).divergences
    assert (first.name, first.text) == ("Nominate", text)


def test_check_says_where_a_message_was_sent_first(good_run: Path, tmp_path: Path) -> None:
    def spoil(streams: corruptions.Streams) -> None:
        sending = [line for line in streams[1] if line["sends"]]
        for line in sending[3:5]:
            line["sends"][-1]["id"] = sending[2]["sends"][-1]["id"]
        places[:] = [line["step"] for line in sending[2:4]]

    places: list[int] = []
    found = check_run(corrupted(good_run, tmp_path / "bad", spoil), LOOKUP).divergences
    (twice,) = (each for each in found if each.name == "MessageCausality")
    first, second = places
    identity = read_streams(tmp_path / "bad")[1][first]["sends"][-1]["id"]
    assert (twice.member, twice.step) == (1, second)
    text = f"message {identity} is sent a second time; step {first} of member 1 sent it"
    assert twice.text == text


def test_check_says_in_which_state_a_step_is_not_enabled(good_run: Path, tmp_path: Path) -> None:
    def spoil(streams: corruptions.Streams) -> None:
        _, _, line = next(corruptions.events(streams, "Nominate"))
        line["state"]["electionState"] = "INIT"

    found = check_run(corrupted(good_run, tmp_path / "bad", spoil), LOOKUP).divergences
    assert (
        "CandidateBallot",
        (
            "by the spec this step is not enabled in the state before it"
            " (electionState INIT, role CANDIDATE)"
        ),
    ) in {(each.name, each.text) for each in found}


@pytest.mark.parametrize("spoil", [term_begins_nowhere, term_begins_unseen])
def test_check_terms_begin_where_the_log_says(
    spoil: Callable[[corruptions.Streams, random.Random], None], good_run: Path, tmp_path: Path
) -> None:
    """The step alone is allowed: only the log tells that it consumes something else."""
    rng = random.Random(1)
    folder = corrupted(good_run, tmp_path / "run", lambda streams: spoil(streams, rng))

    verdict = check_run(folder, core_lookup())

    assert verdict.verdict is Verdict.DIVERGES
    assert found_in(verdict) == {(CAUSALITY, "LogStream")}


def test_check_a_missing_event_leaves_the_run_incomplete(good_run: Path, tmp_path: Path) -> None:
    folder = corrupted(good_run, tmp_path / "run", corruptions.event_dropped)

    verdict = check_run(folder, core_lookup())

    assert verdict.verdict is Verdict.INCOMPLETE
    assert verdict.unchecked == 1
    assert [fact.kind.value for fact in verdict.facts] == ["GAP"]


def test_check_a_run_that_began_before_its_recording_is_incomplete(
    good_run: Path, tmp_path: Path
) -> None:
    """Nothing is missing of it but what was before its first events."""
    earlier = partial(began_earlier, rng=random.Random(0))
    folder = corrupted(good_run, tmp_path / "run", earlier)
    header = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(header | {"initial": "unknown"}))

    verdict = check_run(folder, core_lookup())

    assert (verdict.verdict, verdict.facts) == (Verdict.INCOMPLETE, ())
    assert verdict.unchecked == len(read_streams(folder))


def test_check_names_the_properties_that_are_not_asked(good_run: Path, tmp_path: Path) -> None:
    """Nothing but the header differs: what was on disk before the first step is not known."""
    folder = tmp_path / "run"
    shutil.copytree(good_run, folder)
    header = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(header | {"initial": "unknown"}))

    def drop(streams: corruptions.Streams) -> None:
        del streams[0][40]

    cut = corrupted(good_run, tmp_path / "cut", drop)

    whole, unknown, incomplete = (check_run(run, LOOKUP) for run in (good_run, folder, cut))

    of_logs = ("LogMatching", "LeaderCompleteness", "CommittedIsDurable", "StateMachineSafety")
    assert (whole.not_checked, whole.checked_in_part) == ((), ())
    assert unknown.verdict is Verdict.CONFORMS
    assert (unknown.not_checked, unknown.checked_in_part) == (("AppliedWithinCommitted",), of_logs)
    assert incomplete.verdict is Verdict.INCOMPLETE
    assert set(incomplete.not_checked + incomplete.checked_in_part) == {
        "AppliedWithinCommitted",
        *of_logs,
    }
    assert set(incomplete.checked_in_part) == {"LogMatching", "StateMachineSafety"}
    assert limits(whole) == []
    assert limits(unknown, whole) == [
        (
            "Not a full check of 1 of 2 runs; not checked: AppliedWithinCommitted;"
            f" checked only on the known parts of the logs: {', '.join(of_logs)}"
        )
    ]


def test_check_names_the_property_that_a_run_of_revision_1_49_is_not_asked(tmp_path: Path) -> None:
    """Its members replay what they have recorded, committed or not."""
    record_run(tmp_path / "run", Rules.of("1.49"), 0, 200, faults=0.0)

    verdict = check_run(tmp_path / "run", core_lookup())

    assert verdict.verdict is Verdict.CONFORMS
    assert (verdict.not_checked, verdict.checked_in_part) == (("AppliedWithinCommitted",), ())
    assert limits(verdict) == ["Not a full check of the run; not checked: AppliedWithinCommitted"]


def test_check_a_missing_stream_leaves_the_run_incomplete(good_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(good_run, folder)
    (folder / "member-1.ndjson").unlink()

    assert check_run(folder, core_lookup()).verdict is Verdict.INCOMPLETE


@given(st.data())
@examples(25)
def test_check_streams_cut_anywhere_are_incomplete_and_nothing_else(
    good_run: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("cut") / "run"
    shutil.copytree(good_run, folder)
    for path in sorted(folder.glob("member-*")):
        raw = path.read_bytes()
        path.write_bytes(raw[: data.draw(st.integers(len(raw) // 3, len(raw) - 2))])

    verdict = check_run(folder, LOOKUP)

    assert verdict.verdict is Verdict.INCOMPLETE


@given(st.integers(0, 2**32 - 1))
@examples(25)
def test_check_whatever_steps_are_missing_the_rest_is_not_blamed(
    corpus: Path, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    rng = random.Random(seed)

    def drop(streams: corruptions.Streams) -> None:
        for lines in streams.values():
            for _ in range(rng.choice((0, 1, 5))):
                at = rng.randrange(len(lines) // 2)
                del lines[at : at + rng.choice((1, 3, 10))]

    good = corpus / f"run-{rng.randrange(60):02}"
    folder = tmp_path_factory.mktemp("gaps") / "run"

    verdict = check_run(corrupted(good, folder, drop), LOOKUP)

    assert verdict.verdict in (Verdict.INCOMPLETE, Verdict.CONFORMS)


def test_check_a_run_without_events_is_malformed(good_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    shutil.copy(good_run / "run.json", folder)

    verdict = check_run(folder, core_lookup())

    assert verdict.verdict is Verdict.MALFORMED


def test_check_a_malformed_run_stops_nothing(good_run: Path, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        shutil.copytree(good_run, tmp_path / name)
        header = json.loads((tmp_path / name / "run.json").read_text())
        (tmp_path / name / "run.json").write_text(json.dumps(header | {"runId": name}))
    stream = tmp_path / "b" / "member-2.ndjson"
    stream.write_bytes(stream.read_bytes() + b'{"step": 1}\n')

    found = check_corpus([tmp_path], core_lookup())

    verdicts = [run.verdict for run in found.runs]
    assert verdicts == [Verdict.CONFORMS, Verdict.MALFORMED, Verdict.CONFORMS]
    assert "member-2.ndjson:" in found.runs[1].reason
    assert found.exit_code == 2


@pytest.mark.parametrize(
    ("is_there", "verdict"), [(False, Verdict.MALFORMED), (True, Verdict.CONFORMS)]
)
def test_check_a_run_that_changes_while_tlc_is_asked_is_checked_as_it_is_then(
    is_there: bool, verdict: Verdict, good_run: Path, tmp_path: Path
) -> None:
    """And it is malformed if it cannot be read any more."""

    def spoil(streams: corruptions.Streams) -> None:
        _, _, line = next(corruptions.events(streams, "Nominate"))
        line["state"]["electionState"] = "INIT"

    folder = corrupted(good_run, tmp_path / "run", spoil)

    def change(_: int) -> None:
        if folder.exists():
            shutil.rmtree(folder)
        if is_there:
            shutil.copytree(good_run, folder)

    found = check_units([folder], core_lookup(), asking=change)

    assert found.runs[0].verdict is verdict
    assert bool(found.runs[0].reason) is not is_there
    ElementTree.fromstring(to_junit(found))


def test_check_an_unknown_hardening_is_malformed(good_run: Path, tmp_path: Path) -> None:
    shutil.copytree(good_run, tmp_path / "run")
    header = json.loads((tmp_path / "run" / "run.json").read_text())
    (tmp_path / "run" / "run.json").write_text(json.dumps(header | {"hardening": ["HZ99"]}))

    verdict = check_run(tmp_path / "run", core_lookup())

    assert verdict.verdict is Verdict.MALFORMED
    assert "HZ99" in verdict.reason


def test_check_an_unknown_hardening_in_a_data_set_stops_no_other_run(
    good_run: Path, tmp_path: Path
) -> None:
    for name, hardening in (("bad", ["HZ99"]), ("good", [])):
        shutil.copytree(good_run, tmp_path / "runs" / name)
        header = json.loads((good_run / "run.json").read_text())
        header |= {"runId": name, "hardening": hardening}
        (tmp_path / "runs" / name / "run.json").write_text(json.dumps(header))
    write_dataset(Corpus(tmp_path / "runs"), tmp_path / "data")

    found = check_corpus([tmp_path / "data"], core_lookup())

    verdicts = {run.run_id: run.verdict for run in found.runs}
    assert verdicts == {"bad": Verdict.MALFORMED, "good": Verdict.CONFORMS}


def test_check_a_run_of_a_data_set_alone_has_the_verdict_that_it_has_among_others(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches end within runs, and hold the end of one run and the beginning of the next."""
    monkeypatch.setattr(parquet, "EVENTS_PER_ROW_GROUP", 170)

    def drop(streams: corruptions.Streams) -> None:
        del streams[0][40]

    def change(streams: corruptions.Streams) -> None:
        streams[0][-1]["state"]["snapshotLogPosition"] += 32

    spoils: dict[int, Callable[[corruptions.Streams], None]] = {2: drop, 8: change}
    for seed in (2, 3, 8, 9):
        folder = tmp_path / "runs" / f"run-{seed}"
        corrupted(corpus / f"run-{seed:02}", folder, spoils.get(seed, lambda _: None))
        header = json.loads((folder / "run.json").read_text()) | {"runId": folder.name}
        (folder / "run.json").write_text(json.dumps(header))
    write_dataset(Corpus(tmp_path / "runs"), tmp_path / "data", events_per_row_group=170)

    together = check_corpus([tmp_path / "data"], LOOKUP).runs

    alone = [check_run(Path(run.path), LOOKUP, run.run_id) for run in together]
    assert alone == list(together)
    assert [run.verdict.value for run in alone] == [
        *("INCOMPLETE", "CONFORMS", "DIVERGES", "CONFORMS"),
    ]


@pytest.mark.parametrize(
    "names", [["c", "b", "a"], ["b", "a", "c"], ["x", "a", "c", "b", "a", "y"]]
)
def test_check_the_order_of_a_dictionary_of_runs_does_not_matter(
    names: list[str], good_run: Path, tmp_path: Path
) -> None:
    """The dictionary may also name runs without a row, and one run twice."""
    for name in "abc":
        folder = tmp_path / "runs" / name
        spoil = corruptions.untouched_field if name == "a" else lambda _: None
        header = json.loads((corrupted(good_run, folder, spoil) / "run.json").read_text())
        (folder / "run.json").write_text(json.dumps(header | {"runId": name}))
    write_dataset(Corpus(tmp_path / "runs"), tmp_path / "data")
    (path,) = (tmp_path / "data").iterdir()
    table, metadata = pq.read_table(path), pq.read_metadata(path).metadata
    codes = pa.array([names.index(name) for name in table["run"].to_pylist()], pa.int32())
    runs = pa.DictionaryArray.from_arrays(codes, pa.array(names))
    with pq.ParquetWriter(path, table.schema) as file:
        file.write_table(table.set_column(0, table.schema.field(0), runs))
        file.add_key_value_metadata({RUNS_KEY: metadata[RUNS_KEY]})

    found = check_corpus([path], LOOKUP)

    verdicts = {run.run_id: (run.verdict.value, run.events) for run in found.runs}
    assert verdicts == {"a": ("DIVERGES", 600), "b": ("CONFORMS", 600), "c": ("CONFORMS", 600)}


def test_exit_code_nothing_checked_is_no_pass() -> None:
    assert exit_code([]) == 2
    assert exit_code([Verdict.CONFORMS, Verdict.INCOMPLETE]) == 3
    assert exit_code([Verdict.DIVERGES, Verdict.INCOMPLETE]) == 1
    assert exit_code([Verdict.DIVERGES, Verdict.MALFORMED]) == 1
    assert exit_code([Verdict.INCOMPLETE, Verdict.MALFORMED]) == 2


def test_check_answers_are_kept(good_run: Path, tmp_path: Path) -> None:
    first = check_corpus([good_run], core_lookup(tmp_path))
    second = check_corpus([good_run], core_lookup(tmp_path))

    assert first.counts.asked_of_oracle == first.counts.distinct_steps > 0
    assert second.counts.asked_of_oracle == 0
    assert second.counts.found_in_cache == first.counts.distinct_steps
    assert second.runs == first.runs


def test_check_an_unwritable_cache_costs_no_verdict(good_run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.warns(AnswersWarning, match="TLC's answers are not kept"):
        found = check_corpus([good_run], core_lookup(tmp_path / "file"))

    assert found.exit_code == 0


def test_check_without_a_home_there_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 1 << 30)

    with pytest.warns(AnswersWarning, match="no cache"):
        assert make_lookup([], None).cache is None
