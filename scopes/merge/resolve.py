"""Resolve conflicts: by rules and strategies, by hand, and as the same question was resolved before (as git's rerere).

A resolution is a choice of a side or a value; `apply_choice` and `set_value` return what it changes in the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from shlex import quote
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from scopes.clock import format_seconds
from scopes.errors import Invalid, Refused
from scopes.history.messages import STATE_DIRECTORY, read_body
from scopes.history.names import list_branch_tips
from scopes.ids import ConversationId, Oid
from scopes.merge.compare import Disagreement, PathChange, PathChanges
from scopes.merge.keys import decoded_key, group_of, per_agent, value_field
from scopes.model import canonical_json
from scopes.model.canonical_json import encode_component, leaf
from scopes.model.conflicts import (
    CONFLICT_TYPES,
    ENDED,
    Choice,
    Conflict,
    EarlierResolution,
    Position,
    Resolution,
    Reused,
    decode_conflict,
)
from scopes.model.message import (
    CONFLICTS,
    ENTITIES,
    MESSAGES,
    PRIORITIES,
    PROPOSALS,
    URGENCIES,
    folded,
    parts_hash,
    text_parts,
)
from scopes.result import Note
from scopes.store.config import Config, check_key
from scopes.store.graph import walk_newest_first
from scopes.store.objects import BlobChange, Commit, Objects, find_blob, find_subtree, read_blob, read_commit, read_tree
from scopes.store.repository import Repository

MergeStrategy: TypeAlias = Literal["automatic", "ours", "theirs", "manual"]
STRATEGIES: Final[tuple[str, ...]] = get_args(MergeStrategy)
RULES: Final = ("first", "second", "skip", "fail")
_CHOICE_OF_RULE: Final[Mapping[str, Choice]] = {"first": "target", "second": "source", "skip": "base"}
CHOICE_OF_STRATEGY: Final[Mapping[str, Choice]] = {"ours": "target", "theirs": "source"}
"""The sides in the words of git, as strategies and as the side that a resolution takes."""
_SPELLING: Final = "spelling"
_ITSELF: Final = "scopes"  # the actor of what a merge resolves by itself: its commit is the same on every machine
BOTH: Final = "both"
_RECORDS: Final = f"{STATE_DIRECTORY}/{CONFLICTS}"
_Values: TypeAlias = tuple[bytes, ...]
_Question: TypeAlias = tuple[str, str, frozenset[_Values]]


class _Made(NamedTuple):
    """A record whose conflict a message resolved, and the time of that message in seconds."""

    record: Conflict
    resolution: Resolution
    time: int


class EarlierResolutions:
    """The resolutions that people made on the branches of a conversation and below further commits.

    Two conflicts are the same question if they have the same type, the same key and the same two values, in either
    order; the base does not count. What was chosen is mapped by value: the side that has the value now is taken,
    whatever it was called then. The history is read once, at the first question.
    """

    def __init__(self, repository: Repository, conversation: ConversationId, *tips: Oid) -> None:
        self._repository, self._conversation, self._more_tips = repository, conversation, tips

    def find(self, conflict: Conflict) -> tuple[EarlierResolution, ...]:
        """Return how the question of a conflict was resolved before, one for each outcome, the newest first.

        Several contradict each other.
        """
        question = _question_of(conflict)
        newest: dict[_Values | None, EarlierResolution] = {}
        for made in () if question is None else self._by_question.get(question, ()):
            resolution = made.resolution
            earlier = EarlierResolution(
                conflict=made.record.id,
                choice=_choice_with(conflict, made),
                values=chosen_values(made.record, resolution),
                actor=resolution.actor,
                reason=resolution.reason,
                time=format_seconds(made.time),
            )
            newest.setdefault(_outcome(made), earlier)
        return tuple(newest.values())

    @cached_property
    def _by_question(self) -> dict[_Question, list[_Made]]:
        """The resolutions, the newest first; the history is not read if no branch has a resolved conflict."""
        repository = self._repository
        tips = [*list_branch_tips(repository, self._conversation).values(), *self._more_tips]
        trees = {find_subtree(repository, read_commit(repository, tip).tree, _RECORDS) for tip in tips}
        blobs = {blob.oid for tree in trees if tree is not None for blob in read_tree(repository, tree).values()}
        is_any = any(decode_conflict(read_blob(repository, blob)).resolution is not None for blob in blobs)
        found: dict[_Question, list[_Made]] = {}
        for conflict, commit in walk_resolved(repository, dict.fromkeys(tips)) if is_any else ():
            blob = find_blob(repository, commit.tree, f"{STATE_DIRECTORY}/{leaf(CONFLICTS, conflict)}")
            record = None if blob is None else decode_conflict(blob)
            question = None if record is None else _question_of(record)
            if question is not None and record is not None and record.resolution is not None:
                found.setdefault(question, []).append(_Made(record, record.resolution, commit.time))
        return found


def list_order(conflict: Conflict) -> tuple[str, str]:
    """Return the sort key of conflicts that were not resolved automatically: their order is that of their numbers."""
    return conflict.key, conflict.id


def with_earlier(
    repository: Repository, conversation: ConversationId, conflicts: Iterable[Conflict], *tips: Oid
) -> tuple[Conflict, ...]:
    """Return the conflicts of a conversation, open ones first, in the order of their numbers.

    The open ones say how the same question was resolved before.
    """
    earlier = EarlierResolutions(repository, conversation, *tips)
    found = [each if each.status in ENDED else replace(each, earlier=earlier.find(each)) for each in conflicts]
    return tuple(sorted(found, key=lambda each: (each.status == "resolved", list_order(each))))


def walk_resolved(repository: Repository, tips: Iterable[Oid]) -> Iterator[tuple[str, Commit]]:
    """Yield the ids of the conflicts that people resolved in a history, each with the commit that did, newest first."""
    for commit in walk_newest_first(repository, tips):
        if commit.kind == "notice":
            match read_body(repository, commit).extra.get("conflict"):
                case {"id": str(conflict), "status": "resolved"}:
                    yield conflict, commit


def _question_of(conflict: Conflict) -> _Question | None:
    """Return type, key and the two values of a conflict; None if both sides have the same values."""
    sides = frozenset(_comparable(conflict.key, _values(side)) for side in (conflict.source, conflict.target))
    return (conflict.type, conflict.key, sides) if len(sides) == 2 else None


def _values(positions: Iterable[Position]) -> tuple[Any, ...]:
    return tuple(position.value for position in positions)


def _comparable(key: str, values: Iterable[Any]) -> _Values:
    """Return values in the form that they are compared in: texts of a topic folded, everything as JSON, sorted."""
    texts = value_field(key) is not None
    plain = (folded(value) if texts and isinstance(value, str) else value for value in values)
    return tuple(sorted({canonical_json.dump(value) for value in plain}))


def chosen_values(record: Conflict | None, resolution: Resolution) -> tuple[Any, ...]:
    """Return the values that a resolution chose of a record; none of a side if there is no record."""
    if resolution.choice == "value":
        return (resolution.value,)
    if record is None:
        return ()
    if resolution.choice == BOTH:
        unique = {canonical_json.dump(value): value for value in _values((*record.target, *record.source))}
        return tuple(unique[data] for data in sorted(unique))
    sides = {"target": record.target, "source": record.source, "base": record.base}
    return _values(sides.get(resolution.choice, ()))


def _outcome(made: _Made) -> _Values | None:
    """Return the values that a resolution led to, in their comparable form; None for both sides."""
    if made.resolution.choice == BOTH:
        return None
    return _comparable(made.record.key, chosen_values(made.record, made.resolution))


def _choice_with(conflict: Conflict, made: _Made) -> Choice | None:
    """Return the choice that gives a conflict the outcome of an earlier one; None if there is none."""
    outcome = _outcome(made)
    if outcome is None:
        return BOTH
    for choice, side in (("target", conflict.target), ("source", conflict.source), ("base", conflict.base)):
        if _comparable(conflict.key, _values(side)) == outcome:
            return choice
    is_text = value_field(conflict.key) is not None and len(outcome) == 1
    return "value" if made.resolution.choice == "value" or is_text else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How to resolve conflicts (S4-14, S4-15).

    `rules` by conflict type come before the strategy.
    """

    strategy: str = "automatic"
    rules: Mapping[str, str] = field(default_factory=dict)
    strict: bool = False


def read_policy(config: Config, strategy: str, *, strict: bool = False) -> Policy:
    """Read `scopes.merge.rule.<type>` from the settings, and check the strategy.

    Raises:
        Invalid: there is no such strategy; or a rule is for no type of conflict, or has another value.
    """
    if strategy not in STRATEGIES:
        raise Invalid(f"{strategy!a} is not a valid merge strategy", hint="strategies: " + ", ".join(STRATEGIES))
    for setting in config.walk():
        if setting.key.lower().startswith("scopes.merge.rule."):
            check_key(setting.key)
    rules = {kind: rule for kind in CONFLICT_TYPES if (rule := config.find(f"scopes.merge.rule.{kind}")) is not None}
    for kind, rule in rules.items():
        if rule not in RULES:
            key = f"scopes.merge.rule.{kind}"
            raise Invalid(f"{rule!a} is not a valid value of {key}", hint=f"it is one of: {', '.join(RULES)}")
    return Policy(strategy=strategy, rules=rules, strict=strict)


def auto_resolve(conflicts: Iterable[Conflict], policy: Policy) -> tuple[list[Conflict], list[Note]]:
    """Resolve conflicts by the rules or by the strategy; return all of them, and notes.

    The rules are used only if they cover the types of all conflicts.

    Raises:
        Refused: the rule for a conflict is `fail`.
    """
    proposed = [
        replace(conflict, automatic_resolution=CONFLICT_TYPES[conflict.type].automatic) for conflict in conflicts
    ]
    uncovered = sorted({conflict.type for conflict in proposed} - policy.rules.keys())
    notes = []
    if policy.rules and proposed and uncovered:
        text = f"the rules of the settings are not used: they do not cover {', '.join(uncovered)}"
        notes.append(Note(text, f"for example: scopes config scopes.merge.rule.{quote(uncovered[0])} first"))
    rules = {} if uncovered else policy.rules
    resolved = [_resolve_one(conflict, rules.get(conflict.type), policy) for conflict in proposed]
    for each in resolved:
        if each.resolution is not None and each.resolution.strategy == _SPELLING:
            values = " and ".join(sorted({repr(position.value) for position in (*each.target, *each.source)}))
            notes.append(Note(f"{decoded_key(each.key)}: {values} are taken as the same"))
    return resolved, notes


def _choose_spelling(conflict: Conflict) -> Choice | None:
    """Return the side to take if values differ in letter case and outer spaces only, the same in both directions."""
    target, source = _values(conflict.target), _values(conflict.source)
    if not target or not source or value_field(conflict.key) is None:
        return None
    if len(_comparable(conflict.key, (*target, *source))) != 1 or not all(isinstance(each, str) for each in target):
        return None
    return "target" if sorted(target) <= sorted(source) else "source"


def _resolve_one(conflict: Conflict, rule: str | None, policy: Policy) -> Conflict:
    if rule == "fail":
        raise Refused(
            f"a rule forbids merging conflicts of type {conflict.type}",
            hint=f"see it with --dry-run -c scopes.merge.rule.{conflict.type}=skip, or change the rule",
        )
    if rule is not None:
        return resolve(conflict, _CHOICE_OF_RULE[rule], f"rule {rule}", "scopes.merge.rule", _ITSELF)
    strategy = policy.strategy
    spelling = None if policy.strict or strategy == "manual" else _choose_spelling(conflict)
    if spelling is not None:
        return resolve(conflict, spelling, _SPELLING, "", _ITSELF)
    automatic = conflict.automatic_resolution
    stops = policy.strict and conflict.type != "delete-delete"
    if automatic is not None and strategy != "manual" and not stops:
        return resolve(conflict, automatic, "automatic", "", _ITSELF)
    if strategy in CHOICE_OF_STRATEGY:
        return resolve(conflict, CHOICE_OF_STRATEGY[strategy], strategy, "", _ITSELF)
    return conflict


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
    values = _values((*conflict.target, *conflict.source))
    sides = {"target": conflict.target, "source": conflict.source, "base": conflict.base}
    kept = values if choice == "both" else _values(sides.get(choice, ()))
    rejected = [value for number, value in enumerate(values) if value not in kept and value not in values[:number]]
    resolution = Resolution(strategy, choice, reason, actor, tuple(rejected), value, reused=reused)
    return replace(conflict, status="resolved", resolution=resolution)


def set_value(disagreement: Disagreement, value: Any, actor: str) -> dict[str, BlobChange]:
    """Return the changes to the target's state that replace the claims of both sides by a value.

    Raises:
        Invalid: the key cannot have this value.
    """
    path, claim = _claim_of_value(disagreement.key, value, actor)
    changes: dict[str, BlobChange] = dict.fromkeys([*disagreement.target, *disagreement.source])
    changes[path] = canonical_json.dump(claim)
    return changes


def apply_choice(objects: Objects, target: PathChanges, source: PathChanges, choice: Choice) -> dict[str, BlobChange]:
    """Return the changes to the target's state that apply a resolution to the paths of one key."""
    changes: dict[str, BlobChange] = {}
    for path in target.keys() | source.keys():
        in_target, in_source = target.get(path), source.get(path)
        change = in_target or in_source
        old = None if change is None else change.old
        match choice:
            case "target":
                changes[path] = old if in_target is None else in_target.new
            case "source":
                changes[path] = old if in_source is None else in_source.new
            case "base":
                changes[path] = old
            case "both":
                changes[path] = _keep_both(objects, in_target, in_source)
    return changes


def _keep_both(objects: Objects, target: PathChange | None, source: PathChange | None) -> BlobChange:
    """Return a value that holds the claims of both sides, in an order that does not depend on the side."""
    if target is None or source is None or target.new == source.new:
        return (target or source or PathChange(None, None)).new
    claims = [claim for change in (target, source) for claim in _read_claims(objects, change.new)]
    unique = {canonical_json.dump(claim): claim for claim in claims}
    return canonical_json.dump({BOTH: [unique[data] for data in sorted(unique)]})


def _read_claims(objects: Objects, blob: Oid | None) -> list[Any]:
    if blob is None:
        return [None]
    claim: Any = canonical_json.load(read_blob(objects, blob))
    match claim:
        case {"both": list(several), **rest} if not rest:
            return several
    return [claim]


def _claim_of_value(key: str, value: Any, actor: str) -> tuple[str, Any]:
    """Return the path and the claim that set a key to a value."""
    group, field = group_of(key), value_field(key)
    if group == PRIORITIES and value not in URGENCIES:
        raise Invalid(f"{value!a} is not a valid urgency", hint="one of: " + ", ".join(URGENCIES))
    if (field is not None or group == MESSAGES) and not value.strip():
        what = f"the {field} of {decoded_key(key)}" if field is not None else "the new text of a message"
        raise Invalid(f"{what} cannot be empty", hint="for example: --value 'as we agreed'")
    if field is not None:
        agent = f"/{encode_component(actor)}" if per_agent(key) else ""
        return f"{key}{agent}=", {field: value}
    if group == MESSAGES:
        return f"{key}=", {"amended": parts_hash(text_parts(value))}
    if group == PROPOSALS:
        return f"{ENTITIES}/{key.partition('/')[2]}=", {"value": value}
    raise Invalid(f"{decoded_key(key)} cannot be set to a value", hint="take a side: --take source or --take target")
