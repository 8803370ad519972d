"""Which conversations a store has, by what a session is found by: their root commits, and the sessions recorded live.

Both are in the metadata of a conversation. What was read is kept in the index, by the commits of the metadata, because
the hook of an agent imports after every turn.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from scopes.history.messages import is_root
from scopes.history.metadata import read_metadata, read_metadata_at
from scopes.history.names import MAIN, conversation_ids
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model.conversation import ACP, BranchEntry
from scopes.store.objects import Objects, read_commit
from scopes.store.refs import META
from scopes.store.repository import Repository

if TYPE_CHECKING:
    from scopes.importers.formats.events import Session

_OID_LENGTH = 40


class LiveSession(NamedTuple):
    """A session that `scopes acp` recorded; `directory` is a real path, empty where the editor named none."""

    root: Oid
    agent: str
    directory: str

    def may_be(self, session: Session) -> bool:
        """Return False if a session with this id is one of another agent, or in another directory.

        Anybody can write an id into a transcript. The user may have given the agent a name of its own, and a few
        transcripts have no directory: what is not known is no difference.
        """
        from scopes.hosts.agents import find_agent_named

        agent = find_agent_named(self.agent)
        is_other = agent is not None and agent.name != session.format
        return not is_other and (not self.directory or session.cwd is None or self._is_at(session.cwd))

    def _is_at(self, directory: str) -> bool:
        try:
            return os.path.realpath(directory) == self.directory
        except ValueError:  # no path can be so
            return False


class ConversationRoots(NamedTuple):
    """The conversations of a store by root, and the sessions that `scopes acp` recorded, by their ids.

    live: all that `scopes acp` recorded, also those whose root is not known
    """

    by_root: dict[Oid, ConversationId]
    by_live_session: dict[str, list[LiveSession]]
    live: set[ConversationId]


def list_conversation_roots(repository: Repository, index_directory: str | None) -> ConversationRoots:
    """Return what all conversations of a store are found by; metadata are read if the index does not have it."""
    found = ConversationRoots({}, {}, set())
    for conversation, data in _walk_encoded(repository, index_directory):
        root, sessions = _root_of(data), data[_OID_LENGTH:]
        if root:
            found.by_root.setdefault(root, conversation)
        if sessions:
            found.live.add(conversation)
            for session, agent, directory in json.loads(sessions) if root else ():
                found.by_live_session.setdefault(session, []).append(LiveSession(root, agent, directory))
    return found


def list_known_roots(
    repository: Repository, index_directory: str | None, prefix: str
) -> tuple[dict[Oid, ConversationId], list[ConversationId]]:
    """Return the conversations by the roots that begin with a prefix, and those whose root is not in their metadata."""
    by_root: dict[Oid, ConversationId] = {}
    unknown: list[ConversationId] = []
    begin = prefix.encode()
    for conversation, data in _walk_encoded(repository, index_directory):
        if data.startswith(b" "):
            unknown.append(conversation)
        elif data.startswith(begin):
            by_root.setdefault(_root_of(data), conversation)
    return by_root, unknown


def find_root_of(repository: Repository, conversation: ConversationId) -> Oid | None:
    """Return the root commit of a conversation, as its metadata names it."""
    return _root_in(repository, read_metadata(repository, conversation).branches)


def _walk_encoded(repository: Repository, index_directory: str | None) -> Iterator[tuple[ConversationId, bytes]]:
    """Yield all conversations, sorted, with what `_encode` returns of them."""
    metadata = {ref[len(META) :]: Oid(oid) for ref, oid in repository.list_refs(META).items()}
    conversations = conversation_ids(repository)
    from scopes.index.caches import find_or_compute

    known: dict[Oid, bytes] = find_or_compute(
        index_directory,
        repository.path,
        "conversation",
        [metadata[each] for each in conversations if each in metadata],
        lambda oid: _encode(repository, read_metadata_at(repository, oid).branches),
    )
    for conversation in conversations:
        if conversation in metadata:
            yield conversation, known[metadata[conversation]]
        else:  # it has no metadata, or they are damaged, which is reported here
            yield conversation, _encode(repository, read_metadata(repository, conversation).branches)


def _root_of(encoded: bytes) -> Oid:
    return Oid(encoded[:_OID_LENGTH].decode("ascii").strip())


def _encode(objects: Objects, branches: Mapping[BranchName, BranchEntry]) -> bytes:
    """Return the root, padded with blanks, and if the conversation was recorded live its sessions as JSON."""
    root = (_root_in(objects, branches) or "").encode("ascii").ljust(_OID_LENGTH)
    is_live = any(isinstance(entry.extra.get(ACP), dict) for entry in branches.values())
    return root + (json.dumps(list(walk_live_sessions(branches))).encode("ascii") if is_live else b"")


def _root_in(objects: Objects, branches: Mapping[BranchName, BranchEntry]) -> Oid | None:
    main = branches.get(MAIN)
    is_known = main is not None and main.fork is not None and is_root(read_commit(objects, main.fork))
    return main.fork if main is not None and is_known else None


def walk_live_sessions(branches: Mapping[BranchName, BranchEntry]) -> Iterator[tuple[str, str, str]]:
    """Yield the session id, agent and directory of each session that was recorded live, the earlier ones too."""
    for entry in branches.values():
        match entry.extra.get(ACP):
            case {"session": last, "agent": str(agent), "cwd": str(directory), **more}:
                earlier = more.get("stale")
                for session in (last, *(earlier if isinstance(earlier, list) else ())):
                    if isinstance(session, str):
                        yield session, agent, directory
