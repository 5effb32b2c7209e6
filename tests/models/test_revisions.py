"""A configuration overrides what its revision and its hardenings override, and no other rule."""

from __future__ import annotations

import re

from canvass.cluster.rules import HAZARDS
from canvass.spec.files import spec_root
from canvass.spec.manifest import load_manifest
from canvass.steps.oracle import REVISION_MODULES, overrides
from support.findings import config_of

MODELS = load_manifest().models
RULES = ("MemberState", "Election", "Replication")


def test_the_overrides_are_those_of_the_named_rules() -> None:
    """A mutant, or a model that tries another rule, may replace one of them."""
    for model in MODELS:
        constants = config_of(model).constants
        (revision,) = re.findall(r'"(.*)"', constants["Revision"])
        wanted = overrides(revision, re.findall(r'"(.*?)"', constants["Hardening"]))
        given = {
            rule: by
            for rule, by in constants.items()
            if re.match(r"<- (Rev149|UpstreamFix|HZ\d+)_", by)
        }
        replaced = wanted.keys() - given.keys()

        kept = {rule: by for rule, by in wanted.items() if rule not in replaced}
        assert given == kept, model.name
        assert replaced <= constants.keys(), model.name
        assert len(replaced) <= 1, model.name


def test_a_revision_is_a_module() -> None:
    """No rule of 1.50 asks which revision is in force."""
    for name in (*RULES, *REVISION_MODULES):
        text = (spec_root() / f"{name}.tla").read_text(encoding="utf-8")
        text = re.sub(r"\\\*.*", "", text)
        assert not re.search(r"\bRevision\b|\bHardening\b|IsRev149|IsUpstreamFix|IsHardened", text)


def test_each_override_is_of_a_rule_of_1_50() -> None:
    texts = [(spec_root() / f"{name}.tla").read_text(encoding="utf-8") for name in RULES]
    defined = set(re.findall(r"^(\w+)(?:\(| ==)", "\n".join(texts), re.MULTILINE))
    each = [*(overrides("1.50", [hazard]) for hazard in sorted(HAZARDS)), overrides("1.49", ())]
    each.append(overrides("upstream-fix", ()))

    assert all(one.keys() <= defined for one in each)
    assert all(each)
