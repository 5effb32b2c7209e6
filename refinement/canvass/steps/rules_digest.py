"""The rules that a canonical step is decided under, as part of its key.

The canonical form of a step does not contain the rules. `rules_digest` distinguishes the keys of
steps of different rules in one table.
"""

from __future__ import annotations

import hashlib

from canvass.cluster.rules import Rules


def rules_name(rules: Rules) -> str:
    """Name the constants that a canonical step is decided under, the appointed leader apart."""
    hardening = ",".join(sorted(rules.hardening))
    return f"{rules.member_count}/{rules.revision}/{hardening}"


def rules_digest(rules: Rules) -> int:
    """Give 64 bits that distinguish the canonical steps of different rules."""
    return int.from_bytes(hashlib.sha256(rules_name(rules).encode()).digest()[:8], "big")
