"""Small counterexamples and reports with given texts, for tests of the page.

`page_report` has a realistic report.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from canvass.corpus.report import Listed
from support.summaries import cluster, summary


def cluster_state(asked: bool, received: bool, claim: str) -> dict[str, Any]:
    """Give a state of a cluster of two."""
    message = {"type": "RequestVote", "candidateTermId": 1, "note": claim}
    queue = [message] if asked and not received else []
    return {
        "member": {
            "0": {
                "electionState": "CANDIDATE_BALLOT" if asked else "NOMINATE",
                "candidateTermId": int(asked),
            },
            "1": {
                "electionState": "FOLLOWER_BALLOT" if received else "CANVASS",
                "candidateTermId": int(received),
            },
        },
        "channel": {"0": {"1": queue}, "1": {"0": []}},
    }


def _write(path: Path, name: str, states: Sequence[tuple[str, dict[str, Any]]]) -> Path:
    document = {
        "schema": "canvass.counterexample/1",
        "model": name,
        "violated": name,
        "message": name,
        "explanation": [name],
        "loop": None,
        "stuttering": False,
        "steps": [
            {"action": action, "arguments": None, "state": state} for action, state in states
        ],
    }
    path.write_text(json.dumps(document))
    return path


def write_counterexample(path: Path, text: str = "NoTwoVotes") -> Path:
    """Write a behaviour of a cluster of two: one member requests the vote of the other one."""
    return _write(
        path,
        text,
        [
            ("Init", cluster_state(asked=False, received=False, claim=text)),
            ("Nominate", cluster_state(asked=True, received=False, claim=text)),
            ("OnRequestVote", cluster_state(asked=True, received=True, claim=text)),
        ],
    )


def write_strange_counterexample(path: Path, texts: Sequence[str]) -> Path:
    """Write a behaviour in which each text names an action and a variable, and is a value."""
    states = [(text, {text: text, "in": {text: [text, {text: text}]}}) for text in texts]
    return _write(path, texts[0], [("Init", {"in": {}}), *states])


def write_report(folder: Path, bad: Path, texts: Sequence[str]) -> Path:
    """Write a report with one class of divergence for each text; all have the same example run."""
    folder.mkdir(parents=True)
    clusters = [
        cluster(text, divergence_class=text, example_source=str(bad), example_reason=text)
        for text in texts
    ]
    listed = [Listed(str(bad), "bad", "DIVERGES", 300, texts[0])]
    found = summary({"DIVERGES": len(texts)}, clusters=clusters, listed=listed)
    (folder / "summary.json").write_bytes(msgspec.json.encode(found))
    return folder
