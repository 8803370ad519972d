"""Resolve conflicts automatically: by the rules in the settings, then by the merge strategy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any, Final, Literal, TypeAlias, get_args

from scopes.errors import Invalid, Refused
from scopes.merge.conflict_keys import decoded_key, folded, group_of, value_field
from scopes.merge.earlier_resolutions import EarlierResolutions
from scopes.model.claims import PRIORITIES
from scopes.model.conflicts import CONFLICT_TYPES, Choice, Conflict, EarlierResolution, Position, Resolution, Reused
from scopes.model.message import URGENCIES
from scopes.result import Note
from scopes.store.config import Config

MergeStrategy: TypeAlias = Literal["automatic", "ours", "theirs", "manual"]
STRATEGIES: Final[tuple[str, ...]] = get_args(MergeStrategy)
RULES: Final = ("first", "second", "skip", "fail")
REUSES: Final = ("show", "apply", "off")
REUSED: Final = "reused"
_REUSE_SETTING: Final = "scopes.merge.reuse"
_CHOICE_OF_RULE: Final[Mapping[str, Choice]] = {"first": "target", "second": "source", "skip": "base"}
CHOICE_OF_STRATEGY: Final[Mapping[str, Choice]] = {"ours": "target", "theirs": "source"}
"""The sides in the words of git, as strategies and as the side that a resolution takes."""
_SPELLING: Final = "spelling"
_ACTOR: Final = "scopes"  # not who runs the merge: the merge commit is the same on every machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How to resolve conflicts (S4-14, S4-15).

    The order is: `rules` by conflict type; with `reuse` "apply", an earlier resolution, if the strategy is automatic
    and the type has no rule; the strategy.
    """

    strategy: str = "automatic"
    rules: Mapping[str, str] = field(default_factory=dict)
    auto_priority: bool = False
    strict: bool = False
    reuse: str = "show"


def read_policy(config: Config, strategy: str, *, auto_priority: bool = False, strict: bool = False) -> Policy:
    """Read `scopes.merge.rule.<type>` and `scopes.merge.reuse` from the settings, and check the strategy.

    Raises:
        Invalid: there is no such strategy or rule, or the setting has another value.
    """
    if strategy not in STRATEGIES:
        raise Invalid(f"{strategy!a} is not a valid merge strategy", hint="strategies: " + ", ".join(STRATEGIES))
    rules = {kind: rule for kind in CONFLICT_TYPES if (rule := config.find(f"scopes.merge.rule.{kind}")) is not None}
    for kind, rule in rules.items():
        if rule not in RULES:
            key = f"scopes.merge.rule.{kind}"
            raise Invalid(f"{rule!a} is not a valid value of {key}", hint=f"it is one of: {', '.join(RULES)}")
    return Policy(strategy=strategy, rules=rules, auto_priority=auto_priority, strict=strict, reuse=read_reuse(config))


def read_reuse(config: Config) -> str:
    """Return the setting `scopes.merge.reuse`: "show" (the default), "apply" or "off".

    Raises:
        Invalid: it has another value.
    """
    reuse = config.find(_REUSE_SETTING) or REUSES[0]
    if reuse not in REUSES:
        raise Invalid(f"{reuse!a} is not a valid value of {_REUSE_SETTING}", hint=f"it is one of: {', '.join(REUSES)}")
    return reuse


def auto_resolve(
    conflicts: Iterable[Conflict], policy: Policy, earlier: EarlierResolutions | None = None
) -> tuple[list[Conflict], list[Note]]:
    """Resolve conflicts by the rules or by the strategy; return all of them, and notes.

    The rules are used only if they cover the types of all conflicts. `earlier` is not read if `policy.reuse` is "off".

    Raises:
        Refused: the rule for a conflict is `fail`.
    """
    proposed = [replace(conflict, automatic_resolution=_automatic(conflict, policy)) for conflict in conflicts]
    uncovered = sorted({conflict.type for conflict in proposed} - policy.rules.keys())
    notes = []
    if policy.rules and proposed and uncovered:
        text = f"the rules of the settings are not used: they do not cover {', '.join(uncovered)}"
        notes.append(Note(text, f"for example: scopes config set scopes.merge.rule.{quote(uncovered[0])} first"))
    rules = {} if uncovered else policy.rules
    known = None if policy.reuse == "off" else earlier
    resolved = [_resolve_one(conflict, rules.get(conflict.type), policy, known) for conflict in proposed]
    notes += [_spelling_note(conflict) for conflict in resolved if _is_spelling(conflict)]
    notes += [note for conflict in resolved for note in _reuse_notes(conflict)]
    return resolved, notes


def _is_spelling(conflict: Conflict) -> bool:
    return conflict.resolution is not None and conflict.resolution.strategy == _SPELLING


def _spelling_note(conflict: Conflict) -> Note:
    values = " and ".join(sorted({repr(each.value) for each in (*conflict.target, *conflict.source)}))
    return Note(f"{decoded_key(conflict.key)}: {values} are taken as the same")


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


def _resolve_one(
    conflict: Conflict,
    rule: str | None,
    policy: Policy,
    resolutions: EarlierResolutions | None,
) -> Conflict:
    if rule == "fail":
        raise Refused(
            f"a rule forbids merging conflicts of type {conflict.type}",
            hint=f"see it with --dry-run -c scopes.merge.rule.{conflict.type}=skip, or change the rule",
        )
    if rule is not None:
        return resolve(conflict, _CHOICE_OF_RULE[rule], f"rule {rule}", "scopes.merge.rule", _ACTOR)
    strategy = policy.strategy
    earlier = () if resolutions is None else resolutions.find(conflict)
    if policy.reuse == "apply" and strategy == "automatic" and conflict.type not in policy.rules:
        reused = _reuse(conflict, earlier)
        if reused is not None and resolutions is not None and not resolutions.has_newer_statement(conflict):
            return reused
    spelling = None if policy.strict or strategy == "manual" else _choose_spelling(conflict)
    if spelling is not None:
        return resolve(conflict, spelling, _SPELLING, "", _ACTOR)
    automatic = conflict.automatic_resolution
    stops = policy.strict and conflict.type != "delete-delete"
    if automatic is not None and strategy != "manual" and not stops:
        return resolve(conflict, automatic, "automatic", "", _ACTOR)
    if strategy in CHOICE_OF_STRATEGY:
        return resolve(conflict, CHOICE_OF_STRATEGY[strategy], strategy, "", _ACTOR)
    return replace(conflict, earlier=earlier)


def _reuse(conflict: Conflict, earlier: Sequence[EarlierResolution]) -> Conflict | None:
    """Return a conflict as resolved in the way it was resolved before; None if that is contradictory or impossible.

    A value that neither side has needs a message that states it, which a merge does not write: `--as-before` does.
    """
    if len(earlier) != 1 or earlier[0].choice in {None, "value"}:
        return None
    return resolve_as_before(conflict, earlier[0], earlier[0].reason, _ACTOR)


def choice_of(earlier: EarlierResolution) -> tuple[Choice, Any]:
    """Return choice and value that repeat an earlier resolution; its choice must not be None."""
    choice = earlier.choice or "target"
    return choice, earlier.values[0] if choice == "value" else None


def resolve_as_before(conflict: Conflict, earlier: EarlierResolution, reason: str, actor: str) -> Conflict:
    """Return the conflict as resolved with the outcome of an earlier resolution; its choice must not be None."""
    choice, value = choice_of(earlier)
    reused = Reused(earlier.conflict, earlier.actor, earlier.reason)
    return resolve(conflict, choice, REUSED, reason, actor, value, reused)


def _reuse_notes(conflict: Conflict) -> list[Note]:
    """Return a note about a conflict that was resolved as before."""
    reused = None if conflict.resolution is None else conflict.resolution.reused
    if reused is None:
        return []
    because = f", because {reused.reason}" if reused.reason else ""
    text = f"{decoded_key(conflict.key)}: resolved as before by {reused.actor}{because} (conflict {reused.conflict})"
    return [Note(text, "to decide again: scopes undo, then merge with -c scopes.merge.reuse=show")]


def resolve(  # noqa: PLR0917 - the record of S4-57, in its order
    conflict: Conflict,
    choice: Choice,
    strategy: str,
    reason: str,
    actor: str,
    value: object = None,
    reused: Reused | None = None,
) -> Conflict:
    """Return the conflict as resolved, with the rejected values of both sides."""
    positions = {"target": conflict.target, "source": conflict.source, "base": conflict.base}.get(choice, ())
    values = [position.value for position in (*conflict.target, *conflict.source)]
    kept = values if choice == "both" else [position.value for position in positions]
    rejected = [value for number, value in enumerate(values) if value not in kept and value not in values[:number]]
    resolution = Resolution(strategy, choice, reason, actor, tuple(rejected), value, reused=reused)
    return replace(conflict, status="resolved", resolution=resolution)
