"""Find the conversations with messages for a work item (S1-18); what was found is kept in the index, for each tip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scopes.history.messages import read_body_bytes, walk_headers_newest_first
from scopes.history.names import Revision, choose_active_branch
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model.encoding import dump
from scopes.model.message import decode
from scopes.store.graph import CommitChunks
from scopes.store.refs import ACTIVE, HEADS, active_ref, split_branch_ref
from scopes.store.repository import Repository

_FIELD = b'"work_item"'  # in a message that has one


def find_work_item(repository: Repository, work_item: str) -> list[Revision]:
    """Return the tip of one branch of each conversation with messages for a work item.

    It is the branch with the newest such message, the active one in case of a tie. The conversation with the newest
    message comes last.
    """
    open_index = repository.open_commit_chunks
    items = None if open_index is None else _WorkItems(repository, open_index())
    best: dict[ConversationId, tuple[int, bool, Revision]] = {}
    for revision, is_active in _walk_tips(repository.list_refs(HEADS, ACTIVE)):
        tip = revision.oid
        time = _last_time(repository, tip, work_item) if items is None else items.find(tip).get(work_item)
        if time is not None:
            candidate = (time, is_active, revision)
            best[revision.conversation] = max(candidate, best.get(revision.conversation, candidate))
    if items is not None:
        items.save()
    return [revision for _, _, revision in sorted(best.values())]


def _walk_tips(refs: Mapping[str, str]) -> Iterator[tuple[Revision, bool]]:
    """Yield every branch tip, each commit once, and whether its branch is active; active branches come first."""
    tips: dict[ConversationId, dict[BranchName, Oid]] = {}
    for ref, oid in refs.items():
        name = split_branch_ref(ref)
        if name is not None:
            tips.setdefault(name[0], {})[name[1]] = Oid(oid)
    for conversation, branches in sorted(tips.items()):
        active = choose_active_branch(conversation, branches, refs.get(active_ref(conversation)))
        seen: set[Oid] = set()
        for branch in sorted(branches, key=lambda name: (name != active, name)):
            if branches[branch] not in seen:
                seen.add(branches[branch])
                yield Revision(conversation, branch, branches[branch]), branch == active


def _last_time(repository: Repository, tip: Oid, work_item: str) -> int | None:
    """Return the time of the newest message for a work item; messages without its bytes are not decoded."""
    needle = dump(work_item).rstrip()
    for head in walk_headers_newest_first(repository, [tip]):
        data = read_body_bytes(repository, head)
        if needle in data and decode(data).work_item == work_item:
            return head.time
    return None


class _WorkItems:
    """When each work item of a history was last named, from the index or from the messages."""

    def __init__(self, repository: Repository, index: CommitChunks) -> None:
        self._repository = repository
        self._index = index
        self._new: dict[Oid, Mapping[str, int]] = {}

    def find(self, tip: Oid) -> Mapping[str, int]:
        """Return the times of the newest messages for each work item in the history of a tip."""
        found = self._index.find_work_items(tip) if self._index.knows_work_items(tip) else None
        if found is None:
            found = self._new[tip] = self._read(tip)
        return found

    def save(self) -> None:
        """Keep what was read from messages."""
        if self._new:
            self._index.add_work_items(self._new)

    def _read(self, tip: Oid) -> Mapping[str, int]:
        """Read a history down to a commit whose work items are known, if it is linear down to there."""
        items: dict[str, int] = {}
        is_linear = True
        for head in walk_headers_newest_first(self._repository, [tip]):
            if is_linear and self._index.knows_work_items(head.oid):
                below = self._index.find_work_items(head.oid)
                if below is not None:
                    return {**below, **items}
            is_linear = is_linear and len(head.parents) <= 1
            data = read_body_bytes(self._repository, head)
            if _FIELD in data:
                item = decode(data).work_item
                if item is not None:
                    items.setdefault(item, head.time)
        return items
