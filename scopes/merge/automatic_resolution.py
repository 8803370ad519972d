"""Resolve conflicts automatically: by the rules in the settings, then by the merge strategy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, get_args

from scopes.errors import Invalid, Refused
from scopes.merge.conflict_keys import folded, group_of, shown_key, value_field
from scopes.model.conflicts import CONFLICT_TYPES, PRIORITIES, Choice, Conflict, Position, Resolution
from scopes.model.message import URGENCIES
from scopes.result import Note
from scopes.store.config import Config

MergeStrategy: TypeAlias = Literal["automatic", "ours", "theirs", "manual"]
STRATEGIES: Final[tuple[str, ...]] = get_args(MergeStrategy)
RULES: Final = ("first", "second", "skip", "fail")
_CHOICE_OF_RULE: Final[Mapping[str, Choice]] = {"first": "target", "second": "source", "skip": "base"}
_CHOICE_OF_STRATEGY: Final[Mapping[str, Choice]] = {"ours": "target", "theirs": "source"}
_SPELLING: Final = "spelling"
_ACTOR: Final = "scopes"  # not who runs the merge: the merge commit is the same on every machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How to resolve conflicts (S4-14, S4-15): `rules` by conflict type, which come before the strategy."""

    strategy: str = "automatic"
    rules: Mapping[str, str] = field(default_factory=dict)
    auto_priority: bool = False
    strict: bool = False


def read_policy(config: Config, strategy: str, *, auto_priority: bool = False, strict: bool = False) -> Policy:
    """Read the rules from the settings `scopes.merge.rule.<type>`, and check the strategy.

    Raises:
        Invalid: there is no such strategy or rule.
    """
    if strategy not in STRATEGIES:
        raise Invalid(f"{strategy!a} is not a valid merge strategy", hint="strategies: " + ", ".join(STRATEGIES))
    rules = {kind: rule for kind in CONFLICT_TYPES if (rule := config.find(f"scopes.merge.rule.{kind}")) is not None}
    for kind, rule in rules.items():
        if rule not in RULES:
            key = f"scopes.merge.rule.{kind}"
            raise Invalid(f"{rule!a} is not a valid value of {key}", hint=f"it is one of: {', '.join(RULES)}")
    return Policy(strategy=strategy, rules=rules, auto_priority=auto_priority, strict=strict)


def auto_resolve(conflicts: Iterable[Conflict], policy: Policy) -> tuple[list[Conflict], list[Note]]:
    """Resolve conflicts by the rules or by the strategy; return all of them, and notes.

    The rules are used only if they cover the types of all conflicts.

    Raises:
        Refused: the rule for a conflict is `fail`.
    """
    proposed = [replace(conflict, automatic_resolution=_automatic(conflict, policy)) for conflict in conflicts]
    uncovered = sorted({conflict.type for conflict in proposed} - policy.rules.keys())
    notes = []
    if policy.rules and proposed and uncovered:
        text = f"the rules of the settings are not used: they do not cover {', '.join(uncovered)}"
        notes.append(Note(text, f"for example: scopes config set scopes.merge.rule.{uncovered[0]} first"))
    rules = {} if uncovered else policy.rules
    resolved = [_resolve_one(conflict, rules.get(conflict.type), policy) for conflict in proposed]
    notes += [_spelling_note(conflict) for conflict in resolved if _is_spelling(conflict)]
    return resolved, notes


def _is_spelling(conflict: Conflict) -> bool:
    return conflict.resolution is not None and conflict.resolution.strategy == _SPELLING


def _spelling_note(conflict: Conflict) -> Note:
    values = " and ".join(sorted({repr(each.value) for each in (*conflict.target, *conflict.source)}))
    return Note(f"{shown_key(conflict.key)}: {values} are taken as the same")


def _choose_spelling(conflict: Conflict) -> Choice | None:
    """Return the side to take if values differ in letter case and outer spaces only, the same in both directions."""
    target, source = ([each.value for each in side] for side in (conflict.target, conflict.source))
    values = [*target, *source]
    if not target or not source or not all(isinstance(value, str) for value in values):
        return None
    if value_field(conflict.key) is None or len({folded(value) for value in values}) != 1:
        return None
    return "target" if sorted(target) <= sorted(source) else "source"


def _automatic(conflict: Conflict, policy: Policy) -> Choice | None:
    """Return the choice of the automatic strategy; conflicts of high severity have none."""
    if conflict.type == "priority-disagreement" and policy.auto_priority:
        return _higher_priority(conflict)
    return CONFLICT_TYPES[conflict.type].automatic


def _higher_priority(conflict: Conflict) -> Choice | None:
    ranks = [_rank(side) for side in (conflict.target, conflict.source)]
    if None in ranks or group_of(conflict.key) != PRIORITIES:
        return None
    return "target" if (ranks[0] or 0) >= (ranks[1] or 0) else "source"


def _rank(positions: Iterable[Position]) -> int | None:
    values = [position.value for position in positions]
    if not values or any(value not in URGENCIES for value in values):
        return None
    return max(URGENCIES.index(value) for value in values)


def _resolve_one(conflict: Conflict, rule: str | None, policy: Policy) -> Conflict:
    if rule == "fail":
        raise Refused(
            f"a rule forbids merging conflicts of type {conflict.type}",
            hint=f"see it with --dry-run -c scopes.merge.rule.{conflict.type}=skip, or change the rule",
        )
    if rule is not None:
        return resolve(conflict, _CHOICE_OF_RULE[rule], f"rule {rule}", "scopes.merge.rule", _ACTOR)
    strategy = policy.strategy
    spelling = None if policy.strict or strategy == "manual" else _choose_spelling(conflict)
    if spelling is not None:
        return resolve(conflict, spelling, _SPELLING, "", _ACTOR)
    automatic = conflict.automatic_resolution
    stops = policy.strict and conflict.type != "delete-delete"
    if automatic is not None and strategy != "manual" and not stops:
        return resolve(conflict, automatic, "automatic", "", _ACTOR)
    if strategy in _CHOICE_OF_STRATEGY:
        return resolve(conflict, _CHOICE_OF_STRATEGY[strategy], strategy, "", _ACTOR)
    return conflict


def resolve(  # noqa: PLR0917 - the record of S4-57, in its order
    conflict: Conflict, choice: Choice, strategy: str, reason: str, actor: str, value: object = None
) -> Conflict:
    """Return the conflict as resolved, with the rejected values of both sides."""
    positions = {"target": conflict.target, "source": conflict.source, "base": conflict.base}.get(choice, ())
    values = [position.value for position in (*conflict.target, *conflict.source)]
    kept = values if choice == "both" else [position.value for position in positions]
    rejected = [value for number, value in enumerate(values) if value not in kept and value not in values[:number]]
    resolution = Resolution(strategy, choice, reason, actor, tuple(rejected), value)
    return replace(conflict, status="resolved", resolution=resolution)
