"""The page of a verification: what it says, and that nothing from a trace becomes markup."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from canvass.conformance.diagnose import Difference, Operator
from canvass.conformance.findings import CorpusVerdict, Divergence, RunVerdict, Verdict
from canvass.conformance.report import Case, Location, make_case, make_cases, to_html
from canvass.conformance.verify import check_units
from canvass.lanes.diagram import Diagram, LaneEvent
from support import corruptions
from support.core_lookup import core_lookup
from support.corruptions import corrupted

_TAGS = """
html head meta title style body h1 h2 h3 p br span code pre table tr th td div section details
summary a
"""
TAGS = set(_TAGS.split())
_ATTRIBUTES = """
lang charset http-equiv content name class id href data-head
"""
ATTRIBUTES = set(_ATTRIBUTES.split())
HOSTILE = (
    "<script>alert(1)</script><!-- ",
    "\"'><img src=x onerror=alert(1)>",
    "</style></title></svg><iframe>",
    "\x00\x1b[31m\u202e\ud800\uffff\x7f",
    "x" * 3_000,
)


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.policy = ""
        self.words: list[str] = []
        self.links: list[str] = []
        self.style = ""
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        values = dict(attrs)
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"] or ""
        self.links += [value or "" for name, value in attrs if name == "href"]
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "style":
            self.style += data
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def bad(good_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corrupted(good_run, tmp_path_factory.mktemp("bad") / "run", corruptions.commit_too_far)


@pytest.fixture(scope="module")
def found(good_run: Path, bad: Path) -> CorpusVerdict:
    return check_units([good_run, bad], core_lookup())


@pytest.fixture(scope="module")
def case(found: CorpusVerdict) -> Case:
    return make_case(found.runs[1], core_lookup())


def test_the_page_tells_verdicts_divergence_spec_and_commands(
    found: CorpusVerdict, case: Case, bad: Path
) -> None:
    page = Page(to_html(found, [case]))
    first = found.runs[1].divergences[0]
    assert case.explanation.operator is not None

    for line in (
        "2 runs: 1 DIVERGES, 1 CONFORMS",
        first.text,
        f"at member {first.member}, step {first.step}",
        f"member-{first.member}.ndjson:{first.step + 1}",
        "commitPosition",
        case.explanation.operator.lines[0],
        f"canvass trace show {bad} --around {first.member}:{first.step}",
        f"canvass verify {bad}",
        f"DIVERGES: {first.name}",
    ):
        assert line in page.text


def test_the_page_allows_itself_its_own_style_and_nothing_else(
    found: CorpusVerdict, case: Case
) -> None:
    page = Page(to_html(found, [case]))
    digest = base64.b64encode(hashlib.sha256(page.style.encode()).digest()).decode()

    assert page.policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert page.tags <= TAGS
    assert page.attributes <= ATTRIBUTES
    assert not re.search(r"url\(|@import", page.style)


@pytest.mark.parametrize("payload", HOSTILE)
def test_no_text_of_a_trace_becomes_markup(case: Case, payload: str) -> None:
    def spoilt(divergence: Divergence) -> Divergence:
        return msgspec.structs.replace(divergence, name=payload, text=payload)

    difference = Difference(payload, payload, payload, payload)
    divergence = spoilt(case.explanation.divergence)
    explanation = msgspec.structs.replace(
        case.explanation,
        run_id=payload,
        divergence=divergence,
        changed=(difference,),
        enabled=(payload,),
        expected=(difference,),
        operator=Operator(payload, 1, (payload,)),
    )
    run = RunVerdict(
        payload,
        payload,
        Verdict.DIVERGES,
        divergences=tuple(spoilt(each) for each in case.run.divergences),
        reason=payload,
    )
    malformed = RunVerdict(payload, payload, Verdict.MALFORMED, reason=payload)
    diagram = Diagram((payload,), (LaneEvent(0, payload, payload, payload, (), (payload,)),))
    spoilt_case = replace(
        case,
        run=run,
        explanation=explanation,
        places={payload: Location(payload, 1)},
        diagram=diagram,
    )

    page = Page(to_html(CorpusVerdict((run, malformed)), [spoilt_case]))

    assert page.tags <= TAGS
    assert page.attributes <= ATTRIBUTES
    assert all(c.isprintable() or c == "\n" for word in page.words for c in word)
    page_text = "".join(page.words)
    assert page_text.encode()


def test_runs_of_one_cause_are_one_card_with_links_to_all_in_natural_order(
    good_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["run-2", "run-10", "run-1"]
    for name in names:
        corrupted(good_run, tmp_path / "runs" / name, corruptions.commit_too_far)
    monkeypatch.chdir(tmp_path)
    found = check_units([Path("runs") / name for name in names], core_lookup())
    cases = make_cases(found.runs, core_lookup(), 10)

    page = Page(to_html(found, cases, folder=tmp_path / "out"))

    (case,) = cases
    first = case.explanation.divergence
    assert case.run.path == "runs/run-1"
    assert page.text.count("See it again") == 1
    assert f"{first.name} : a step that the spec does not allow in 3 runs" in page.text
    ordered = ["../runs/run-1", "../runs/run-2", "../runs/run-10"]
    assert page.links == [*ordered, *ordered]
    # The commands hold in any folder.
    assert f"canvass verify {tmp_path / 'runs' / 'run-1'}" in page.text


def test_a_run_that_is_gone_has_no_link(found: CorpusVerdict, case: Case, tmp_path: Path) -> None:
    gone = msgspec.structs.replace(found.runs[1], path=str(tmp_path / "javascript:gone"))

    page = Page(to_html(CorpusVerdict((gone,)), [replace(case, run=gone)], folder=tmp_path))

    assert page.links == []
    (tmp_path / "javascript:gone").mkdir()
    page = Page(to_html(CorpusVerdict((gone,)), [replace(case, run=gone)], folder=tmp_path))
    assert set(page.links) == {"javascript%3Agone"}


def test_nothing_checked_does_not_look_like_a_pass() -> None:
    page = to_html(CorpusVerdict(()), [])

    assert '<h1 class="bad">Nothing was checked</h1>' in page


def test_a_run_that_conforms_is_reported(found: CorpusVerdict) -> None:
    page = to_html(CorpusVerdict(found.runs[:1]), [])

    assert '<h1 class="good">The run conforms</h1>' in page
