"""Counterexamples and reports for tests of the page, small, with texts of one's choice: what a
report really looks like is in `page_report`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from canvass.corpus.summary import DivergenceClassSummary, Listed, Summary

PAYLOADS: tuple[str, ...] = (
    "<script>document.title='hit'</script>",
    "<img src=x onerror=document.title='hit'>",
    "<svg onload=document.title='hit'>",
    "<svg><script>alert(1)</script></svg>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<object data=javascript:alert(1)></object>",
    "<embed src=//evil.example/x>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<style>*{display:none}</style>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<base href=//evil.example/>",
    "<form action=//evil.example><input name=a autofocus onfocus=alert(1)></form>",
    "<a href=javascript:alert(1)>press</a>",
    "<details open ontoggle=alert(1)>",
    "<video><source onerror=alert(1)></video>",
    "<body onload=alert(1)>",
    "<math><mtext><script>alert(1)</script></mtext></math>",
    "<template><script>alert(1)</script></template>",
    "</script><script>alert(1)</script>",
    "</textarea><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</title><img src=x onerror=alert(1)>",
    "--><script>alert(1)</script><!--",
    "]]><script>alert(1)</script>",
    "'\"><img src=x onerror=alert(1)>",
    '" onmouseover=alert(1) x="',
    "' style='position:fixed;inset:0",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "{{constructor.constructor('alert(1)')()}}",
    "${alert(1)}",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;img src=x onerror=alert(1)&#62;",
    "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "__proto__",
    "constructor",
    "\u202egnp.exe\u202c \u200b\u2066hidden\u2069 \x1b[31mred\x1b[0m \x07\x00\x7f",
    "long " + "<b>x</b>" * 2_000,
)
"""Texts that would do something if they became more than text: 40 of them."""


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
    """Write a behaviour of a cluster of two: one asks for a vote, the other one is asked."""
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
    """Write a behaviour in which each text is the name of an action, of a variable and a value."""
    states = [(text, {text: text, "in": {text: [text, {text: text}]}}) for text in texts]
    return _write(path, texts[0], [("Init", {"in": {}}), *states])


def write_report(folder: Path, bad: Path, texts: Sequence[str]) -> Path:
    """Write a report with one kind of divergence for each text; the example of all is one run."""
    folder.mkdir(parents=True)
    clusters = [
        DivergenceClassSummary(text, text, 1, 1, "bad", str(bad), 1, 2, text) for text in texts
    ]
    listed = [Listed(str(bad), "bad", "DIVERGES", 300, texts[0])]
    summary = Summary(
        version="1",
        corpora=[str(bad.parent)],
        runs=len(texts),
        events=1_234_567,
        verdicts={"CONFORMS": 0, "DIVERGES": len(texts), "INCOMPLETE": 0, "MALFORMED": 0},
        divergences=len(texts),
        clusters=clusters,
        cluster_count=len(clusters),
        listed=listed,
        listed_count=len(listed),
        coverage={"Canvass": 1200, "OnVote": 300},
        never_taken=["OnTerminationAck"],
        asked_steps=50,
        seconds=12.5,
        events_per_second=98_765.4,
    )
    (folder / "summary.json").write_bytes(msgspec.json.encode(summary))
    return folder
