"""Which merge requests a merge completes, and what a merge request is now: open, merged or closed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from scopes.clock import now
from scopes.errors import NotFound
from scopes.history.metadata import Metadata, read_metadata
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, Oid
from scopes.model.merge_request import MERGED, OPEN, MergeRequest
from scopes.store.graph import is_ancestor
from scopes.store.repository import Repository


def mark_merged(tx: Transaction, source: str, target: BranchName, tip: Oid) -> None:
    """Record in the operation of a merge that it completes the open requests to merge `source` into `target`."""
    for request in read_metadata(tx.repository, tx.conversation).requests.values():
        if (request.state, request.source, request.target) == (OPEN, source, target):
            ended_by = tx.repository.caller.actor
            tx.set_request(replace(request, state=MERGED, ended=now(), ended_by=ended_by, merge=tip))


def rename_in_requests(tx: Transaction, metadata: Metadata, old: BranchName, new: BranchName) -> None:
    """Give a branch its new name in the open requests."""
    for request in metadata.requests.values():
        if request.state == OPEN and old in {request.source, request.target}:
            source, target = (new if name == old else name for name in (request.source, request.target))
            tx.set_request(replace(request, source=source, target=target))


def state_now(repository: Repository, request: MergeRequest, tips: Mapping[BranchName, Oid]) -> str:
    """Return the state of a request; merged also if the target has the source although no merge recorded it.

    A source that was rewound behind its tip of then is not merged.
    """
    target = tips.get(request.target)
    if request.state != OPEN or target is None:
        return request.state
    tip = tips.get(request.source, request.source_tip)
    if not is_known_ancestor(repository, tip, target):
        return OPEN
    then = request.source_tip
    was_rewound = tip != then and is_known_ancestor(repository, tip, then)
    return OPEN if was_rewound and not is_known_ancestor(repository, then, target) else MERGED


def is_known_ancestor(repository: Repository, ancestor: Oid, tip: Oid) -> bool:
    """Return True if `ancestor` is reachable from `tip`; False if one of them is no commit of the store.

    A received request can name any object.
    """
    try:
        return is_ancestor(repository, ancestor, tip)
    except NotFound:
        return False
