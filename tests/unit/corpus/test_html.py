"""Summaries, their exit codes, and the page made of them."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from canvass.cluster.rules import Rules
from canvass.conformance.findings import reason_text
from canvass.conformance.verdict import Divergence, DivergenceClass, RunVerdict, Verdict
from canvass.corpus.report import to_html, to_text
from canvass.corpus.summary import (
    BadSummary,
    DivergenceClassSummary,
    EarlierUnit,
    Listed,
    Summary,
    empty_summary,
    exit_code,
    name_of,
    new_clusters,
    read_summary,
    totals,
)
from canvass.selftest.runs import record_run

HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m\u202e"


def cluster(name: str = "OnVote", **fields: Any) -> DivergenceClassSummary:
    given: dict[str, Any] = {
        "divergence_class": "STEP",
        "name": name,
        "count": 3,
        "runs": 2,
        "example_run_id": "run-1",
        "example_source": "corpus/run-1",
        "example_member_id": 1,
        "example_step": 17,
        "example_reason": "differs",
    }
    return DivergenceClassSummary(**(given | fields))


def summary(verdicts: dict[str, int] | None = None, **fields: Any) -> Summary:
    every = dict.fromkeys(("CONFORMS", "DIVERGES", "INCOMPLETE", "MALFORMED"), 0)
    counted = every | ({"CONFORMS": 2} if verdicts is None else verdicts)
    given: dict[str, Any] = {
        "version": "1",
        "corpora": ["corpus"],
        "runs": sum(counted.values()),
        "events": 100,
        "verdicts": counted,
        "divergences": 0,
        "clusters": [],
        "cluster_count": 0,
        "listed": [],
        "listed_count": 0,
        "coverage": {"OnVote": 100},
        "never_taken": ["Canvass"],
        "asked_steps": 5,
        "seconds": 2.0,
        "events_per_second": 50.0,
    }
    return Summary(**(given | fields))


@pytest.mark.parametrize(
    ("verdicts", "events", "expected"),
    [
        ({"CONFORMS": 2}, 10, 0),
        ({"CONFORMS": 2, "DIVERGES": 1, "INCOMPLETE": 1}, 10, 1),
        ({"CONFORMS": 2, "DIVERGES": 1, "MALFORMED": 1}, 10, 1),
        ({"CONFORMS": 2, "MALFORMED": 1, "INCOMPLETE": 1}, 10, 2),
        ({"CONFORMS": 2, "INCOMPLETE": 1}, 10, 3),
        ({"CONFORMS": 2}, 0, 2),
        ({"INCOMPLETE": 2}, 0, 2),
        ({}, 0, 2),
    ],
)
def test_the_worst_verdict_is_the_exit_code(
    verdicts: dict[str, int], events: int, expected: int
) -> None:
    clusters = [cluster()] if "DIVERGES" in verdicts else []

    assert expected == exit_code(summary(verdicts, events=events, clusters=clusters))


def test_a_baseline_accepts_what_it_has_and_nothing_else() -> None:
    wrong = {"DIVERGES": 1, "CONFORMS": 1}
    old = summary(wrong, clusters=[cluster("OnVote")])
    more = summary(wrong, clusters=[cluster("OnVote", count=9), cluster("Canvass")])

    known = {one.identity for one in old.clusters}
    assert exit_code(old, known) == 0
    assert exit_code(more, known) == 1
    assert [one.name for one in new_clusters(more, known)] == ["Canvass"]


def test_a_baseline_accepts_no_missing_or_malformed_run() -> None:
    wrong = summary({"DIVERGES": 1, "MALFORMED": 1}, clusters=[cluster()])

    assert exit_code(wrong, {one.identity for one in wrong.clusters}) == 2


def test_a_baseline_with_every_divergence_leaves_the_exit_code_to_the_other_runs() -> None:
    known = {cluster().identity}

    assert exit_code(summary({"DIVERGES": 2}, clusters=[cluster()]), known) == 0
    assert exit_code(summary({"DIVERGES": 2, "INCOMPLETE": 1}, clusters=[cluster()]), known) == 3


def test_a_run_is_named_by_its_source_and_in_a_data_set_by_its_id_too() -> None:
    assert name_of("corpus/run-1", "run-1") == "corpus/run-1"
    assert name_of("set/part.parquet", "run-1") == "set/part.parquet run-1"
    assert name_of("set/part.parquet", None) == "set/part.parquet"


def test_the_line_of_a_run_names_the_run_once() -> None:
    incomplete = Listed("corpus/run-1", "run-1", "INCOMPLETE", 9, "lines are missing")
    malformed = Listed("corpus/x", None, "MALFORMED", 0, "corpus/x: no run")

    assert incomplete.line == "INCOMPLETE corpus/run-1: lines are missing"
    assert malformed.line == "MALFORMED corpus/x: no run"


def test_totals_name_the_verdicts_that_runs_have() -> None:
    given = summary({"CONFORMS": 2_000, "INCOMPLETE": 1}, events=5_000)

    assert totals(given) == "2,001 runs, 5,000 events: 2,000 CONFORMS, 1 INCOMPLETE"


def test_the_summary_of_no_unit_has_no_number_but_zero() -> None:
    empty = empty_summary(["corpus"])

    numbers = [value for value in msgspec.structs.astuple(empty) if isinstance(value, int | float)]
    assert set(numbers) == {0}
    assert totals(empty) == "0 runs, 0 events: none"


def test_a_summary_is_read_back(tmp_path: Path) -> None:
    written = summary({"DIVERGES": 1}, clusters=[cluster()])
    (tmp_path / "summary.json").write_bytes(msgspec.json.encode(written))

    assert read_summary(tmp_path) == written
    assert read_summary(tmp_path / "summary.json") == written


def test_verdicts_from_earlier_verifications_decide_the_exit_code_too() -> None:
    """A command that is repeated after it was killed ends as it would have ended."""
    found = empty_summary(["corpus"])
    assert exit_code(found) == 2
    earlier = {"CONFORMS": 3, "DIVERGES": 1, "INCOMPLETE": 0, "MALFORMED": 0}

    assert exit_code(msgspec.structs.replace(found, earlier=earlier)) == 1
    assert exit_code(msgspec.structs.replace(found, earlier=earlier), known=set()) == 0
    assert exit_code(msgspec.structs.replace(found, earlier=earlier | {"DIVERGES": 0})) == 0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "No such file"),
        (b"", "truncated"),
        (b"hello", "invalid character"),
        (b"{}", "missing required field"),
        (b'{"version":"caf\xe9"}', "can't decode byte 0xe9 in position 15"),
        (b'{"of later":' + b"[" * 100_000, "recursion"),
        (b'{"version":"1","corpora":[]}', "missing required field `verdicts`"),
        (b'{"schema":"canvass.batch/2"}', "Invalid enum value 'canvass.batch/2'"),
    ],
    ids=lambda cell: cell[:20] if isinstance(cell, bytes) else "",
)
def test_what_is_no_summary_is_no_baseline(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    if content is not None:
        (tmp_path / "summary.json").write_bytes(content)

    with pytest.raises(BadSummary, match=rf"summary\.json: .*{reason}") as raised:
        read_summary(tmp_path)
    assert "\n" not in str(raised.value)


def test_a_folder_where_a_summary_should_be_is_no_baseline(tmp_path: Path) -> None:
    (tmp_path / "summary.json").mkdir()

    with pytest.raises(BadSummary, match=r"summary\.json: Is a directory"):
        read_summary(tmp_path)


class Seen(HTMLParser):
    """The text of a page as a browser would show it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_nothing_of_a_corpus_becomes_markup() -> None:
    listed = Listed(HOSTILE, HOSTILE, "MALFORMED", 0, HOSTILE)
    hostile = cluster(
        HOSTILE,
        divergence_class=HOSTILE,
        example_run_id=HOSTILE,
        example_source=HOSTILE,
        example_reason=HOSTILE,
    )
    page = to_html(
        summary(
            {"DIVERGES": 1, "MALFORMED": 1},
            corpora=[HOSTILE],
            clusters=[hostile],
            cluster_count=1,
            listed=[listed],
            listed_count=1,
            coverage={HOSTILE: 1},
            never_taken=[HOSTILE],
        )
    )
    seen = Seen(page)

    assert "script" not in seen.tags
    assert seen.links == []
    assert seen.text.count("<script>alert(1)</script>\"'&\\x1b[31m\\u202e") == 10
    assert "default-src 'none'" in page


def test_a_line_that_no_step_prints_is_named_without_a_step() -> None:
    """The import of a log ended at the line, so the divergence has no step."""
    line = cluster("AeronLog", example_step=-1, example_reason="member-1.log:7: differs")
    one = summary({"DIVERGES": 1}, clusters=[line, cluster()], cluster_count=2)
    shown = to_text(one)
    seen = Seen(to_html(one)).text
    wrong = Divergence(DivergenceClass.IMPLEMENTATION_STEP, "AeronLog", 1, -1, "differs")

    assert "such as corpus/run-1 member 1: member-1.log:7: differs" in shown
    assert "such as corpus/run-1 member 1 step 17: differs" in shown
    assert "run-1, member 1, step 17" in seen
    assert "-1" not in shown.replace("run-1", "").replace("member-1", "")
    assert "step -1" not in seen
    assert (
        reason_text(RunVerdict("run", "run", Verdict.DIVERGES, divergences=(wrong,)))
        == "member 1: AeronLog: differs"
    )


def test_malformed_and_incomplete_runs_are_named_beside_many_that_diverge() -> None:
    verdicts = {"DIVERGES": 21, "INCOMPLETE": 2, "MALFORMED": 23}
    rows = [
        Listed(f"corpus/{name}-{at}", None, name, 0, "why")
        for name, count in verdicts.items()
        for at in range(count)
    ]
    one = summary(verdicts, clusters=[cluster()], cluster_count=1, listed=rows, listed_count=46)

    shown = to_text(one)

    assert "INCOMPLETE corpus/INCOMPLETE-1: why" in shown
    assert "MALFORMED corpus/MALFORMED-19: why\n  and 3 more MALFORMED" in shown
    assert "MALFORMED-20" not in shown
    assert "more INCOMPLETE" not in shown


def test_runs_are_links_if_they_are_there(tmp_path: Path) -> None:
    rows = []
    for name in ("run-2", "run-10", "gone"):
        place = tmp_path / "corpus" / name
        if name != "gone":
            record_run(place, Rules.of("1.50"), 0, 30, faults=0.0, run_id=name)
        rows.append(Listed(str(place), name, "DIVERGES", 30, "why"))
    one = cluster(example_source=rows[0].source)
    found = summary({"DIVERGES": 3}, clusters=[one], cluster_count=1, listed=rows, listed_count=3)

    page = to_html(found, folder=tmp_path / "report")

    seen = Seen(page)
    assert seen.links == ["../corpus/run-2", "../corpus/run-10"]
    assert f"canvass browse {rows[0].source}" in seen.text


def test_the_page_says_how_many_runs_were_not_checked_in_full() -> None:
    note = "not a full check of 1 run that conforms: see the reasons in the table verdicts"

    assert note in to_html(summary(checked_in_part=1))
    assert "full check" not in to_html(summary())


def test_the_page_names_the_revisions_and_the_releases() -> None:
    page = to_html(summary(revisions={"Aeron 1.52.2 (member 0); revision 1.50": 3, HOSTILE: 1}))

    assert "3 runs: Aeron 1.52.2 (member 0); revision 1.50" in page
    assert "script" not in Seen(page).tags
    many = to_html(summary(revisions={f"Aeron 1.52.{i}": 1 for i in range(25)}))
    assert many.count("1 run: Aeron") == 20
    assert "and 5 more: see the table verdicts" in many


def test_the_page_says_what_was_left_out_and_what_is_new() -> None:
    old, fresh = cluster("OnVote"), cluster("Canvass")
    page = to_html(
        summary({"DIVERGES": 5}, clusters=[old, fresh], cluster_count=7, divergences=9), [fresh]
    )

    assert "The first 2 of 7" in page
    assert page.index("known") < page.index(">new<")
    assert "5 runs diverge" in page


def test_unchanged_runs_that_do_not_conform_are_named_and_the_headline_is_not_green() -> None:
    units = [EarlierUnit(f"corpus/old-{at}", {"CONFORMS": 1, "DIVERGES": 2}) for at in range(21)]
    earlier = {"CONFORMS": 30, "DIVERGES": 42, "INCOMPLETE": 0, "MALFORMED": 0}
    fields: dict[str, Any] = {
        "earlier": earlier,
        "earlier_listed": units,
        "earlier_listed_count": 21,
    }
    one = summary(**fields)
    page = to_html(one)
    shown = to_text(one)

    assert 'class="good"' not in page
    assert '2 runs conform; <span class="bad">42 unchanged runs diverge</span>' in page
    assert "30 CONFORMS, 42 DIVERGES" in page
    assert "corpus/old-20" in page
    assert "  corpus/old-19: 1 CONFORMS, 2 DIVERGES\n  and 1 more unit with runs" in shown
    assert "old-20" not in shown
    none = to_html(msgspec.structs.replace(empty_summary(["corpus"]), **fields))
    assert "No unit is new or changed; " in none
    assert "42 unchanged runs diverge" in none
    earlier |= {"DIVERGES": 0, "INCOMPLETE": 1}
    assert "2 runs conform; not all of 31 unchanged runs are whole" in to_html(one)
    earlier |= {"INCOMPLETE": 0}
    assert 'class="good">All 2 runs conform<' in to_html(one)


@pytest.mark.parametrize(
    ("given", "headline"),
    [
        (summary(), "All 2 runs conform"),
        (summary({"INCOMPLETE": 1, "CONFORMS": 1}), "not all of 2 are whole"),
        (summary({}, events=0), "Nothing was checked"),
    ],
)
def test_the_headline_never_says_more_than_was_found(given: Summary, headline: str) -> None:
    assert headline in to_html(given)
