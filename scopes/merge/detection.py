"""Where two sides disagree: one detector for every type of conflict (S4-13).

Both sides going on is no conflict, and equal outcomes never are. Most disagreements show in what both sides did to one
subject of the state; what is said about messages also concerns those that the other side has answered meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from scopes.history.messages import KIND_TRAILER, is_root, message_id_of, read_message
from scopes.ids import MessageId, Oid
from scopes.merge.conflict_keys import MESSAGES, group_of, message_key, type_of
from scopes.merge.divergence import Divergence, Moves, PathChange, Side
from scopes.model import canonical
from scopes.model.claims import content_of
from scopes.model.message import Message
from scopes.model.path_encoding import leaf
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Objects, read_commit
from scopes.store.trees import read_blob

_RETRACTED = {"retracted": True}
_BY_PLACE = frozenset({"answer", "tool-results"})


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A subject that both sides have an own outcome for; the messages are those that say so where no claim does."""

    key: str
    type: str
    target: Moves
    source: Moves
    target_messages: tuple[Oid, ...] = field(default=())
    source_messages: tuple[Oid, ...] = field(default=())


def find_disagreements(objects: Objects, divergence: Divergence) -> tuple[Disagreement, ...]:
    """Return everything that the two sides disagree on, sorted by key and type."""
    target, source = divergence.target, divergence.source
    found = list(_on_subjects(objects, target.subjects, source.subjects))
    found += _on_answers(objects, divergence, target, source)
    found += [_mirrored(contest) for contest in _on_answers(objects, divergence, source, target)]
    found += _on_content(objects, target, source)
    unique = {(contest.key, contest.type): contest for contest in reversed(found)}
    return tuple(unique[place] for place in sorted(unique))


def _on_subjects(objects: Objects, ours: Mapping[str, Moves], theirs: Mapping[str, Moves]) -> Iterator[Disagreement]:
    """Compare what both sides did to the subjects that both have touched."""
    for key in ours.keys() & theirs.keys():
        target, source = ours[key], theirs[key]
        if group_of(key) == MESSAGES:
            kind = _type_on_message(objects, target, source)
        elif _agree(target, source):
            kind = None
        else:
            added = all(move.old is None for moves in (target, source) for move in moves.values())
            kind = type_of(key, added=added)
        if kind is not None:
            yield Disagreement(key, kind, target, source)


def _agree(target: Moves, source: Moves) -> bool:
    """Tell whether two sides say the same of a subject, whoever says it."""
    same_paths = all(target[path].new == source[path].new for path in target.keys() & source.keys())
    return same_paths and {move.new for move in target.values()} == {move.new for move in source.values()}


def _type_on_message(objects: Objects, target: Moves, source: Moves) -> str | None:
    said = [_claims(objects, moves) for moves in (target, source)]
    retracted = [_RETRACTED in claims for claims in said]
    if all(retracted):
        return "delete-delete"
    if any(retracted):
        return "delete-edit"
    return None if _agree(target, source) else "edit-edit"


def _claims(objects: Objects, moves: Moves) -> list[Any]:
    return [canonical.load(read_blob(objects, move.new)) for move in moves.values() if move.new is not None]


def _on_answers(objects: Objects, divergence: Divergence, retracting: Side, answering: Side) -> Iterator[Disagreement]:
    """Find what one side has answered and the other one taken back; the answering side stands as the source.

    A tool result or an answer that stands right on the message depends on it by its place; an answer from further away
    names it, by `reply_to` or by the id of a tool call.
    """
    retracted = {
        key: moves
        for key, moves in retracting.subjects.items()
        if group_of(key) == MESSAGES and key not in answering.subjects and _RETRACTED in _claims(objects, moves)
    }
    if not retracted:
        return
    calls: dict[str, str] | None = None
    by_place: dict[str, list[Oid]] = {}
    by_name: dict[str, list[Oid]] = {}
    for commit in answering.commits:
        if is_root(commit):
            continue  # of an unrelated history
        message = read_message(objects, commit.oid)
        below = {message_key(message_id_of(read_commit(objects, parent))) for parent in commit.parents[:1]}
        if commit.trailers.get(KIND_TRAILER) in _BY_PLACE and below & retracted.keys():
            by_place.setdefault(below.pop(), []).append(commit.oid)
            continue
        if calls is None and any(part.type == "tool_result" for part in message.parts):
            calls = _calls_of(objects, divergence.bases, {key.partition("/")[2] for key in retracted})
        for key in _named_by(message, calls or {}) & retracted.keys():
            by_name.setdefault(key, []).append(commit.oid)
    for kind, answers in (("structural", by_place), ("delete-edit", by_name)):
        for key, oids in answers.items():
            kept = {path: PathChange(move.old, move.old) for path, move in retracted[key].items()}
            yield Disagreement(key, kind, retracted[key], kept, source_messages=tuple(oids))


def _calls_of(objects: Objects, bases: tuple[Oid, ...], wanted: set[str]) -> dict[str, str]:
    """Return the tool calls of the wanted messages below the bases: the message's key by the call's id."""
    found: dict[str, str] = {}
    missing = set(wanted)
    for commit in walk_newest_first(objects, bases):
        if not missing:
            break
        identity = message_id_of(commit)
        if identity in missing:
            missing.discard(identity)
            for part in read_message(objects, commit.oid).parts:
                call = part.fields.get("call_id")
                if part.type == "tool_call" and isinstance(call, str):
                    found[call] = message_key(identity)
    return found


def _named_by(message: Message, calls: Mapping[str, str]) -> set[str]:
    """Return the keys of the messages that a message answers explicitly."""
    named = {message_key(message.reply_to)} if message.reply_to is not None else set()
    answered = (part.fields.get("call_id") for part in message.parts if part.type == "tool_result")
    return named | {calls[call] for call in answered if isinstance(call, str) and call in calls}


def _mirrored(contest: Disagreement) -> Disagreement:
    return Disagreement(
        contest.key, contest.type, contest.source, contest.target, contest.source_messages, contest.target_messages
    )


def _on_content(objects: Objects, target: Side, source: Side) -> Iterator[Disagreement]:
    """Find messages that both sides have under one id and with different content."""
    ours = _by_id(target.commits)
    theirs = _by_id(source.commits)
    for identity in ours.keys() & theirs.keys():
        mine, other = (content_of(read_message(objects, side[identity].oid)) for side in (ours, theirs))
        if mine != other:
            nothing = {leaf(MESSAGES, identity): PathChange(None, None)}
            places = (ours[identity].oid,), (theirs[identity].oid,)
            yield Disagreement(message_key(identity), "add-add", nothing, nothing, *places)


def _by_id(commits: tuple[Commit, ...]) -> dict[MessageId, Commit]:
    return {message_id_of(commit): commit for commit in commits}
