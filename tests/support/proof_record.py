"""Whether anything that the proofs depend on has changed since they were last made."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import z3

from canvass.proof import prove
from canvass.spec.files import spec_root
from canvass.tlc.programs import find_jar

RECORD: Final = Path(__file__).parents[1] / "proof" / "proved.txt"
"""The digest of the last proof. ``pytest --rewrite tests/proof`` writes it."""


def digest() -> str:
    """Digest everything that decides an outcome; Z3 is bounded by steps, so outcomes repeat."""
    root, tests = spec_root(), Path(__file__).parents[1]
    files = [
        *(root / name for name in ("Ballots.tla", "Log.tla", prove.PROOFS)),
        *sorted(Path(prove.__file__).parent.glob("*.py")),
        *(tests / "support" / "proof_mutants.py", tests / "proof" / "test_proof.py"),
    ]
    found = hashlib.sha256(f"{z3.get_version_string()} {find_jar().sha256}".encode())
    for file in files:
        found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()
