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
    """Return for each conversation the branch whose last message for a work item is the newest; that one comes last.

    Of equals it is the active one.
    """
    best: dict[ConversationId, tuple[int, bool, Place]] = {}
    for place, active in _places(repository.list_refs(HEADS, ACTIVE)):
        last = _last_time(repository, place, work_item)
        if last is not None:
            found = (last, active, place)
            best[place.conversation] = max(found, best.get(place.conversation, found))
    return [place for _, _, place in sorted(best.values())]


def _places(refs: Mapping[str, str]) -> Iterator[tuple[Place, bool]]:
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
                yield Place(conversation, branch, branches[branch]), branch == active


def _last_time(repository: Repository, place: Place, work_item: str) -> int | None:
    """Return when a message was last for a work item; no message is decoded that does not hold its bytes."""
    needle = dump(work_item).rstrip()  # as it stands in the bytes of a message
    for head in walk_heads_newest_first(repository, [place.oid]):
        data = read_message_bytes(repository, head.oid)
        if needle in data and decode(data).work_item == work_item:
            return head.time
    return None
