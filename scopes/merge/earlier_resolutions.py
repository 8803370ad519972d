"""Find how a conflict was resolved before: the reuse of recorded resolutions, as git's rerere does.

Two conflicts are the same question if they have the same type, the same key and the same two values, in either order.
The base does not count. What was chosen is mapped by value: the side that has the value now is taken, whatever it was
called then.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from scopes.clock import format_seconds
from scopes.history.messages import STATE_DIRECTORY, message_id_of, read_body
from scopes.history.revisions import list_branch_tips
from scopes.ids import ConversationId, Oid
from scopes.merge.conflict_keys import group_of, per_agent, value_field
from scopes.merge.divergence import state_of
from scopes.model import encoding
from scopes.model.claims import CONFLICTS, FILES, folded
from scopes.model.conflicts import (
    Choice,
    Conflict,
    EarlierResolution,
    Position,
    Resolution,
    decode_conflict,
    resolution_document,
)
from scopes.model.path_encoding import leaf
from scopes.store.graph import is_ancestor, walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Repository, read_tree
from scopes.store.trees import find_blob, find_entry, read_blob

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
