"""A spec folder with a manifest that TLC checks in a second, for tests of the command.

Two members each may nominate themselves and tell the other; a message may be lost. The shape is
that of the real spec: ``member`` by member, ``channel`` by sender and receiver.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

MODULE: Final = r"""
-------------------------------- MODULE Tiny --------------------------------
EXTENDS Integers, Sequences, TinyProperties
CONSTANT Limit

Other(i) == 1 - i

Init == /\ member = [i \in {0, 1} |-> [electionState |-> "CANVASS", candidateTermId |-> -1]]
        /\ channel = [i \in {0, 1} |-> [j \in {0, 1} |-> <<>>]]

Nominate(i) ==
    /\ member[i].electionState = "CANVASS"
    /\ member' = [member EXCEPT ![i] = [electionState |-> "NOMINATE", candidateTermId |-> 0]]
    /\ channel' = [channel EXCEPT ![i][Other(i)] = Append(@, [type |-> "RequestVote", from |-> i])]

Lose(i, j) == /\ channel[i][j] # <<>>
              /\ channel' = [channel EXCEPT ![i][j] = Tail(@)]
              /\ UNCHANGED member

Retry(i) == /\ member[i].electionState = "NOMINATE"
            /\ member[i].candidateTermId < Limit
            /\ member' = [member EXCEPT ![i].candidateTermId = @ + 1]
            /\ UNCHANGED channel

TakeNominate == \E i \in {0, 1} : Nominate(i)
TakeLose     == \E i, j \in {0, 1} : Lose(i, j)
TakeRetry    == \E i \in {0, 1} : Retry(i)

Next == TakeNominate \/ TakeLose \/ TakeRetry
Spec == Init /\ [][Next]_<<member, channel>> /\ WF_<<member, channel>>(TakeNominate)

Settles == <>[](channel[0][1] # <<>>)
=============================================================================
"""

PROPERTIES: Final = r"""
--------------------------- MODULE TinyProperties ---------------------------
VARIABLES member, channel

(***************************************************************************)
(* INV: OneNominee.  No two members are nominated at once.                 *)
(* Broken by everybody who does not listen.                                *)
(***************************************************************************)
OneNominee == ~(member[0].electionState = "NOMINATE" /\ member[1].electionState = "NOMINATE")

(***************************************************************************)
(* INV: NothingLost.  A goal: its violation shows a loss.                  *)
(***************************************************************************)
NothingLost == ~(member[0].electionState = "NOMINATE" /\ channel[0][1] = <<>>)

TypeOK == \A i \in {0, 1} : member[i].electionState \in {"CANVASS", "NOMINATE"}
=============================================================================
"""


def model(name: str, /, **changes: Any) -> dict[str, Any]:
    """One entry of the manifest, of a model that is expected to succeed, with changes."""
    return {
        "name": name,
        "module": "Tiny",
        "set": "ci",
        "expected": "success",
        "takes": "seconds",
    } | changes


MODELS: Final = (
    model("TinyOk", distinctStates=9, depth=5, workers=1),
    model("TinyNominees", expected="safety", violates="OneNominee", workers=1),
    model("TinyLoss", expected="safety", violates="NothingLost", workers=1),
    model("TinyLasso", expected="liveness", violates="Settles", set="night"),
    model("TinyEndless", set="night"),
)


def write_tiny_spec(folder: Path) -> Path:
    """Write the modules, configurations and manifest into a folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Tiny.tla").write_text(MODULE.lstrip())
    (folder / "TinyProperties.tla").write_text(PROPERTIES.lstrip())
    checked = {
        "TinyOk": "INVARIANT TypeOK",
        "TinyNominees": "INVARIANTS TypeOK OneNominee",
        "TinyLoss": "INVARIANTS TypeOK NothingLost",
        "TinyLasso": "PROPERTY Settles",
        "TinyEndless": "INVARIANT TypeOK",
    }
    for name, what in checked.items():
        limit = 2_000_000_000 if name == "TinyEndless" else 0
        text = f"\\* The model {name}.\nSPECIFICATION Spec\nCONSTANT Limit = {limit}\n{what}\n"
        text += "CHECK_DEADLOCK FALSE\n"
        (folder / f"{name}.cfg").write_text(text)
    write_manifest(folder, *MODELS)
    return folder


def write_manifest(folder: Path, *models: dict[str, Any]) -> None:
    """Write a manifest of these entries."""
    (folder / "manifest.json").write_text(json.dumps({"models": models}))


def spec_with(tiny: Path, folder: Path, name: str, module: str, config: str) -> Path:
    """Copy the spec into a folder, with one more module and its configuration."""
    spec = shutil.copytree(tiny, folder / "spec")
    (spec / f"{name}.tla").write_text(module)
    (spec / f"{name}.cfg").write_text(config)
    return Path(spec)
