"""Progress of ``canvass verify`` in words: runs, events, and an estimate."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class VerifyProgress:
    """How far a verification is.

    Attributes
    ----------
    done, total
        Runs and files of data sets that were read, and all of them.
    events
        Events so far.
    asked
        Steps that TLC is being asked about; 0 if it is not asked.
    """

    done: int = 0
    total: int = 0
    events: int = 0
    asked: int = 0

    def read(self, done: int, total: int, events: int) -> None:
        """Take down how far the reading is."""
        self.done, self.total, self.events, self.asked = done, total, events, 0

    def ask(self, steps: int) -> None:
        """Take down that TLC is asked about steps."""
        self.asked = steps

    def words(self, seconds: float) -> str:
        """Put the figures into words."""
        parts = [f"{self.done:,} of {self.total:,} runs and files", f"{self.events:,} events"]
        if self.asked:
            parts.append(f"asking TLC about {self.asked:,} distinct steps")
        elif 0 < self.done < self.total:
            left_s = seconds * (self.total - self.done) / self.done
            parts.append(f"about {_duration(left_s)} left")
        return ", ".join(parts)


def _duration(seconds: float) -> str:
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
