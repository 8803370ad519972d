"""Find how a conflict was resolved before: the reuse of recorded resolutions, as git's rerere does.

Two conflicts are the same question if they have the same type, the same key and the same two values, in either order.
The base does not count. What was chosen is mapped by value: the side that has the value now is taken, whatever it was
called then.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from shlex import quote
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from scopes.clock import format_seconds
from scopes.errors import Invalid, Refused
from scopes.history.messages import STATE_DIRECTORY, message_id_of, read_body
from scopes.history.names import list_branch_tips
from scopes.ids import ConversationId, Oid
from scopes.merge.compare import Disagreement, PathChange, PathChanges, state_of
from scopes.merge.keys import decoded_key, group_of, per_agent, value_field
from scopes.model import encoding
from scopes.model.conflicts import (
    CONFLICT_TYPES,
    Choice,
    Conflict,
    EarlierResolution,
    Position,
    Resolution,
    Reused,
    decode_conflict,
    resolution_document,
)
from scopes.model.encoding import encode_component, leaf
from scopes.model.message import (
    CONFLICTS,
    ENTITIES,
    FILES,
    MESSAGES,
    PRIORITIES,
    PROPOSALS,
    URGENCIES,
    folded,
    parts_hash,
    text_parts,
)
from scopes.result import Note
from scopes.store.config import Config
from scopes.store.graph import is_ancestor, walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Objects, Repository, read_tree
from scopes.store.trees import BlobChange, find_blob, find_entry, read_blob

_ITSELF = "scopes"  # the actor of what a merge resolved by itself
_Values: TypeAlias = tuple[bytes, ...]
_Question: TypeAlias = tuple[str, str, frozenset[_Values]]


class _Outcome(NamedTuple):
    """What a resolution led to: both sides, or the values in their comparable form."""

    both: bool
    values: _Values


class _Found(NamedTuple):
    """A resolution with the record that it is in."""

    record: Conflict
    resolution: Resolution
    outcome: _Outcome


class EarlierResolutions:
    """The resolutions recorded on the branches of a conversation and in further commits; read at the first use."""

    def __init__(self, repository: Repository, conversation: ConversationId, *tips: Oid) -> None:
        self._repository = repository
        self._conversation = conversation
        self._more_tips = tips
        self._times: dict[tuple[Any, ...], int] = {}
        self._commits: dict[tuple[Any, ...], Oid] = {}  # of the notices

    def find(self, conflict: Conflict) -> tuple[EarlierResolution, ...]:
        """Return how the question of a conflict was resolved before, one for each outcome, the newest first.

        Several contradict each other.
        """
        question = _question_of(conflict)
        found = [] if question is None else self._by_question.get(question, [])
        self._read_times_of(found)
        newest: dict[_Outcome, EarlierResolution] = {}
        for each in sorted(
            found, key=lambda one: (self._times.get(_identity(one)) or 0, one.record.id, _dump(one)), reverse=True
        ):
            if each.outcome not in newest:
                newest[each.outcome] = _earlier(conflict, each, self._times.get(_identity(each)))
        return tuple(newest.values())

    def has_newer_statement(self, conflict: Conflict) -> bool:
        """Return True if a side stated its value again after the resolutions of the question, in a history with one."""
        question = _question_of(conflict)
        found = [] if question is None else self._by_question.get(question, [])
        self._read_times_of(found)
        notices = {self._commits[_identity(each)] for each in found if _identity(each) in self._commits}
        stated = {each.message for side in (conflict.target, conflict.source) for each in side}
        missing = set(notices)
        for commit in walk_newest_first(self._repository, self._tips) if notices else ():
            if not missing:
                break
            missing.discard(commit.oid)
            if message_id_of(commit) not in stated or commit.oid in notices:
                continue
            is_after = any(is_ancestor(self._repository, notice, commit.oid) for notice in notices)
            if is_after and not any(is_ancestor(self._repository, commit.oid, notice) for notice in notices):
                return True
        return False

    @cached_property
    def _tips(self) -> list[Oid]:
        tips = list_branch_tips(self._repository, self._conversation).values()
        return list(dict.fromkeys((*tips, *self._more_tips)))

    @cached_property
    def _by_question(self) -> dict[_Question, list[_Found]]:
        found: dict[_Question, list[_Found]] = {}
        for record in self._walk_records():
            question = _question_of(record)
            if question is not None and record.resolution is not None:
                made = (record.resolution, *record.resolution.also)
                for resolution in (each for each in made if each.actor != _ITSELF):
                    each = _Found(record, resolution, _outcome(record, resolution))
                    found.setdefault(question, []).append(each)
        return found

    def _walk_records(self) -> Iterator[Conflict]:
        """Yield each record in the states of the tips once."""
        trees, blobs = set[Oid](), set[Oid]()
        for tip in self._tips:
            state = state_of(self._repository, tip)
            entry = None if state is None else find_entry(self._repository, state, CONFLICTS)
            if entry is not None and entry.is_tree and entry.oid not in trees:
                trees.add(entry.oid)
                blobs |= {blob.oid for blob in read_tree(self._repository, entry.oid).values()}
        yield from (decode_conflict(read_blob(self._repository, blob)) for blob in sorted(blobs))

    def _read_times_of(self, wanted: Iterable[_Found]) -> None:
        """Read when resolutions were made, in seconds, from the messages that made them.

        The history is walked once for all conflicts, and only as far as needed.
        """
        missing = {_identity(each) for each in wanted} - self._times.keys()
        while missing and (made := next(self._notices, None)) is not None:
            identity, commit = made
            self._times.setdefault(identity, commit.time)
            self._commits.setdefault(identity, commit.oid)
            missing.discard(identity)

    @cached_property
    def _notices(self) -> Iterator[tuple[tuple[Any, ...], Commit]]:
        """The resolutions that notices in the history made, each with its commit, newest first."""
        return self._walk_notices({each.record.id for found in self._by_question.values() for each in found})

    def _walk_notices(self, ids: Container[str]) -> Iterator[tuple[tuple[Any, ...], Commit]]:
        for commit in walk_newest_first(self._repository, self._tips):
            if commit.kind != "notice":
                continue
            match read_body(self._repository, commit).extra.get("conflict"):
                case {"id": str(identity), "status": "resolved"} if identity in ids:
                    blob = find_blob(self._repository, commit.tree, f"{STATE_DIRECTORY}/{leaf(CONFLICTS, identity)}")
                    record = None if blob is None else decode_conflict(blob)
                    if record is not None and record.resolution is not None:
                        made = _Found(record, record.resolution, _outcome(record, record.resolution))
                        yield _identity(made), commit


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
    return tuple(sorted({encoding.dump(value) for value in plain}))


def _chosen_values(record: Conflict, resolution: Resolution) -> tuple[Any, ...]:
    match resolution.choice:
        case "value":
            return (resolution.value,)
        case "both":
            unique = {encoding.dump(value): value for value in _values((*record.target, *record.source))}
            return tuple(unique[data] for data in sorted(unique))
    sides = {"target": record.target, "source": record.source, "base": record.base}
    return _values(sides.get(resolution.choice, ()))


def _outcome(record: Conflict, resolution: Resolution) -> _Outcome:
    both = resolution.choice == "both"
    return _Outcome(both, () if both else _comparable(record.key, _chosen_values(record, resolution)))


def _earlier(conflict: Conflict, found: _Found, time: int | None) -> EarlierResolution:
    resolution = found.resolution
    return EarlierResolution(
        conflict=found.record.id,
        choice=_choice_with(conflict, found),
        values=_chosen_values(found.record, resolution),
        actor=resolution.actor,
        reason=resolution.reason,
        time=None if time is None else format_seconds(time),
    )


def _choice_with(conflict: Conflict, found: _Found) -> Choice | None:
    """Return the choice that gives a conflict the outcome of an earlier one; None if there is none."""
    if found.outcome.both:
        return "both" if _can_hold_both(conflict) else None
    sides = {"target": conflict.target, "source": conflict.source, "base": conflict.base}
    for choice, positions in sides.items():
        if _comparable(conflict.key, _values(positions)) == found.outcome.values:
            return choice
    is_text = value_field(conflict.key) is not None and len(found.outcome.values) == 1
    return "value" if found.resolution.choice == "value" or is_text else None


def _can_hold_both(conflict: Conflict) -> bool:
    """Return True if the claims of both sides fit below the key: files, or claims of different agents."""
    agents = [{position.agent for position in side} for side in (conflict.target, conflict.source)]
    return group_of(conflict.key) == FILES or (per_agent(conflict.key) and not agents[0] & agents[1])


def _identity(found: _Found) -> tuple[Any, ...]:
    resolution = found.resolution
    return found.record.id, resolution.strategy, resolution.actor, resolution.reason, found.outcome


def _dump(found: _Found) -> bytes:
    return encoding.dump(resolution_document(found.resolution))


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


BOTH = "both"


def apply_resolution(objects: Objects, disagreement: Disagreement, resolution: Resolution) -> dict[str, BlobChange]:
    """Return the changes to the target's state that apply a resolution which needs no checks."""
    if resolution.choice != "value":
        return apply_choice(objects, disagreement.target, disagreement.source, resolution.choice)
    actor = resolution.actor if resolution.reused is None else resolution.reused.actor
    return set_value(disagreement, resolution.value, actor)


def set_value(disagreement: Disagreement, value: Any, actor: str) -> dict[str, BlobChange]:
    """Return the changes to the target's state that replace the claims of both sides by a value.

    Raises:
        Invalid: the key cannot have this value.
    """
    path, claim = _claim_of_value(disagreement.key, value, actor)
    changes: dict[str, BlobChange] = dict.fromkeys([*disagreement.target, *disagreement.source])
    changes[path] = encoding.dump(claim)
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
    unique = {encoding.dump(claim): claim for claim in claims}
    return encoding.dump({BOTH: [unique[data] for data in sorted(unique)]})


def _read_claims(objects: Objects, blob: Oid | None) -> list[Any]:
    if blob is None:
        return [None]
    claim: Any = encoding.load(read_blob(objects, blob))
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
