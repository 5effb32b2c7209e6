"""Another implementation, as somebody might have written it who never heard of canvass.

Three clerks keep copies of one ledger. One of them is named chief beforehand; it takes office when
all have pledged themselves, writes, and counts as settled what most copies hold. Clerks are mutable
objects that write letters; letters never get lost, but take their time. There are no restarts.

Nothing here imports canvass or speaks its words; `adapter` translates.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

HEADING = 96
"""Bytes of the heading that a chief writes first."""


@dataclass
class Letter:
    """Something that one clerk writes to another."""

    about: str
    author: int
    reader: int
    facts: dict[str, Any]
    stamp: int = -1
    """Put on by whoever watches, and carried along."""


@dataclass
class File:
    """A clerk's file about a colleague, or about itself."""

    term: int = -1
    end: int = -1
    ballot: int = -1
    pledge: int = -1
    asked: bool = False


class Watcher(Protocol):
    """Called with each deed of a clerk, after it is done and before its letters leave."""

    def __call__(
        self, clerk: Clerk, deed: str, letter: Letter | None, out: list[Letter], **facts: Any
    ) -> None:
        """Take note."""
        ...


@dataclass
class Clerk:
    """One of three."""

    desk: int
    chief: int
    watch: Watcher
    post: Callable[[Letter], None]
    mood: str = "asking"
    sealed_term: int = -1
    ballot: int = -1
    term: int = -1
    office_term: int = -1
    follows: int = -1
    terms: list[int] = field(default_factory=list)
    copied: int = 0
    written: int = -1
    settled: int = 0
    announced_settled: int = 0
    listens: bool = False
    files: list[File] = field(default_factory=lambda: [File() for _ in range(3)])

    def __post_init__(self) -> None:
        self.files[self.desk].end = 0
        self._done("arrive")

    # --- reports ----------------------------------------------------------------------------------

    def _done(self, deed: str, *out: Letter, letter: Letter | None = None, **facts: Any) -> None:
        self.watch(self, deed, letter, list(out), **facts)
        for one in out:
            self.post(one)

    def _write(self, about: str, reader: int, **facts: Any) -> Letter:
        return Letter(about, self.desk, reader, facts)

    def _to_all(self, about: str, **facts: Any) -> list[Letter]:
        return [self._write(about, desk, **facts) for desk in range(3) if desk != self.desk]

    # --- taking office ----------------------------------------------------------------------------

    def act(self) -> None:
        """Do the next thing that is to be done, if there is any."""
        getattr(self, f"_{self.mood}", self._rest)()

    def _rest(self) -> None:
        """Wait for letters."""

    def _asking(self) -> None:
        if self.desk == self.chief and all(one.end >= 0 for one in self.files):
            self.mood = "standing"
        self._done("ask", *self._to_all("question", end=self.copied))

    def _standing(self) -> None:
        self.sealed_term = self.ballot = 0
        for desk, one in enumerate(self.files):
            me = desk == self.desk
            one.ballot, one.pledge, one.asked = (0, 1, True) if me else (-1, -1, False)
        self.mood = "polling"
        self._done("stand")

    def _polling(self) -> None:
        if all(one.pledge == 1 for one in self.files):
            self.term, self.follows, self.written = 0, self.desk, 0
            self.mood = "elected"
            self._done("win")
        elif not all(one.asked for one in self.files):
            for one in self.files:
                one.asked = True
            self._done("poll", *self._to_all("ballot", term=self.ballot, end=self.copied))

    def _elected(self) -> None:
        self.mood = "reading"
        self._done("proclaim", *self._to_all("claim", entered=False))

    def _reading(self) -> None:
        self.files[self.desk].term = self.term
        self.mood = "entering"
        self._done("read", *self._to_all("claim", entered=False))

    def _entering(self) -> None:
        self.terms.append(self.term)
        self.office_term = self.term
        self.mood = "opening"
        self._done("enter")

    def _opening(self) -> None:
        if all(one.term == self.term for one in self.files):
            self.written = HEADING
            for one in self.files:
                one.ballot, one.pledge, one.asked = -1, -1, False
            self._work()
            self._done("open", end=self.written)

    def _work(self) -> None:
        self.office_term = self.term
        self.term = self.ballot = -1
        self.announced_settled = max(self.announced_settled, self.settled)
        self.mood = "working"

    # --- following --------------------------------------------------------------------------------

    def _joining(self) -> None:
        self.mood = "subscribing"
        self._done("join")

    def _subscribing(self) -> None:
        self.listens = True
        self.mood = "subscribed"
        self._done("subscribe")

    def _subscribed(self) -> None:
        self.terms.append(self.term)
        self.mood = "reporting"
        self._done("hear")

    def _reporting(self) -> None:
        report = self._write("report", self.follows, term=self.term, end=self.settled)
        self._work()
        self._done("begin", report)

    # --- letters ----------------------------------------------------------------------------------

    def take(self, letter: Letter) -> None:
        """Read a letter."""
        if self.mood == "working" and letter.about in ("question", "ballot"):
            return  # Of the time before; nobody waits for an answer.
        getattr(self, f"_on_{letter.about}")(letter)

    def _on_question(self, letter: Letter) -> None:
        out = []
        if self.mood not in ("pledged", "joining", "subscribing", "subscribed", "reporting"):
            about = self.files[letter.author]
            about.term, about.end = -1, letter.facts["end"]
            if self.term >= 0:
                out.append(self._write("claim", letter.author, entered=bool(self.terms)))
        self._done("answer", *out, letter=letter)

    def _on_ballot(self, letter: Letter) -> None:
        self.sealed_term = self.ballot = letter.facts["term"]
        self.files = [File() for _ in range(3)]
        self.mood = "pledged"
        pledge = self._write("pledge", letter.author, term=self.ballot, end=self.copied)
        self._done("pledge", pledge, letter=letter)

    def _on_pledge(self, letter: Letter) -> None:
        one = self.files[letter.author]
        one.term, one.end = -1, letter.facts["end"]
        one.ballot, one.pledge = letter.facts["term"], 1
        self._done("count", letter=letter)

    def _on_claim(self, letter: Letter) -> None:
        if self.mood == "pledged":
            self.follows, self.term = letter.author, 0
            self.mood = "joining"
        self._done("accept", letter=letter)

    def _on_report(self, letter: Letter) -> None:
        one = self.files[letter.author]
        one.term, one.end = letter.facts["term"], letter.facts["end"]
        self._done("file", letter=letter)

    def _on_settled(self, letter: Letter) -> None:
        self.announced_settled = max(self.announced_settled, letter.facts["end"])
        self._done("note", letter=letter)

    # --- the ledger -------------------------------------------------------------------------------

    def write(self, size: int) -> None:
        """Write an entry; the chief alone does."""
        self.written += size
        self._done("write", end=self.written)

    def copy(self, end: int) -> None:
        """Copy the chief's ledger up to a place, and tell the chief."""
        self.copied = end
        self._done("copy", end=end)
        if self.desk != self.chief:
            report = self._write("report", self.follows, term=self.office_term, end=self.copied)
            self._done("tell", report)

    def settle(self) -> None:
        """Count as settled what most copies hold; the chief alone does.

        What the chief has copied itself counts from the next time on.
        """
        agreed = self.agreed([one.end for one in self.files])
        own = self.files[self.desk]
        own.term, own.end = self.office_term, self.copied
        out: list[Letter] = []
        if agreed > self.settled:
            self.settled = agreed
            out = self._to_all("settled", end=agreed)
        self._done("settle", *out)

    def agreed(self, ends: list[int]) -> int:
        """Find the place up to which most copies go."""
        return sorted(ends)[1]

    def turn(self) -> None:
        """Turn the pages up to what is known to be settled; the heading is a page of its own."""
        end = min(self.announced_settled, self.copied)
        if self.settled < HEADING <= end:
            self.settled = HEADING
            self._done("head", end=HEADING)
        else:
            self.settled = end
            self._done("turn", end=end)


class HastyClerk(Clerk):
    """A clerk with a fault: as chief it settles what it has just copied itself."""

    def copy(self, end: int) -> None:
        """Copy, and do not wait for the others."""
        super().copy(end)
        if self.desk == self.chief:
            self.settle()

    def agreed(self, ends: list[int]) -> int:
        """Take the longest copy for what most hold."""
        return max(ends)


class Office:
    """Three clerks and the post between them; chance decides who is next."""

    def __init__(
        self, seed: int, watch: Watcher, *, chief: int = 0, kind: type[Clerk] = Clerk
    ) -> None:
        self.rng = random.Random(seed)
        self.post: dict[tuple[int, int], deque[Letter]] = {}
        self.clerks = [kind(desk, chief, watch, self._send) for desk in range(3)]
        self.chief = self.clerks[chief]

    def _send(self, letter: Letter) -> None:
        self.post.setdefault((letter.author, letter.reader), deque()).append(letter)

    def run(self, entries: int) -> None:
        """Work until so many entries are settled everywhere."""
        while not all(clerk.mood == "working" for clerk in self.clerks):
            self._next(self.rng.choice(self.clerks))
        for _ in range(entries):
            self.chief.write(32 * self.rng.randint(1, 4))
            for _ in range(6):
                self._next(self.rng.choice(self.clerks))
        while any(clerk.settled < self.chief.written for clerk in self.clerks):
            self._next(self.rng.choice(self.clerks))

    def _next(self, clerk: Clerk) -> None:
        waiting = [queue for queue in self.post.values() if queue]
        if waiting and self.rng.random() < 0.5:
            letter = self.rng.choice(waiting).popleft()
            self.clerks[letter.reader].take(letter)
        elif clerk.mood != "working":
            clerk.act()
        elif clerk.copied < self.chief.written:
            clerk.copy(self.chief.written)
        elif clerk is self.chief:
            clerk.settle()
        elif clerk.settled < min(clerk.announced_settled, clerk.copied):
            clerk.turn()
