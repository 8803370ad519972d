"""Detect where two sides disagree, for every type of conflict (S4-13).

Sides that both have new messages do not conflict, and neither do equal values. Most conflicts show in what both sides
did to one key of the state; retracting a message also conflicts with answers to it on the other side.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from scopes.history.messages import is_root, message_id_of, read_message, read_message_at
from scopes.ids import MessageId, Oid
from scopes.merge.conflict_keys import agent_of, comparable_key, group_of, key_of_path, message_key, type_of
from scopes.merge.divergence import Divergence, PathChange, PathChanges, Side
from scopes.merge.statements import Restated
from scopes.model import encoding
from scopes.model.claims import CONFLICTS, ENTITIES, FILES, MESSAGES, PROPOSALS, content_of
from scopes.model.message import Message
from scopes.model.path_encoding import leaf
from scopes.model.tombstone import is_purged_copy
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Objects, read_commit
from scopes.store.trees import read_blob

_Value = TypeVar("_Value")
_RETRACTED = {"retracted": True}
_IN_FILES = f"{FILES}/"
_KINDS_BY_POSITION = frozenset({"answer", "tool-results"})


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A key that both sides changed differently.

    The messages are those that conflict without a claim of their own: answers, and copies with other content. The
    restated paths have the value of the base, which a commit of that side stated again.
    """

    key: str
    type: str
    target: PathChanges
    source: PathChanges
    target_messages: tuple[Oid, ...] = field(default=())
    source_messages: tuple[Oid, ...] = field(default=())
    target_restated: Mapping[str, Oid] = field(default_factory=dict)
    source_restated: Mapping[str, Oid] = field(default_factory=dict)


def find_disagreements(objects: Objects, divergence: Divergence) -> tuple[Disagreement, ...]:
    """Return all disagreements of two sides, sorted by key and type."""
    target, source = divergence.target, divergence.source
    purged: set[MessageId] = set()
    copies = list(_compare_content(objects, target, source, purged))
    found = [each for each in _compare_changes(objects, divergence) if not _is_without_hash(objects, each, purged)]
    found += _find_answers_to_retracted(objects, divergence, target, source)
    found += [_swap_sides(each) for each in _find_answers_to_retracted(objects, divergence, source, target)]
    found += copies
    unique = {(each.key, each.type): each for each in reversed(found)}
    return tuple(unique[key] for key in sorted(unique))


def _compare_changes(objects: Objects, divergence: Divergence) -> Iterator[Disagreement]:
    """Compare what both sides did to the keys that both changed or stated, and at least one of them changed."""
    sides, directory = (divergence.target, divergence.source), divergence.directory
    changes = [_by_comparable_key(side.changes, directory) for side in sides]
    restated = [_by_comparable_key(side.restated, directory) for side in sides]
    topics = changes[0].keys() & changes[1].keys()
    for side in (0, 1):
        topics |= changes[side].keys() & restated[1 - side].keys()
    for topic in topics:
        own = [each.get(topic, {}) for each in changes]
        again = [each.get(topic, {}) for each in restated]
        target, source = (_changes_with_restated(own[side], again[side], own[1 - side]) for side in (0, 1))
        spelled = {key_of_path(path) for path in (*target, *source)}
        key = spelled.pop() if len(spelled) == 1 and group_of(topic) != FILES else topic
        if group_of(key) == CONFLICTS:
            continue  # `records` merges them
        if group_of(key) == MESSAGES:
            kind = _type_on_message(objects, target, source)
        elif _is_same_outcome(target, source) or _is_withdrawal(key, target, source):
            kind = None
        else:
            added = all(change.old is None for changes in (target, source) for change in changes.values())
            kind = type_of(key, added=added)
        if kind is not None:
            authors = [{path: each.commit for path, each in paths.items()} for paths in again]
            yield Disagreement(key, kind, target, source, target_restated=authors[0], source_restated=authors[1])


def _by_comparable_key(
    by_key: Mapping[str, Mapping[str, _Value]], directory: str | None
) -> dict[str, Mapping[str, _Value]]:
    """Group values by path under the comparable keys: `Database` and `database ` are one topic."""
    found: dict[str, Mapping[str, _Value]] = {}
    for key, by_path in by_key.items():
        is_relative = key.startswith(_IN_FILES) and key.find("/", len(_IN_FILES)) > 0 and "worktrees/" not in key
        topic = key if is_relative else comparable_key(key, directory)  # the usual file: there may be thousands
        found[topic] = {**found[topic], **by_path} if topic in found else by_path
    return found


def _changes_with_restated(
    changes: PathChanges, restated: Mapping[str, Restated], changed_by_other: PathChanges
) -> PathChanges:
    """Return the changes of a side to a key, with what it stated again: all, or what the other side changed."""
    added = restated if not changes else restated.keys() & changed_by_other.keys()
    return {**changes, **{path: PathChange(restated[path].blob, restated[path].blob) for path in added}}


def _is_same_outcome(target: PathChanges, source: PathChanges) -> bool:
    """Return True if both sides have the same values, whichever agents set them."""
    here, there = (_values_by_topic(side) for side in (target, source))
    same_topics = all(here[topic] == there[topic] for topic in here.keys() & there.keys())
    return same_topics and set(here.values()) == set(there.values())


def _is_withdrawal(key: str, target: PathChanges, source: PathChanges) -> bool:
    """Return True if a side only removed claims of proposals, which were rejected, superseded or have expired.

    That is no other opinion about what is proposed on the other side, unless a value was accepted there.
    """
    if group_of(key) != PROPOSALS:
        return False
    accepted = any(group_of(path) == ENTITIES for path in (*target, *source))
    return not accepted and any(all(change.new is None for change in side.values()) for side in (target, source))


def _values_by_topic(side: PathChanges) -> dict[tuple[str, str | None], frozenset[Oid]]:
    """Return the new values of each topic and agent, in whatever spelling; none if they were removed."""
    found: dict[tuple[str, str | None], frozenset[Oid]] = {}
    for path, change in side.items():
        topic = comparable_key(key_of_path(path)), agent_of(path)
        values = frozenset() if change.new is None else frozenset({change.new})
        found[topic] = found.get(topic, frozenset()) | values
    return found


def _type_on_message(objects: Objects, target: PathChanges, source: PathChanges) -> str | None:
    retracted = [_RETRACTED in _read_claims(objects, changes) for changes in (target, source)]
    if all(retracted):
        return "delete-delete"
    if any(retracted):
        return "delete-edit"
    return None if _is_same_outcome(target, source) else "edit-edit"


def _read_claims(objects: Objects, changes: PathChanges) -> list[Any]:
    return [encoding.load(read_blob(objects, change.new)) for change in changes.values() if change.new is not None]


def _find_answers_to_retracted(
    objects: Objects, divergence: Divergence, retracting: Side, answering: Side
) -> Iterator[Disagreement]:
    """Find messages that one side retracted and the other one answered; the answering side becomes the source.

    An answer or a tool result directly after a message depends on it by position ("structural"); other answers name
    the message, by `reply_to` or by the id of a tool call ("delete-edit").
    """
    retracted = {
        key: changes
        for key, changes in retracting.changes.items()
        if key.startswith(MESSAGES)
        and group_of(key) == MESSAGES
        and key not in answering.changes
        and _RETRACTED in _read_claims(objects, changes)
    }
    if not retracted:
        return
    calls: dict[str, str] | None = None
    by_position: dict[str, list[Oid]] = {}
    by_name: dict[str, list[Oid]] = {}
    for commit in answering.commits:
        if is_root(commit):
            continue  # the root of an unrelated history
        message = read_message_at(objects, commit.tree)
        parent_keys = {message_key(message_id_of(read_commit(objects, parent))) for parent in commit.parents[:1]}
        if commit.kind in _KINDS_BY_POSITION and parent_keys & retracted.keys():
            by_position.setdefault(parent_keys.pop(), []).append(commit.oid)
            continue
        if calls is None and any(part.type == "tool_result" for part in message.parts):
            calls = _read_tool_calls(objects, divergence.bases, {key.partition("/")[2] for key in retracted})
        for key in _answered_keys(message, calls or {}) & retracted.keys():
            by_name.setdefault(key, []).append(commit.oid)
    for kind, answers in (("structural", by_position), ("delete-edit", by_name)):
        for key, oids in answers.items():
            unchanged = {path: PathChange(change.old, change.old) for path, change in retracted[key].items()}
            yield Disagreement(key, kind, retracted[key], unchanged, source_messages=tuple(oids))


def _read_tool_calls(objects: Objects, bases: tuple[Oid, ...], messages: set[str]) -> dict[str, str]:
    """Return the tool calls of the given messages in the history of the bases: message keys by call id."""
    found: dict[str, str] = {}
    missing = set(messages)
    for commit in walk_newest_first(objects, bases):
        if not missing:
            break
        message = message_id_of(commit)
        if message in missing:
            missing.discard(message)
            for part in read_message_at(objects, commit.tree).parts:
                call_id = part.fields.get("call_id")
                if part.type == "tool_call" and isinstance(call_id, str):
                    found[call_id] = message_key(message)
    return found


def _answered_keys(message: Message, calls: Mapping[str, str]) -> set[str]:
    """Return the keys of the messages that a message names as answered."""
    keys = {message_key(message.reply_to)} if message.reply_to is not None else set()
    call_ids = (part.fields.get("call_id") for part in message.parts if part.type == "tool_result")
    return keys | {calls[call_id] for call_id in call_ids if isinstance(call_id, str) and call_id in calls}


def _swap_sides(each: Disagreement) -> Disagreement:
    return Disagreement(each.key, each.type, each.source, each.target, each.source_messages, each.target_messages)


def _compare_content(objects: Objects, target: Side, source: Side, purged: set[MessageId]) -> Iterator[Disagreement]:
    """Find messages that both sides have with the same id and different content.

    One that was purged on a side is no conflict, and is added to `purged`.
    """
    in_target, in_source = _commits_by_message(target), _commits_by_message(source)
    for message in in_target.keys() & in_source.keys():
        oids = in_target[message].oid, in_source[message].oid
        here, there = (read_message(objects, oid) for oid in oids)
        if content_of(here) == content_of(there):
            continue
        if is_purged_copy(here, there) or is_purged_copy(there, here):
            purged.add(message)
            continue
        nothing = {leaf(MESSAGES, message): PathChange(None, None)}
        yield Disagreement(message_key(message), "add-add", nothing, nothing, oids[:1], oids[1:])


def _is_without_hash(objects: Objects, each: Disagreement, purged: Collection[MessageId]) -> bool:
    """Return True if a side has only lost the hash of a file, because what wrote it was purged there."""
    if not purged or group_of(each.key) != FILES:
        return False
    claims = [*_read_claims(objects, each.target), *_read_claims(objects, each.source)]
    return any(isinstance(claim, dict) and claim.get("unknown") in purged for claim in claims)


def _commits_by_message(side: Side) -> dict[MessageId, Commit]:
    return {message_id_of(commit): commit for commit in side.commits}
