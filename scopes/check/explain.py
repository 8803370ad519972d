"""`check --list [RULE]`: the rules, their levels, parameters and meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

from scopes.check.findings import Level
from scopes.check.judge import is_about_calls, level_of
from scopes.check.policy import Policy
from scopes.check.rules.base import Rule
from scopes.check.rules.registry import RULES
from scopes.errors import NotFound
from scopes.result import INLINE, Column, Result

_ATTEMPTS = (
    "A call that was refused, and an edit or a read by a tool that failed, did nothing: one level less severe. A "
    "command that ran and failed keeps the level."
)


class ParameterRow(NamedTuple):
    """A parameter of a rule with its value in the policy."""

    name: str
    value: Any
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """A rule with its level in the policy; a rule of the policy itself is `own`.

    place: file and line of the policy that set it last, or define it; None for the defaults
    attempts: the level of findings about calls that did nothing; None for a rule that is not about single calls
    """

    id: str
    level: Level
    summary: str
    explanation: str
    own: bool = False
    parameters: tuple[ParameterRow, ...] = ()
    place: str | None = None
    attempts: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleList(Result):
    """The rules in the order in which they are reported."""

    rows_in = "rules"
    columns = (Column("id", "Rule"), Column("level", form="state"), Column("summary"))

    rules: tuple[RuleRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleExplained(Result):
    """One rule."""

    rule: RuleRow = field(metadata=INLINE)


def list_rules(policy: Policy) -> RuleList:
    """List the built-in rules and those of the policy."""
    return RuleList(rules=tuple(_rows(policy)), notes=policy.notes)


def explain_rule(policy: Policy, name: str) -> RuleExplained:
    """Return one rule.

    Raises:
        NotFound: there is no such rule; the hint names the nearest one.
    """
    rows = {row.id: row for row in _rows(policy)}
    if name not in rows:
        near = get_close_matches(name, rows, 1)
        raise NotFound(
            f"there is no rule {name!a}", hint=f"did you mean {near[0]}?" if near else "list them: scopes check --list"
        )
    return RuleExplained(rule=rows[name], notes=policy.notes)


def _rows(policy: Policy) -> list[RuleRow]:
    rows = []
    for rule in RULES.values():
        given = policy.parameters.get(rule.id, {})
        rows.append(
            RuleRow(
                id=rule.id,
                level=level_of(rule, policy),
                summary=rule.summary
                if _is_set(rule, given)
                else f"{rule.summary} (off until `{rule.requires}` is set)",
                explanation=rule.explanation,
                parameters=tuple(
                    ParameterRow(each.name, given.get(each.name, each.default), each.summary)
                    for each in rule.parameters
                ),
                place=_place(policy, policy.paths.get(rule.id), policy.lines.get(rule.id)),
                attempts=_ATTEMPTS if is_about_calls(rule.id) else None,
            )
        )
    return rows + [
        RuleRow(
            id=own.id,
            level=own.level,
            summary=own.message or own.expect,
            explanation=own.expect,
            own=True,
            place=_place(policy, own.path, own.line),
            attempts=_ATTEMPTS,
        )
        for own in policy.own_rules
    ]


def _is_set(rule: Rule, given: Mapping[str, Any]) -> bool:
    """Return True if a rule has the parameter without which it never applies."""
    return rule.requires is None or bool(given.get(rule.requires))


def _place(policy: Policy, path: str | None, line: int | None) -> str | None:
    return None if line is None else f"{path or policy.path}:{line}"
