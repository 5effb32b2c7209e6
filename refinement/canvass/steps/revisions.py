"""The overrides of a configuration whose members follow other rules than those of Aeron 1.50.

``Election.tla``, ``Replication.tla`` and ``MemberState.tla`` are Aeron 1.50. ``Rev149.tla``,
``UpstreamFix.tla`` and ``Hardened.tla`` define operators that take the place of some of theirs:
``HZ1_CountedPosition`` that of ``CountedPosition``, for members hardened against HZ1.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Final

from canvass.spec.files import find_file

MODULES: Final = ("Rev149", "UpstreamFix", "Hardened")
_PREFIX_OF: Final = {"1.49": "Rev149", "1.50": "", "upstream-fix": "UpstreamFix"}
_OVERRIDE: Final = re.compile(r"^(Rev149|UpstreamFix|HZ\d+)_(\w+)(?:\(|\s*==)", re.MULTILINE)


@cache
def _overridden(root: Path | None) -> tuple[tuple[str, str], ...]:
    """The prefix and the rule of each override."""
    texts = (find_file(f"{name}.tla", root).read_text(encoding="utf-8") for name in MODULES)
    return tuple((one[1], one[2]) for text in texts for one in _OVERRIDE.finditer(text))


def overrides(
    revision: str, hardening: Collection[str], root: Path | None = None
) -> dict[str, str]:
    """Give the constants of a configuration that name the rules of a revision and of hardenings.

    Parameters
    ----------
    revision
        ``1.49``, ``1.50`` or ``upstream-fix``. Where a hardening overrides the same rule, the
        revision's is in force.
    hardening
        The hazards against which the members are hardened.
    root
        The spec folder; null for the one that canvass carries.

    Returns
    -------
    dict
        For the name of each rule ``<- operator``.
    """
    prefixes = [*sorted(hardening), _PREFIX_OF[revision]]
    return {
        rule: f"<- {prefix}_{rule}"
        for wanted in prefixes
        for prefix, rule in _overridden(root)
        if prefix == wanted
    }
