"""Names of the sessions of purged conversations, so that no import brings one back.

Another file of a session may have another root: a part of it, a file that `checkout` wrote, a session recorded live. So
these names are put on the list, as hashes, in addition to the root of the conversation:

    the key of a source          that was imported into it, or written from it
    session <native id>          that was recorded live
"""

from __future__ import annotations

from scopes.history.metadata import read_metadata
from scopes.history.names import conversation_ids, find_root_commit
from scopes.history.sources import SOURCES, Purged, hash_of, name_of_live_session, read_source_record
from scopes.ids import ConversationId, Oid
from scopes.importers.conversation_roots import walk_live_sessions
from scopes.model.message import Message
from scopes.store.repository import Repository


def with_sessions(repository: Repository, purged: Purged) -> Purged:
    """Add the names of the sessions of purged conversations to a list, as far as these are in the store."""
    if not purged.conversations:
        return purged
    names = _list_sources(repository, purged)
    for conversation in conversation_ids(repository):
        root = find_root_commit(repository, conversation)
        if root is not None and purged.has_conversation(root):
            names |= _live_names(repository, conversation)
    return Purged(purged.messages, purged.conversations | {hash_of(name) for name in names})


def _list_sources(repository: Repository, purged: Purged) -> set[str]:
    """Return the keys of the sources of purged conversations."""
    keys: set[str] = set()
    for ref, oid in repository.list_refs(SOURCES).items():
        record = read_source_record(repository, Oid(oid))
        sessions = ((ref.removeprefix(SOURCES), record.root), *record.sessions)
        keys |= {key for key, root in sessions if purged.has_conversation(root)}
    return keys


def _live_names(repository: Repository, conversation: ConversationId) -> set[str]:
    branches = read_metadata(repository, conversation).branches
    return {name_of_live_session(session) for session, _, _ in walk_live_sessions(branches)}


def agent_text_length(message: Message) -> int:
    """Return the number of characters in a message of an agent; 0 for others."""
    texts = (part.fields.get("text") for part in message.parts if part.type == "text")
    return sum(len(text or "") for text in texts) if message.author.kind == "agent" else 0
