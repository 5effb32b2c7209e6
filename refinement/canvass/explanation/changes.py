"""The news about logs that grow: what an explanation says, and earlier explanations did not say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from canvass.explanation.evidence import Evidence, Sentence
from canvass.explanation.explanation import Explanation
from canvass.explanation.leaderships import sentence_of
from canvass.explanation.risks import FEW_DISKS, TRUNCATED

_SEVERITIES: Final = ("note", "warning", "danger")


@dataclass(frozen=True, slots=True)
class NewFinding:
    """Something that earlier explanations did not show.

    Parameters
    ----------
    kind
        ``election``, ``leadership``, ``stuck`` or ``risk``.
    severity
        ``danger``, ``warning`` or ``note``. The end of a risk or of a stuck phase is a note.
    title
        The text before the first sentence; empty if there is none.
    sentences
        All sentences about the finding; for an end the first one, and for a risk also the last.
    """

    kind: str
    severity: str
    title: str
    sentences: tuple[Sentence, ...]

    def __str__(self) -> str:
        return " ".join(filter(None, (f"{self.severity}:", self.title, *map(str, self.sentences))))


@dataclass(slots=True)
class Changes:
    """Remembers what was said, and gives what is new.

    A stuck phase or a risk is over only when a line shows its end. If lines are rotated away, or a
    log cannot be read any more, nothing is said to be over.
    """

    _said: set[tuple[object, ...]] = field(default_factory=set)

    def of(self, found: Explanation) -> Iterator[NewFinding]:
        """Give what is new in an explanation."""
        for one in found.elections:
            won = one.leader_member_id is not None and one.opened
            if won and self._is_new("election", one.sentence.evidence):
                yield NewFinding("election", "note", "", (one.sentence,))
        for row in found.leaderships:
            ended = row.ended_by not in ("log ends", "unknown")
            if ended and self._is_new("leadership", row.evidence[:1]):
                yield NewFinding("leadership", "note", "", (sentence_of(row),))
        for stuck in found.stuck:
            begin = stuck.sentences[0].evidence[:1]
            if self._is_new(stuck.kind, begin):
                yield NewFinding("stuck", "warning", "stuck:", stuck.said)
                self._is_over(stuck.kind, stuck.until_ns, begin)
            elif self._is_over(stuck.kind, stuck.until_ns, begin):
                yield NewFinding("stuck", "note", "no longer stuck:", stuck.sentences[:1])
        for risk in found.risks:
            kind = TRUNCATED if risk.kind == FEW_DISKS else risk.kind
            lines = risk.sentences[0].evidence
            if self._is_graver(kind, risk.severity, lines):
                yield NewFinding("risk", risk.severity, f"{risk.title}:", risk.sentences)
                self._is_over(kind, risk.until_ns, lines)
            elif self._is_over(kind, risk.until_ns, lines):
                said = dict.fromkeys((risk.sentences[0], risk.sentences[-1]))
                yield NewFinding("risk", "note", f"no longer: {risk.title}:", tuple(said))

    def _is_graver(self, kind: str, severity: str, lines: tuple[Evidence, ...]) -> bool:
        """Whether no risk of this severity or a graver one has been reported for these lines.

        A later line can turn a note into a danger. A line that is gone does not turn a danger into
        a note.
        """
        graver = _SEVERITIES[_SEVERITIES.index(severity) :]
        if any(_key(f"{one} {kind}", lines) in self._said for one in graver):
            return False
        return self._is_new(f"{severity} {kind}", lines)

    def _is_over(self, kind: str, until_ns: int | None, lines: Iterable[Evidence]) -> bool:
        """Whether an end is known that was not known before."""
        return until_ns is not None and self._is_new(f"end of {kind}", lines)

    def _is_new(self, kind: str, lines: Iterable[Evidence]) -> bool:
        key = _key(kind, lines)
        if key in self._said:
            return False
        self._said.add(key)
        return True


def _key(kind: str, lines: Iterable[Evidence]) -> tuple[object, ...]:
    """A key without files and line numbers: they change if a file is rolled or truncated."""
    return kind, *((line.member_id, line.time_ns) for line in lines)
