"""Which conversations have messages for a work item, found without decoding those that have none (S1-18)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scopes.conversation.heads import read_message_bytes, walk_heads_newest_first
from scopes.conversation.lookup import Place, choose_active_branch
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model.canonical import dump
from scopes.model.codec import decode
from scopes.store.refs import ACTIVE, HEADS, active_ref, split_branch_ref
from scopes.store.repository import Repository


def find_work(repository: Repository, work_item: str) -> list[Place]:
    """Return the active branches that have messages for a work item; the one with the newest message for it is last."""
    found = []
    for place in _active_places(repository.list_refs(HEADS, ACTIVE)):
        last = _last_time(repository, place, work_item)
        if last is not None:
            found.append((last, place))
    return [place for _, place in sorted(found)]


def _active_places(refs: Mapping[str, str]) -> Iterator[Place]:
    """Yield the active branch of every conversation, by its id; refs are listed once, which takes longest."""
    tips: dict[ConversationId, dict[BranchName, Oid]] = {}
    for ref, oid in refs.items():
        named = split_branch_ref(ref)
        if named is not None:
            tips.setdefault(named[0], {})[named[1]] = Oid(oid)
    for conversation, branches in sorted(tips.items()):
        branch = choose_active_branch(conversation, branches, refs.get(active_ref(conversation)))
        yield Place(conversation, branch, branches[branch])


def _last_time(repository: Repository, place: Place, work_item: str) -> int | None:
    """Return when a message was last for a work item; no message is decoded that does not hold its bytes."""
    needle = dump(work_item).rstrip()  # as it stands in the bytes of a message
    for head in walk_heads_newest_first(repository, [place.oid]):
        data = read_message_bytes(repository, head.oid)
        if needle in data and decode(data).work_item == work_item:
            return head.time
    return None
