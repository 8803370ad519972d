"""Every rule has a level in each preset, and a text that says what it decides from."""

from __future__ import annotations

import pytest

from scopes.check.explain import explain_rule
from scopes.check.judge import level_of
from scopes.check.policy import Policy
from scopes.check.rules.registry import RULES

LEVELS = {
    "run/missing": ("error", "error", "error"),
    "run/empty": ("error", "error", "error"),
    "run/incomplete": ("error", "error", "error"),
    "run/failed": ("error", "error", "error"),
    "run/lossy": ("warning", "warning", "warning"),
    "order/tests-after-last-edit": ("error", "error", "error"),
    "order/tests-passed": ("error", "error", "error"),
    "order/push-after-tests": ("off", "error", "off"),
    "shell/pipe-to-shell": ("error", "error", "error"),
    "shell/privilege": ("error", "error", "error"),
    "shell/publish": ("error", "error", "error"),
    "shell/install": ("note", "warning", "error"),
    "shell/opaque": ("note", "warning", "warning"),
    "shell/force-push": ("error", "error", "error"),
    "shell/no-verify": ("error", "error", "error"),
    "shell/history-loss": ("error", "error", "error"),
    "shell/push": ("off", "warning", "error"),
    "shell/recursive-delete": ("error", "error", "error"),
    "net/host": ("off", "off", "off"),
    "files/outside-workspace": ("error", "error", "error"),
    "files/protected": ("error", "error", "error"),
    "files/tests-weakened": ("warning", "error", "warning"),
    "files/changes": ("off", "off", "error"),
    "secrets/in-transcript": ("error", "error", "error"),
    "secrets/read": ("warning", "error", "warning"),
    "tools/undeclared": ("error", "error", "error"),
    "tools/denied": ("warning", "warning", "warning"),
    "tools/failures": ("warning", "warning", "warning"),
    "tools/loop": ("warning", "error", "warning"),
    "budget/cost": ("error", "error", "error"),
    "budget/tokens": ("error", "error", "error"),
    "budget/turns": ("error", "error", "error"),
    "budget/time": ("error", "error", "error"),
    "claim/tests": ("off", "warning", "off"),
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_has_a_sensible_level_in_each_preset(rule):
    presets = ("recommended", "strict", "read-only")
    assert tuple(level_of(RULES[rule], Policy(preset=preset)) for preset in presets) == LEVELS[rule]


@pytest.mark.parametrize("rule", RULES)
def test_each_explanation_says_more_than_the_summary(rule):
    row = explain_rule(Policy(), rule).rule
    assert len(row.explanation) > len(row.summary)
    assert all(each.summary for each in row.parameters)


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES.values() if rule.requires is not None], ids=lambda rule: rule.id
)
def test_a_rule_without_the_parameter_that_it_needs_is_listed_as_off(rule):
    """`budget/cost  error` looks like a limit that there is not."""
    off = f"{rule.summary} (off until `{rule.requires}` is set)"
    assert explain_rule(Policy(), rule.id).rule.summary == off
    given = Policy(parameters={rule.id: {rule.requires: ["Bash"] if rule.requires == "allow" else 1}})
    assert explain_rule(given, rule.id).rule.summary == rule.summary
