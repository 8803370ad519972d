"""Where conversations began: the directory, and the names that other machines know them by.

That is in a conversation's metadata and in its root commit. Of very many conversations it is kept in the index, by the
commits of the metadata: to look for those of one project, or for one by its UUID, takes seconds without it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from scopes.errors import Corrupt, NotFound
from scopes.history.messages import is_root, read_root_of
from scopes.history.metadata import read_directory_and_fork
from scopes.ids import ConversationId, Oid
from scopes.store import refs
from scopes.store.repository import Repository, read_commit

_FEW: Final = 20  # conversations are read sooner than the index is opened


class Origin(NamedTuple):
    """Where a conversation began; each field is None if it is not recorded.

    native_id: the id of the imported session
    """

    directory: str | None
    uuid: str | None = None
    native_id: str | None = None


FindOrigin = Callable[[ConversationId], Origin]


def walk_origins(
    repository: Repository, conversations: Sequence[ConversationId], find: FindOrigin, *, prefix: str = ""
) -> Iterator[tuple[ConversationId, Origin]]:
    """Yield conversations with their origins; the index is opened only for the ones after the first.

    find: is asked for those whose metadata do not name their root
    prefix: those in which no value begins with this are left out, as far as that is seen without parsing them
    """
    begins = json.dumps(prefix)[:-1].encode() if prefix else b""
    metadata = {ref[len(refs.META) :]: Oid(oid) for ref, oid in repository.list_refs(refs.META).items()}
    rest = iter(conversations)
    for conversation in islice(rest, _FEW):
        data = _encode(repository, metadata[conversation]) if conversation in metadata else b""
        if begins in data or not data:
            yield conversation, _decode(data) if data else find(conversation)
    if len(conversations) <= _FEW:
        return
    from scopes.index.session_cache import find_or_compute

    known = find_or_compute(
        repository.index_directory, repository.path, "origin", metadata.values(), lambda oid: _encode(repository, oid)
    )
    for conversation in rest:
        data = known[metadata[conversation]] if conversation in metadata else b""
        if begins in data or not data:
            yield conversation, _decode(data) if data else find(conversation)


def _encode(repository: Repository, metadata: Oid) -> bytes:
    """Return the origin of a conversation as JSON; empty if it is not in these metadata and the root that they name."""
    try:
        directory, fork = read_directory_and_fork(repository, metadata)
        commit = None if fork is None or not repository.has(fork) else read_commit(repository, fork)
        if commit is None or not is_root(commit):
            return b""
        root = read_root_of(repository, commit, commit.oid)
    except (Corrupt, NotFound):
        return b""
    return json.dumps(Origin(directory or root.cwd, root.uuid, root.native_id)).encode()


def _decode(data: bytes) -> Origin:
    return Origin(*json.loads(data))
