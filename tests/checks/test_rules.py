"""The rules as a whole: documented, tested and told in a steady order."""

from __future__ import annotations

import re
from pathlib import Path

from eastwest.checks import RULES, Severity

from .test_seeded_faults import SEEDS

PAGE = Path(__file__).parents[2] / "docs" / "check-config.md"


def test_page_lists_every_rule_with_its_severity_and_words_and_no_other() -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (\w+) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(rule.name, rule.severity.value, rule.doc) for rule in RULES.values()]


def test_every_rule_that_finds_faults_has_a_seeded_one() -> None:
    faults = {name for name, rule in RULES.items() if rule.severity is not Severity.NOTE}
    # tried on files of their own in test_public_shapes
    elsewhere = {"key-twice", "class-split", "autoneg-mismatch", "name-twice"}
    elsewhere |= {"ecn-late-when-all-pause"}
    assert {rule for rule, _ in SEEDS.values()} == faults - elsewhere
