"""A run with its verdict, the explanations of the run and its divergence, and hazards.

One thread checks the runs one by one, as `canvass verify` does; TLC may take seconds. Two kinds of
divergence get more than the step itself: a message that no member sent is compared with the nearest
one that was sent; for a violated safety property, the logs of all members are described.
`canvass.conformance` decides the verdict.

A run folder is explained as by `canvass explain`: the page shows the rows of `canvass.explanation`,
and gets the event to which each line of evidence leads. ``docs/findings`` has the pages on hazards.
"""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from msgspec.json import decode, encode

from canvass.browser import api
from canvass.browser.graphs import MemberSteps, OpenGraph
from canvass.browser.memory import in_own_process
from canvass.browser.questions import (
    Answer,
    Limit,
    Number,
    Refusal,
    Text,
    at,
    bad_request,
    not_found,
)
from canvass.browser.run_find import RunStates, find_in_run, next_change
from canvass.browser.runs import Fold, OpenRun, timeline_of
from canvass.browser.sources import Lazy, Store
from canvass.cluster.messages import Message, Vote, wire_name
from canvass.conformance.diagnose import Difference, RefusedStep
from canvass.conformance.findings import MESSAGE_CAUSALITY, Divergence, RunVerdict
from canvass.conformance.report import CLASS_TEXTS, Case, make_case, problem_of
from canvass.conformance.verify import check_run
from canvass.distance.moments import RunMoments
from canvass.explanation.explanation import Explanation, explain, time_without_leader
from canvass.explanation.reading import read
from canvass.explanation.risks import shown_hazards
from canvass.explanation.timeline import Evidence, shown_ns
from canvass.lanes.drawing import value_text
from canvass.steps.answers import StepLookup
from canvass.steps.kernel import rules_digest
from canvass.traces.aeron_log.releases import releases_of_run
from canvass.traces.columns import sends_at
from canvass.traces.errors import counted
from canvass.traces.run import RunFolder
from canvass.traces.schema import MESSAGE_INDEX

_TABLES: Final = ("leaderships", "interruptions", "elections", "stuck", "risks", "missing")
"""Parts of an explanation that the page shows."""
_HERE: Final = Path(__file__).resolve().parent
_FOLDERS: Final = (_HERE / "findings", _HERE.parents[2] / "docs" / "findings")
"""The folder of the pages in a wheel, and in a checkout."""
_NAME: Final = re.compile(r"\b(?:HZ\d{1,2}|L-[A-E])\b")


def _explanation_of(opened: OpenRun) -> api.ExplanationView:
    """Explain a run folder.

    Raises
    ------
    TraceError
        If it is not a trace.
    """
    found = in_own_process(opened.total, _explained, opened.path)
    span = shown_ns(found.end_ns - found.begin_ns)
    terms = counted(len(found.leaderships), "leadership")
    tables = {name: getattr(found, name) for name in _TABLES}
    hazards = shown_hazards(found.risks)
    known = found.leaderships or found.gaps
    evidence = dict.fromkeys(_evidence((*tables.values(), tuple(hazards))))
    return api.ExplanationView(
        summary=f"{terms} in {span}, {time_without_leader(found)}.",
        without_leader_ms=found.without_leader_ns / 1e6 if known else None,
        hazards=tuple(hazards),
        places={str(one): _event_of(opened, one) for one in evidence},
        **tables,
    )


def _explained(path: Path) -> Explanation:
    return explain(read(path))


def _evidence(value: object) -> Iterator[Evidence]:
    """Give all evidence in a part of an explanation."""
    if isinstance(value, Evidence):
        yield value
    elif isinstance(value, msgspec.Struct):
        yield from _evidence(tuple(getattr(value, name) for name in value.__struct_fields__))
    elif isinstance(value, tuple):
        for one in value:
            yield from _evidence(one)


def _event_of(opened: OpenRun, one: Evidence) -> api.EvidencePlace:
    """Find the event of a line: line ``n`` of a member's stream is the member's event ``n``."""
    rows, places = opened.member_rows[one.member_id], opened.places[one.member_id]
    if not 0 < one.line <= len(rows):
        return api.EvidencePlace(str(one), None)
    line = opened.when(int(rows[one.line - 1])).place
    return api.EvidencePlace(line or str(one), int(places[one.line - 1]))


def hazards_in(*texts: str) -> tuple[str, ...]:
    """List the hazards that the texts name, if they have a page."""
    names = dict.fromkeys(name for text in texts for name in _NAME.findall(text))
    return tuple(name for name in names if _file(name) is not None)


@cache
def hazard_page(name: str) -> api.HazardPage:
    """Read the page on a hazard.

    Raises
    ------
    Refusal
        If the hazard has no page.
    """
    file = _file(name)
    if file is None:
        raise not_found("there is no page on that hazard")
    return api.HazardPage(name, tuple(file.read_text(encoding="utf-8").splitlines()))


def _file(name: str) -> Path | None:
    if not _NAME.fullmatch(name):
        return None
    return next((f / f"{name}.md" for f in _FOLDERS if (f / f"{name}.md").is_file()), None)


def _receipt_of(opened: OpenRun, divergence: Divergence) -> api.Receipt | None:
    """Compare a message that no member sent with the nearest one that its sender did send.

    None for other divergences.
    """
    if divergence.name != MESSAGE_CAUSALITY:
        return None
    columns = opened.loaded.columns
    row = opened.loaded.row_of(divergence.member, divergence.step)
    event = columns.event(row)
    message, sender = event.input.message, event.input.from_
    ids, sent = columns.sends[:, MESSAGE_INDEX["id"]], columns.send_offsets
    # If the message id is sent twice, the fault is in the send, not in the receipt.
    if message is None or np.isin(ids[sent[row] : sent[row + 1]], ids[: sent[row]]).any():
        return None
    who = f"member {divergence.member}"
    kind = _named(message)
    nearest = _nearest(opened, sender, divergence.member, message)
    rows: tuple[Difference, ...] = ()
    if nearest is None:
        text = f"Member {sender} never sent {who} a {kind[0]}."
    else:
        near, at = nearest
        rows = tuple(_compared(message, near))
        what = "the same" if not rows else " ".join(_named(near))
        text = (
            f"Nearest that member {sender} did send to {who}: {what}, at {_place(opened, at)}."
            if rows
            else f"Member {sender} sent a message with the same contents at {_place(opened, at)},"
            f" under another id or at another time."
        )
    return api.Receipt(
        received=f"Member {divergence.member} received {' '.join(kind)} from member {sender}"
        f" at {_place(opened, row)}, as message {event.input.id or '?'}.",
        nearest=text,
        nearest_event=None if nearest is None else opened.lanes.place[nearest[1]],
        rows=rows,
    )


def _named(message: Message) -> tuple[str, ...]:
    """Describe a message: its type with a vote's answer, and its term."""
    name = type(message).__name__
    if isinstance(message, Vote):
        name = f"Vote({'yes' if message.vote else 'no'})"
    for term in ("candidate_term_id", "leadership_term_id"):
        if hasattr(message, term):
            return name, f"in term {getattr(message, term)}"
    return (name,)


def _place(opened: OpenRun, row: int) -> str:
    when = opened.when(row)
    columns = opened.loaded.columns
    step = f"step {int(columns.step[row])}"
    return f"{when.time} ({', '.join(one for one in (step, when.place) if one)})"


def _nearest(
    opened: OpenRun, sender: int, receiver: int, message: Message
) -> tuple[Message, int] | None:
    """Find the message of the same type that differs in the fewest fields, and its row.

    If several are equally near, the last one is chosen.
    """
    columns = opened.loaded.columns
    best: tuple[int, int, Message] | None = None
    for row in np.flatnonzero(columns.member == sender).tolist():
        for to, sent in sends_at(columns, row):
            if to != receiver or type(sent) is not type(message):
                continue
            differing = len(list(_compared(message, sent)))
            if best is None or differing <= best[0]:
                best = differing, row, sent
    return None if best is None else (best[2], best[1])


def _compared(received: Message, sent: Message) -> Iterator[Difference]:
    for name in received.__struct_fields__:
        seen, there = getattr(received, name), getattr(sent, name)
        if seen != there:
            yield Difference(
                field=wire_name(name),
                before="",
                observed=value_text(seen),
                allowed=value_text(there),
            )


@dataclass(slots=True)
class Checked:
    """The verdict of a run, once ``done`` is set."""

    verdict: RunVerdict | None = None
    case: Case | None = None
    note: str = ""
    done: threading.Event = field(default_factory=threading.Event)


class Checker:
    """Checks runs one by one, in a thread that ends with the program.

    Parameters
    ----------
    lookup
        Decides steps.
    """

    def __init__(self, lookup: StepLookup) -> None:
        self._lookup = lookup
        self._waiting: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def check(self, opened: OpenRun) -> Checked:
        """Queue a run, and give the record that will hold its verdict."""
        found = Checked()
        self._waiting.put(lambda: _settle(opened, self._lookup, found))
        return found

    def _work(self) -> None:
        while True:
            self._waiting.get()()


def _settle(opened: OpenRun, lookup: StepLookup, found: Checked) -> None:
    try:
        verdict = in_own_process(opened.total, check_run, opened.path, lookup, opened.run.run_id)
        try:
            if verdict.divergences:
                found.case = in_own_process(opened.total, make_case, verdict, lookup)
        finally:
            # Set last: with the verdict DIVERGES, the page also needs the explanation.
            found.verdict = verdict
    except Exception as error:  # noqa: BLE001 - whatever is wrong is reported where the verdict would be
        reason = " ".join(str(error).split())
        found.note = f"not checked: {type(error).__name__}: {reason}"
    finally:
        found.done.set()


def _divergence_of(opened: OpenRun, case: Case) -> api.FirstDivergence:
    """Describe the first divergence of a run, with its explanation."""
    content: RefusedStep = case.explanation
    first, found = content.divergence, case.run.divergences
    return api.FirstDivergence(
        first=first,
        event_number=opened.number_of(first.member, first.step) or 0,
        about=CLASS_TEXTS[first.kind],
        changed=content.changed,
        expected=content.expected,
        enabled=content.enabled,
        failing=content.failing,
        operator=content.operator,
        note=content.note,
        receipt=next(filter(None, (_receipt_of(opened, one) for one in found)), None),
        hazards=hazards_in(*(one.text for one in found)),
        commands=case.commands,
    )


class RunSource:
    """An opened run; its check begins when it is opened.

    Parameters
    ----------
    path
        The run folder, or the file of a data set.
    title
        Name of the run on the page; for a run of a data set, its id.
    checker
        Checks the run.
    logs
        Folder of the logs from which the run was imported; None if unknown.

    Raises
    ------
    TraceError
        If the input is not a trace.
    """

    def __init__(self, path: Path, title: str, checker: Checker, logs: Path | None = None) -> None:
        run_id = RunFolder(path).run.run_id if path.is_dir() else title
        self.title = title
        self.opened = OpenRun(path, run_id, logs)
        self.checked: Checked = checker.check(self.opened)
        self.states: Lazy[RunStates] = Lazy(lambda: RunStates(self.opened))
        self.moments: Lazy[RunMoments] = Lazy(lambda: RunMoments(self.opened.loaded))
        # As bytes: objects left over from reading the run would keep most of its memory allocated.
        self._explanation: Lazy[bytes] = Lazy(lambda: encode(_explanation_of(self.opened)))

    def graph(self, store: Store) -> tuple[str, OpenGraph, MemberSteps] | None:
        """Give id, graph and steps of the first open member graph that has the rules of the run."""
        for name, _ in store.of_kind("graph"):
            # If a graph cannot be read, its page says so; if rules are unknown, the verdict does.
            with suppress(Refusal, ValueError):
                graph: OpenGraph = store.content("graph", name)
                if graph.steps is not None and rules_digest(graph.steps.rules) == rules_digest(
                    self.opened.run.rules
                ):
                    return name, graph, graph.steps
        return None

    @at("")
    def view(self, source: str) -> api.RunView:
        """Describe the run, with its verdict if it is checked."""
        run, checked = self.opened.run, self.checked
        verdict = checked.verdict
        note = checked.note
        if verdict is not None and not note and not verdict.divergences:
            note = problem_of(verdict)
        case, releases = checked.case, releases_of_run(run)
        return api.RunView(
            id=source,
            run_id=run.run_id,
            title=self.title,
            revision=run.revision,
            releases=() if releases is None else tuple(releases.lines()),
            verdict=None if verdict is None else verdict.verdict.value,
            checking=not checked.done.is_set(),
            note=note,
            not_checked=() if verdict is None else verdict.not_checked,
            checked_in_part=() if verdict is None else verdict.checked_in_part,
            divergence=None if case is None else _divergence_of(self.opened, case),
            divergences=() if verdict is None else verdict.divergences,
            facts=() if verdict is None else verdict.facts,
            members=run.member_count,
            events=self.opened.total,
        )

    @at("/lanes")
    def lanes(
        self,
        show: Fold = "",
        from_: Number | None = None,
        around: Number | None = None,
        count: Limit = 200,
    ) -> Answer:
        """Draw a window of the events, by default from the first one on."""
        if around is not None:
            self.check_number(around)
        elif from_ is None:
            from_ = 0
        return self.opened.window(count, self.marks, show=show, start=from_, around=around)

    @at("/members")
    def members(self, at: Number = 0) -> Answer:
        """Give the states of all members after an event."""
        self.check_number(at)
        return self.opened.members_at(at)

    @at("/find")
    def find(self, where: Text = "", limit: Limit = 100) -> Answer:
        """Find the events after which a predicate holds."""
        return find_in_run(self.opened, self.states.get(), where, limit)

    @at("/change")
    def change(self, field: Text, at: Number = 0, member: Number = 0) -> Answer:
        """Find the next change of a field of a member."""
        self.check_number(at)
        if member >= self.opened.run.member_count:
            raise not_found(f"the run has no member {member}")
        return next_change(self.opened, field, member, at)

    @at("/timeline")
    def timeline(self) -> api.RunTimeline:
        """Give election states, leaderships and marks of the whole run."""
        return timeline_of(self.opened, self.marks)

    def check_number(self, number: int) -> None:
        """Refuse the number of an event that the run does not have."""
        if number >= max(1, self.opened.total):
            raise bad_request(f"the run has {self.opened.total:,} events")

    @at("/explanation")
    def explanation(self) -> api.ExplanationView:
        """Explain what happened in the run, at the first call.

        Raises
        ------
        Refusal
            For a run of a data set, as `canvass explain` reads run folders.
        """
        if not self.opened.path.is_dir():
            raise not_found("runs of a data set are not explained; open a run folder")
        return decode(self._explanation.get(), type=api.ExplanationView)

    @property
    def marks(self) -> dict[int, str]:
        """The name of the divergence for each row at which the run diverges."""
        verdict, found = self.checked.verdict, dict[int, str]()
        for one in () if verdict is None else verdict.divergences:
            row = self.opened.lanes.row_of(one.member, one.step)
            if row is not None:
                found.setdefault(row, one.name)
        return found

    def wrong_at(self, member: int, step: int) -> str:
        """Give the divergences at a step, in words; empty if there are none.

        A clause that several divergences share, such as the hazards of the revision, is given once.
        """
        verdict = self.checked.verdict
        found = () if verdict is None else verdict.divergences
        here = (one.text for one in found if (one.member, one.step) == (member, step))
        clauses = [clause for text in here for clause in text.split("; ")]
        return "; ".join([*dict.fromkeys(reversed(clauses))][::-1])
