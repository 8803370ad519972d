"""Names of the sessions of purged conversations, so that no import brings one back.

Another file of a session may have another root: a copy that was continued, a file that `checkout` wrote, a session
recorded live. So these names are put on the list, as hashes, in addition to the root of the conversation:

    the key of a source          that was imported into it, or written from it
    session <native id>          that was recorded live
    answer <proof>               what only a copy of the first answer on a line has, see `history/answer_proofs`, and of
                                 the first one that no conversation has which is kept
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple

from scopes.history.messages import is_root, message_id_of, read_body
from scopes.history.metadata import read_metadata
from scopes.history.names import conversation_ids, find_root_commit, list_branch_tips
from scopes.history.sources import (
    SOURCES,
    TRACKING,
    Purged,
    hash_of,
    name_of_answer,
    name_of_live_session,
    read_source_record,
)
from scopes.ids import ConversationId, MessageId, Oid
from scopes.importers.beginning import prove_by_id, prove_by_text, prove_by_time
from scopes.importers.conversation_roots import walk_live_sessions
from scopes.model.message import Message
from scopes.store.graph import walk_newest_first, walk_oldest_first
from scopes.store.repository import Repository


class _Line(NamedTuple):
    """The messages up to one of them: how many, and the length of what the agent wrote.

    is_proven: the first answer with a proof was among them
    """

    messages: int
    length: int
    is_proven: bool


def with_sessions(repository: Repository, purged: Purged) -> Purged:
    """Add the names of the sessions of purged conversations to a list, as far as these are in the store."""
    if not purged.conversations:
        return purged
    names: set[str] = set()
    tips, kept = list(_walk_sources(repository, purged, names)), list[Oid]()
    for conversation in conversation_ids(repository):
        root = find_root_commit(repository, conversation)
        branches = list_branch_tips(repository, conversation).values()
        if root is not None and purged.has_conversation(root):
            names |= _live_names(repository, conversation)
            tips += branches
        else:
            kept += branches
    elsewhere = {message_id_of(commit) for commit in walk_newest_first(repository, kept) if not is_root(commit)}
    names |= {name_of_answer(proof) for proof in _walk_proofs(repository, tips, purged, elsewhere)}
    return Purged(purged.messages, purged.conversations | {hash_of(name) for name in names})


def _walk_sources(repository: Repository, purged: Purged, names: set[str]) -> Iterator[Oid]:
    """Add the keys of the sources of purged conversations to `names`; yield where their imports left branches."""
    keys: set[str] = set()
    for ref, oid in repository.list_refs(SOURCES).items():
        record = read_source_record(repository, Oid(oid))
        sessions = ((ref.removeprefix(SOURCES), record.root), *record.sessions)
        keys |= {key for key, root in sessions if purged.has_conversation(root)}
    names |= keys
    for ref, oid in repository.list_refs(TRACKING).items():
        if ref.removeprefix(TRACKING).partition("/")[0] in keys:
            yield Oid(oid)


def _live_names(repository: Repository, conversation: ConversationId) -> set[str]:
    branches = read_metadata(repository, conversation).branches
    return {name_of_live_session(session) for session, _, _ in walk_live_sessions(branches)}


def _walk_proofs(
    repository: Repository, tips: list[Oid], purged: Purged, elsewhere: Container[MessageId]
) -> Iterator[bytes]:
    """Yield the proof of the first answer on each branch that has one: every longer copy has that answer, too.

    If a kept conversation has that answer, also yield the first one that none of them has: a copy could join it.
    """
    lines: dict[Oid, _Line] = {}
    for commit in walk_oldest_first(repository, tips):
        if is_root(commit):
            if purged.has_conversation(commit.oid):
                lines[commit.oid] = _Line(0, 0, is_proven=False)
            continue
        before = lines.get(commit.parents[0]) if commit.parents else None
        if before is None:
            continue
        message = read_body(repository, commit)
        line = _Line(before.messages + 1, before.length + agent_text_length(message), before.is_proven)
        found = list(_proofs_of(message, line)) if line.messages > 1 and message.author.kind == "agent" else []
        is_shared = message.id in elsewhere
        if not found or is_shared:
            lines[commit.oid] = line._replace(is_proven=line.is_proven or bool(found))
        if not is_shared or not line.is_proven:
            yield from found


def agent_text_length(message: Message) -> int:
    """Return the number of characters in a message of an agent, as `importers/beginning` counts it; otherwise 0."""
    texts = (part.fields.get("text") for part in message.parts if part.type == "text")
    return sum(len(text or "") for text in texts) if message.author.kind == "agent" else 0


def _proofs_of(message: Message, line: _Line) -> Iterator[bytes]:
    calls = (part.fields.get("call_id") for part in message.parts if part.type == "tool_call")
    found = [prove_by_id(message.id, call) for call in dict.fromkeys(calls)]
    found += [prove_by_time(message.id, message.time, message.extra.get("precision"))]
    found += [prove_by_text(message.id, line.length)]
    yield from (proof for proof in found if proof is not None)
