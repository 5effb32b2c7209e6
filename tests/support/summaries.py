"""Summaries of batch verifications, for tests of reports and of the page."""

from __future__ import annotations

from typing import Any

from canvass.corpus.report import DivergenceClassSummary, Summary


def cluster(name: str = "OnVote", **fields: Any) -> DivergenceClassSummary:
    """A kind of divergence."""
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
    """A summary with these numbers of verdicts; by default two runs that conform."""
    every = dict.fromkeys(("CONFORMS", "DIVERGES", "INCOMPLETE", "MALFORMED"), 0)
    counted = every | ({"CONFORMS": 2} if verdicts is None else verdicts)
    clusters, listed = fields.get("clusters", []), fields.get("listed", [])
    given: dict[str, Any] = {
        "version": "1",
        "corpora": ["corpus"],
        "runs": sum(counted.values()),
        "events": 100,
        "verdicts": counted,
        "divergences": 0,
        "clusters": clusters,
        "cluster_count": len(clusters),
        "listed": listed,
        "listed_count": len(listed),
        "coverage": {"OnVote": 100},
        "never_taken": ["Canvass"],
        "asked_steps": 5,
        "seconds": 2.0,
        "events_per_second": 50.0,
    }
    return Summary(**(given | fields))
