"""Which conversations may have a message whose id begins with some characters: a look-up over a whole store.

To read every message for that takes seconds in a large store. So the ids of all messages of a conversation are kept in
the index, by the tips of its branches; the conversations looked at first are read without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha1
from itertools import chain, islice
from typing import Final

from scopes.errors import Corrupt, NotFound
from scopes.history.messages import header_of
from scopes.ids import ConversationId, Oid, is_message_id
from scopes.store.graph import walk_oldest_first
from scopes.store.repository import Repository

_FEW: Final = 20  # conversations are read sooner than the index is opened


def walk_candidates(
    repository: Repository,
    prefix: str,
    conversations: Iterable[ConversationId],
    tips: Mapping[ConversationId, list[Oid]],
) -> Iterator[ConversationId]:
    """Yield the conversations that may have a message or a commit whose id has the prefix, in their order.

    A few are yielded without a look, and of many the first ones for a whole id, which is perhaps there. One that cannot
    be read is yielded, too.
    """
    rest = iter(conversations)
    first = list(islice(rest, _FEW + 1))
    is_looked_up = len(first) > _FEW and not is_message_id(prefix)
    yield from [] if is_looked_up else first[:_FEW]
    rest = chain(first if is_looked_up else first[_FEW:], rest)
    keys = {conversation: _key_of(tips[conversation]) for conversation in rest if conversation in tips}
    if not keys:
        return
    tips_of = {key: tips[conversation] for conversation, key in keys.items()}
    from scopes.index.session_cache import find_or_compute

    known = find_or_compute(
        repository.index_directory, repository.path, "ids", tips_of, lambda key: _encode_ids(repository, tips_of[key])
    )
    begin = b"\n" + prefix.encode()
    for conversation, key in keys.items():
        if begin in known[key] or not known[key]:
            yield conversation


def _key_of(tips: Sequence[Oid]) -> Oid:
    """Return a key for the history of a conversation, which depends on its tips alone."""
    return Oid(sha1(" ".join(sorted(tips)).encode("ascii"), usedforsecurity=False).hexdigest())


def _encode_ids(repository: Repository, tips: Sequence[Oid]) -> bytes:
    """Return the ids of all messages and commits, a line each; empty if some cannot be read."""
    try:
        heads = list(map(header_of, walk_oldest_first(repository, tips)))
    except (Corrupt, NotFound):
        return b""
    return "".join(f"\n{head.id}\n{head.oid}" for head in heads).encode()
