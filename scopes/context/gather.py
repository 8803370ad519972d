"""What a context can be made of: the turns of one conversation, or of all that belong to a work item (S1-18)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from scopes.context.files import TouchedFile
from scopes.context.recorded import as_content
from scopes.context.turns import Turn, make_turn
from scopes.conversation.files import touches_of
from scopes.conversation.heads import MessageHead, read_message, walk_heads_oldest_first
from scopes.conversation.lookup import Place, conversation_ids, find_place
from scopes.conversation.metadata import read_metadata
from scopes.conversation.revisions import find_revisions, latest
from scopes.errors import NotFound
from scopes.ids import ConversationId
from scopes.model.message import Message
from scopes.result import Note
from scopes.store.repository import Repository

_SUMMARISING = frozenset({"compaction", "summary"})


@dataclass(slots=True)
class Material:
    """Turns oldest first; `filtered` messages were left out of them, `messages` is how many there are in all.

    `files` are the last touched first, each once, `sessions` the ids of conversations, the newest last. `summary` is
    what the history before the first turn came to, where a message says that.
    """

    turns: list[Turn] = field(default_factory=list)
    files: list[TouchedFile] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    messages: int = 0
    filtered: int = 0
    summary: str | None = None
    notes: list[Note] = field(default_factory=list)


def find_sessions(repository: Repository, where: str | None, work_item: str | None, at: str | None) -> list[Place]:
    """Return the points up to which history counts: the one named, or those with the work item, oldest first.

    Raises:
        NotFound, Ambiguous, Invalid: there is no such conversation or message, or nothing with that work item.
    """
    named = None if where is None else find_place(repository, where)
    if named is not None and at is not None:
        named = find_place(repository, at, named.conversation)
    if work_item is None:
        if named is None:
            raise NotFound("no conversation is named", hint="name one, or a work item: --work-item ID")
        return [named]
    found = []
    for conversation in conversation_ids(repository):
        if named is None or conversation != named.conversation:
            place = find_place(repository, conversation)
            heads = list(walk_heads_oldest_first(repository, [place.oid]))
            times = [h.time for h in heads if read_message(repository, h.oid).work_item == work_item]
            if times:
                found.append((max(times), place))
    places = [place for _, place in sorted(found)]
    if named is not None:
        places.append(named)
    if not places:
        raise NotFound(f"no message is for the work item {work_item!a}", hint="see: scopes conv list")
    return places


def gather(repository: Repository, places: Sequence[Place], *, work_item: str | None, every: bool) -> Material:
    """Read the messages of all sessions; `every` includes those before the last point where a context began anew."""
    material = Material()
    files: dict[str, TouchedFile] = {}
    for place in places:
        _add_session(repository, place, material, files, named=len(places) > 1, work_item=work_item, every=every)
    material.files = list(reversed(files.values()))
    return material


def _add_session(
    repository: Repository,
    place: Place,
    material: Material,
    files: dict[str, TouchedFile],
    *,
    named: bool,
    work_item: str | None,
    every: bool,
) -> None:
    heads = list(walk_heads_oldest_first(repository, [place.oid]))
    start = 0 if every else _find_root(repository, heads)
    material.sessions.append(place.conversation)
    material.messages += len(heads)
    material.filtered += start
    revisions = find_revisions(repository, place.oid, heads)
    for number, head in enumerate(heads[start:], start=start + 1):
        stored = read_message(repository, head.oid)
        message = None if stored.amends is not None else latest(stored, revisions)
        foreign = work_item is not None and stored.work_item not in (None, work_item)
        turn = None
        if message is not None and not foreign:
            _note_files(stored, number, files)
            if not every and number == start + 1 and _begins_context(stored):
                material.summary = as_content(message.text)
                continue
            turn = make_turn(number, place.conversation, head, message, named=named)
        if turn is None:
            material.filtered += 1
        else:
            material.turns.append(turn)
    if not heads:
        _describe_empty(repository, place.conversation, material)


def _describe_empty(repository: Repository, conversation: ConversationId, material: Material) -> None:
    """Let a session without messages give what there is of it (S1-19)."""
    title = read_metadata(repository, conversation).title
    material.summary = material.summary or (None if title is None else as_content(title))
    material.notes.append(
        Note(f"{conversation} has no messages" + ("" if title is None else ": only its title is used"))
    )


def _find_root(repository: Repository, heads: Sequence[MessageHead]) -> int:
    """Return the position of the last message at which a context began anew, or 0."""
    for position in reversed(range(len(heads))):
        if heads[position].kind in _SUMMARISING and _begins_context(read_message(repository, heads[position].oid)):
            return position
    return 0


def _begins_context(message: Message) -> bool:
    return message.extra.get("context_root") is True or message.kind == "compaction"


def _note_files(message: Message, number: int, files: dict[str, TouchedFile]) -> None:
    """Move the files of a message to the end; of one message, the first named comes to stand last (S1-3)."""
    hashes = {touch.path: touch.content_hash for touch in message.files}
    for path in reversed(dict.fromkeys(path for path, _ in touches_of(message))):
        files.pop(path, None)
        files[path] = TouchedFile(path, number, hashes.get(path))
