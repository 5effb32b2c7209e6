"""Summaries, their exit codes, and the page made of them."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from canvass.cluster.rules import Rules
from canvass.conformance.findings import (
    Divergence,
    DivergenceClass,
    RunVerdict,
    Verdict,
    reason_text,
)
from canvass.corpus.plan import EarlierUnit
from canvass.corpus.report import (
    BadSummary,
    Listed,
    empty_summary,
    exit_code,
    name_of,
    new_clusters,
    read_summary,
    to_html,
    to_text,
    totals,
)
from canvass.selftest.runs import record_run
from support.summaries import cluster, summary

KEPT = Path(__file__).parent / "reports"
HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m\u202e"


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
    known = {cluster().identity}
    two = [cluster(count=9), cluster("Canvass")]
    for verdicts, clusters, code in (
        ({"DIVERGES": 1, "CONFORMS": 1}, [cluster(count=9)], 0),
        ({"DIVERGES": 1, "CONFORMS": 1}, two, 1),
        ({"DIVERGES": 1, "MALFORMED": 1}, [cluster()], 2),
        ({"DIVERGES": 2}, [cluster()], 0),
        ({"DIVERGES": 2, "INCOMPLETE": 1}, [cluster()], 3),
    ):
        assert exit_code(summary(verdicts, clusters=clusters), known) == code
    assert [one.name for one in new_clusters(summary(clusters=two), known)] == ["Canvass"]


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
    """The text of a page as a browser would show it, with what colours the headline."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        self.text += "".join(f"[{value}] " for _, value in attrs if value in ("good", "bad"))

    def handle_endtag(self, tag: str) -> None:
        self.text += {"tr": "\n", "p": "\n", "td": " ", "th": " ", "dt": " "}.get(tag, "")

    def handle_data(self, data: str) -> None:
        self.text += "" if self.tags[-1:] == ["style"] else data


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
            listed=[listed],
            revisions={HOSTILE: 1},
            coverage={HOSTILE: 1},
            never_taken=[HOSTILE],
        )
    )
    seen = Seen(page)

    assert "script" not in seen.tags
    assert seen.links == []
    assert seen.text.count("<script>alert(1)</script>\"'&\\x1b[31m\\u202e") == 11
    assert "default-src 'none'" in page


def test_a_divergence_of_a_line_is_named_without_a_step() -> None:
    """The import of a log ended at the line, so the divergence has no step."""
    wrong = Divergence(DivergenceClass.IMPLEMENTATION_STEP, "AeronLog", 1, -1, "differs")
    run = RunVerdict("run", "run", Verdict.DIVERGES, divergences=(wrong,))

    assert reason_text(run) == "member 1: AeronLog: differs"


def test_runs_are_links_if_they_are_there(tmp_path: Path) -> None:
    rows = []
    for name in ("run-2", "run-10", "gone"):
        place = tmp_path / "corpus" / name
        if name != "gone":
            record_run(place, Rules.of("1.50"), 0, 30, faults=0.0, run_id=name)
        rows.append(Listed(str(place), name, "DIVERGES", 30, "why"))
    one = cluster(example_source=rows[0].source)
    found = summary({"DIVERGES": 3}, clusters=[one], listed=rows)

    page = to_html(found, folder=tmp_path / "report")

    seen = Seen(page)
    assert seen.links == ["../corpus/run-2", "../corpus/run-10"]
    assert f"canvass browse {rows[0].source}" in seen.text


MANY = {"DIVERGES": 21, "INCOMPLETE": 2, "MALFORMED": 23}
LINE = cluster("AeronLog", example_step=-1, example_reason="member-1.log:7: differs")
BEFORE: dict[str, Any] = {
    "earlier": {"CONFORMS": 30, "DIVERGES": 42, "INCOMPLETE": 0, "MALFORMED": 0},
    "earlier_listed": [
        EarlierUnit(f"corpus/old-{at}", {"CONFORMS": 1, "DIVERGES": 2}) for at in range(21)
    ],
    "earlier_listed_count": 21,
}
INCOMPLETE = {"earlier": {"CONFORMS": 30, "DIVERGES": 0, "INCOMPLETE": 1, "MALFORMED": 0}}
REPORTS = {
    "conforms": summary(),
    "in-part": summary(checked_in_part=1),
    "not-all-whole": summary({"INCOMPLETE": 1, "CONFORMS": 1}),
    "nothing-checked": summary({}, events=0),
    "line-without-a-step": summary({"DIVERGES": 1}, clusters=[LINE, cluster()]),
    "many-of-each-verdict": summary(
        MANY,
        clusters=[cluster()],
        listed=[
            Listed(f"corpus/{name}-{at}", None, name, 0, "why")
            for name, count in MANY.items()
            for at in range(count)
        ],
    ),
    "revisions": summary(revisions={f"Aeron 1.52.{i}": i + 1 for i in range(25)}),
    "new-and-left-out": summary(
        {"DIVERGES": 5}, clusters=[cluster(), cluster("Canvass")], cluster_count=7, divergences=9
    ),
    "unchanged-diverge": summary(**BEFORE),
    "unchanged-incomplete": summary(**INCOMPLETE),
    "unchanged-conform": summary(earlier={"CONFORMS": 30, "DIVERGES": 0}),
    "nothing-is-new": msgspec.structs.replace(empty_summary(["corpus"]), version="1", **BEFORE),
}
"""Summaries whose reports are kept; of the kinds of divergence only `Canvass` is new."""


@pytest.mark.parametrize("name", REPORTS)
def test_the_report_is_the_one_that_is_kept(
    name: str, rewrite: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the text of the command, and the text of the page."""
    monkeypatch.chdir(tmp_path)
    one = REPORTS[name]
    fresh = [each for each in one.clusters if each.name == "Canvass"] or None
    lines = (" ".join(line.split()) for line in Seen(to_html(one, fresh)).text.splitlines())
    made = "\n".join([to_text(one, fresh), "---- page ----", *filter(None, lines), ""])
    made = made.replace(f"{tmp_path}/", "")
    file = KEPT / f"{name}.txt"
    if rewrite:
        file.write_text(made)

    assert made == file.read_text()
