"""The rules for secrets as people read them."""

from __future__ import annotations

from scopes.secret_patterns import RULES
from scopes.secrets.list import explain_rules


def test_a_rule_names_each_beginning_once(repository, tmp_path):
    """A rule with two patterns of one beginning read `sk-, sk-`."""
    rules = {rule.rule: rule.looks_for for rule in explain_rules(repository, index_directory=str(tmp_path)).rules}
    assert rules["openai-key"] == "sk- and what has to follow"
    for text in rules.values():
        named = text.removesuffix(" and what has to follow").split(", ")
        assert len(named) == len(set(named))


def test_every_pattern_has_a_rule_that_is_explained(repository, tmp_path):
    explained = {rule.rule for rule in explain_rules(repository, index_directory=str(tmp_path)).rules}
    assert {rule.kind for rule in RULES} <= explained
