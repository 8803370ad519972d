"""What a context can be made of: the turns of one conversation, or of all that belong to a work item (S1-18)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from scopes.context.file_states import file_states
from scopes.context.files import TouchedFile
from scopes.context.turns import Turn, make_turn, may_speak
from scopes.conversation.files import file_operations
from scopes.errors import NotFound
from scopes.history.amendments import Amendment, find_amendments, latest
from scopes.history.messages import (
    MessageHead,
    read_message,
    read_message_bytes,
    walk_heads_newest_first,
    walk_heads_oldest_first,
)
from scopes.history.metadata import read_metadata
from scopes.history.revparse import Revision, choose_active_branch, resolve_revision
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.model.canonical import dump
from scopes.model.codec import decode
from scopes.model.message import Message
from scopes.result import Note
from scopes.sanitize import as_content
from scopes.store.refs import ACTIVE, HEADS, active_ref, split_branch_ref
from scopes.store.repository import Repository

_READING = frozenset({"read", "mention"})
_SUMMARISING = frozenset({"compaction", "summary"})


class ExcludedMessage(NamedTuple):
    """A message that is no turn, by its number in its session, and why."""

    session: str
    number: int
    reason: str


@dataclass(slots=True)
class Collected:
    """Turns oldest first; `filtered` messages were left out of them, `messages` is how many there are in all.

    `unread` ones are older than what could fit, and `summarized` ones are what a summary stands for; both are turns as
    far as their commits tell.
    `files` are the last touched first, each once, `sessions` the ids of conversations, the newest last. `summary` is
    what the history before the first turn came to, where a message says that.
    """

    turns: list[Turn] = field(default_factory=list)
    files: list[TouchedFile] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    messages: int = 0
    filtered: int = 0
    unread: int = 0
    summarized: int = 0
    summary: str | None = None
    left_out: list[ExcludedMessage] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def find_sessions(repository: Repository, where: str | None, work_item: str | None, at: str | None) -> list[Revision]:
    """Return the points up to which history counts: the one named, or those with the work item, oldest first.

    Raises:
        NotFound, Ambiguous, Invalid: there is no such conversation or message, or nothing with that work item.
    """
    named = None if where is None else resolve_revision(repository, where)
    if named is not None and at is not None:
        named = resolve_revision(repository, at, named.conversation)
    if work_item is None:
        if named is None:
            raise NotFound("no conversation is named", hint="name one, or a work item: --work-item ID")
        return [named]
    known = None if named is None else named.conversation
    places = [place for place in find_work(repository, work_item) if place.conversation != known]
    if named is not None:
        places.append(named)
    if not places:
        raise NotFound(f"no message is for the work item {work_item!a}", hint="see: scopes conv list")
    return places


class ReadLimits(NamedTuple):
    """How much of each session is read: from its last compaction or its beginning, at most so many messages."""

    every: bool = False
    work_item: str | None = None
    most: int = sys.maxsize
    as_recorded: bool = False  # whether files are wanted as they were, not as they are
    verbatim: int | None = None  # beyond so many messages a summary stands for the older ones, where there is one


def collect(repository: Repository, places: Sequence[Revision], extent: ReadLimits) -> Collected:
    """Read the messages of all sessions."""
    material = Collected()
    files: dict[str, TouchedFile] = {}
    for place in places:
        _add_session(repository, place, extent, material, files)
    for turn in material.turns:
        turn.named = len(places) > 1
    material.files = list(reversed(files.values()))
    if extent.as_recorded:
        _add_states(repository, places[-1], material)
    return material


def _add_session(
    repository: Repository, place: Revision, extent: ReadLimits, material: Collected, files: dict[str, TouchedFile]
) -> None:
    heads = list(walk_heads_oldest_first(repository, [place.oid]))
    material.sessions.append(place.conversation)
    material.messages += len(heads)
    if not heads:
        _describe_empty(repository, place.conversation, material)
    start = 0
    root = None if extent.every else _find_root(repository, heads)
    if root is not None:
        material.summary = as_content(read_message(repository, heads[root].oid).text)
        start = root + 1
    start = max(start, _summarized_before(repository, heads, start, extent, material))
    older = [position for position in range(start) if position != root]
    material.filtered += len(older)
    material.summarized += sum(may_speak(heads[position]) for position in older)
    material.left_out += [ExcludedMessage(place.conversation, position + 1, "summarized") for position in older]
    if root is not None:
        material.left_out.append(ExcludedMessage(place.conversation, root + 1, "is the summary at the beginning"))
    first = max(start, len(heads) - extent.most)
    material.unread += sum(map(may_speak, heads[start:first]))
    revisions = find_amendments(repository, place.oid, heads[first:])
    for number, head in enumerate(heads[first:], start=first + 1):
        message = _current(read_message(repository, head.oid), revisions, extent.work_item)
        if message is not None:
            _note_files(message, number, files)
        turn = None if message is None else make_turn(number, place.conversation, head, message)
        if turn is None:
            material.filtered += 1
            reason = "revised, or for other work" if message is None else "says nothing to a model"
            material.left_out.append(ExcludedMessage(place.conversation, number, reason))
        else:
            material.turns.append(turn)


def _summarized_before(
    repository: Repository, heads: Sequence[MessageHead], start: int, extent: ReadLimits, material: Collected
) -> int:
    """Let a summary stand for the older ones of many messages (S3-14); return how many messages those are."""
    if extent.verbatim is None or len(heads) - start <= extent.verbatim:
        return start
    for position in reversed(range(start, len(heads))):
        if heads[position].kind == "summary":
            said = as_content(read_message(repository, heads[position].oid).text)
            material.summary = "\n\n".join(filter(None, (material.summary, said)))
            return min(position, len(heads) - extent.verbatim)
    return start


def _add_states(repository: Repository, place: Revision, material: Collected) -> None:
    """Give the files the content that they had at a message."""
    heads = walk_heads_oldest_first(repository, [place.oid])
    states = file_states(read_message(repository, head.oid) for head in heads)
    material.files = [file._replace(content=states.get(file.path)) for file in material.files]
    if any(file.content is not None for file in material.files):
        material.notes.append(
            Note("files are as the tools of this conversation recorded them; what else changed them is not known")
        )


def _current(stored: Message, revisions: Mapping[MessageId, Amendment], work_item: str | None) -> Message | None:
    """Return a message as it is to be read by now; None for one that only revises another, or is for other work."""
    if stored.amends is not None or (work_item is not None and stored.work_item not in (None, work_item)):
        return None
    now = latest(stored, revisions)
    return None if now is None else replace(stored, parts=now.parts)


def _describe_empty(repository: Repository, conversation: ConversationId, material: Collected) -> None:
    """Let a session without messages give what there is of it (S1-19)."""
    title = read_metadata(repository, conversation).title
    material.summary = material.summary or (None if title is None else as_content(title))
    material.notes.append(
        Note(f"{conversation} has no messages" + ("" if title is None else ": only its title is used"))
    )


def _find_root(repository: Repository, heads: Sequence[MessageHead]) -> int | None:
    """Return the position of the last message at which a context began anew."""
    for position in reversed(range(len(heads))):
        if heads[position].kind in _SUMMARISING:
            message = read_message(repository, heads[position].oid)
            if message.extra.get("context_root") is True or message.kind == "compaction":
                return position
    return None


def _note_files(message: Message, number: int, files: dict[str, TouchedFile]) -> None:
    """Move the files of a message to the end; of one message, the first named comes to stand last (S1-3)."""
    touched = {touch.path: touch for touch in message.files}
    for path in reversed(dict.fromkeys(path for path, _ in file_operations(message))):
        before, touch = files.pop(path, None), touched.get(path)
        unchanged = before is not None and (touch is None or touch.op in _READING)
        known = None if touch is None else touch.content_hash
        files[path] = TouchedFile(path, number, known or (before.content_hash if before and unchanged else None))


def find_work(repository: Repository, work_item: str) -> list[Revision]:
    """Return for each conversation the branch whose last message for a work item is the newest; that one comes last.

    Of equals it is the active one.
    """
    best: dict[ConversationId, tuple[int, bool, Revision]] = {}
    for place, active in _places(repository.list_refs(HEADS, ACTIVE)):
        last = _last_time(repository, place, work_item)
        if last is not None:
            found = (last, active, place)
            best[place.conversation] = max(found, best.get(place.conversation, found))
    return [place for _, _, place in sorted(best.values())]


def _places(refs: Mapping[str, str]) -> Iterator[tuple[Revision, bool]]:
    """Yield every branch by the id of its conversation, and whether it is the active one; refs are listed once."""
    tips: dict[ConversationId, dict[BranchName, Oid]] = {}
    for ref, oid in refs.items():
        named = split_branch_ref(ref)
        if named is not None:
            tips.setdefault(named[0], {})[named[1]] = Oid(oid)
    for conversation, branches in sorted(tips.items()):
        active = choose_active_branch(conversation, branches, refs.get(active_ref(conversation)))
        seen: set[Oid] = set()
        for branch in sorted(branches, key=lambda name: (name != active, name)):
            if branches[branch] not in seen:
                seen.add(branches[branch])
                yield Revision(conversation, branch, branches[branch]), branch == active


def _last_time(repository: Repository, place: Revision, work_item: str) -> int | None:
    """Return when a message was last for a work item; no message is decoded that does not hold its bytes."""
    needle = dump(work_item).rstrip()  # as it stands in the bytes of a message
    for head in walk_heads_newest_first(repository, [place.oid]):
        data = read_message_bytes(repository, head.oid)
        if needle in data and decode(data).work_item == work_item:
            return head.time
    return None
