"""The rules that a canonical step is decided under, as part of its key.

The canonical form of a step says nothing of the rules. Where steps of different rules are kept
together, their keys are told apart by `salt_of`.
"""

from __future__ import annotations

import hashlib

from canvass.cluster.rules import Rules


def rules_name(rules: Rules) -> str:
    """Name the constants that a canonical step is decided under, the appointed leader apart."""
    hardening = ",".join(sorted(rules.hardening))
    return f"{rules.member_count}/{rules.revision}/{hardening}"


def salt_of(rules: Rules) -> int:
    """Give 64 bits that tell the canonical steps of different rules apart."""
    return int.from_bytes(hashlib.sha256(rules_name(rules).encode()).digest()[:8], "big")
