"""The list of all built-in rules, in the order in which they are reported."""

from __future__ import annotations

from scopes.check.rules import budget, claims, deletion, files, git, missing, net, order, run, secrets, shell, tools
from scopes.check.rules.base import Parameter, Rule

RULES: dict[str, Rule] = {
    rule.id: rule
    for group in (missing, run, order, shell, git, deletion, net, files, secrets, tools, budget, claims)
    for rule in group.RULES
}
PARAMETERS: dict[str, tuple[Parameter, ...]] = {name: rule.parameters for name, rule in RULES.items()}
