"""Find the conversations with messages for a work item (S1-18); what was found is kept in the index, for each tip."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from scopes.history.messages import read_body_bytes, walk_headers_newest_first
from scopes.history.names import Revision, choose_active_branch
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model.message import decode
from scopes.store.refs import ACTIVE, HEADS, active_ref, split_branch_ref
from scopes.store.repository import Repository

_FIELD = b'"work_item"'  # in a message that has one


def find_work_item(repository: Repository, work_item: str) -> list[Revision]:
    """Return the tip of one branch of each conversation with messages for a work item.

    It is the branch with the newest such message, the active one in case of a tie. The conversation with the newest
    message comes last.
    """
    tips = list(_walk_tips(repository.list_refs(HEADS, ACTIVE)))
    from scopes.index.caches import find_or_compute

    items = find_or_compute(
        repository.caller.index_directory,
        repository.path,
        "work_items",
        [revision.oid for revision, _ in tips],
        lambda tip: _read(repository, tip),
    )
    best: dict[ConversationId, tuple[int, bool, Revision]] = {}
    for revision, is_active in tips:
        time = json.loads(items[revision.oid]).get(work_item)
        if time is not None:
            candidate = (time, is_active, revision)
            best[revision.conversation] = max(candidate, best.get(revision.conversation, candidate))
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


def _read(repository: Repository, tip: Oid) -> bytes:
    """Return as JSON when each work item in the history of a tip was last named; most messages are not decoded."""
    items: dict[str, int] = {}
    for head in walk_headers_newest_first(repository, [tip]):
        data = read_body_bytes(repository, head)
        item = decode(data).work_item if _FIELD in data else None
        if item is not None:
            items.setdefault(item, head.time)
    return json.dumps(items).encode()
