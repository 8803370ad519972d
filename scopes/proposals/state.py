"""The proposals in the history of a commit, each with its state there.

What a review decided is a claim of its own, `reviews/<proposal>=`, so that branches and merges carry it. Whether a
proposal was superseded or withdrawn, or has expired, is found when it is read (S4-60).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from shlex import quote
from typing import Any, NamedTuple

from scopes.clock import known_seconds, now_nanoseconds, parse_time
from scopes.errors import Ambiguous, NotFound
from scopes.history.handles import BranchHandle, ConversationHandle, Scope, resolve_scope
from scopes.history.messages import MessageHeader, find_claim, read_body, walk_headers_oldest_first
from scopes.history.names import resolve_revision
from scopes.ids import Oid
from scopes.merge.compare import state_of
from scopes.merge.keys import stated_claims
from scopes.model import encoding
from scopes.model.encoding import decode_component, leaf
from scopes.model.message import APPROVALS, REVIEWS
from scopes.proposals.proposal import (
    ACCEPTED,
    APPLIED,
    EXPIRED,
    REJECTED,
    SUPERSEDED,
    WITHDRAWN,
    FieldChange,
    Proposal,
    is_same,
    read_value,
    value_path,
)
from scopes.store.graph import is_ancestor
from scopes.store.objects import Objects, find_blob, find_entry, read_tree
from scopes.store.repository import Repository

KIND = "proposal"
_SECOND = 1_000_000_000
REVIEW = "review"  # the field of a message that reviews a proposal
OUTCOME = "outcome"  # the decision in it that changes no state: how the proposal worked out
_STORED = (APPLIED, REJECTED, ACCEPTED, EXPIRED)  # of two reviews that a merge kept, the first one here counts


class Located(NamedTuple):
    """A proposal on a branch, with all proposals there, oldest first."""

    branch: BranchHandle
    tip: Oid
    proposals: tuple[Proposal, ...]
    proposal: Proposal


def read_proposals(repository: Repository, tip: Oid) -> tuple[Proposal, ...]:
    """Return the proposals in the history of a commit, oldest first; retracted ones claim nothing any more."""
    state, stated = state_of(repository, tip), []
    for head in walk_headers_oldest_first(repository, [tip]):
        proposal = _read(repository, head) if head.kind == KIND else None
        if proposal is not None:
            claim = find_claim(repository, tip, head.id)
            if claim.get("retracted") is True:
                stated.append(replace(proposal, claims={}, is_retracted=True))
            else:
                stated.append(replace(proposal, is_amended="amended" in claim))
    successors = _Successors(repository, stated)
    return tuple(_with_state(repository, state, each, successors.of(each)) for each in stated)


class _Successors:
    """The proposals that came after others of the same agent about the same field, in the history of one commit.

    Of two proposals in one line of history the later one is newer; of two on branches that were merged, that of the
    later time. So their order does not depend on the branch.
    """

    def __init__(self, repository: Repository, stated: list[Proposal]) -> None:
        self._repository = repository
        self._position = {each.id: position for position, each in enumerate(stated)}
        self._by_path: dict[str, list[Proposal]] = {}
        for each in stated:
            for path in each.claims:
                self._by_path.setdefault(path, []).append(each)

    def of(self, proposal: Proposal) -> list[Proposal]:
        """Return the newer proposals, the oldest of them first."""
        found = {
            other.id: other
            for path in proposal.claims
            for other in self._by_path[path]
            if other.id != proposal.id and self._is_newer(other, proposal)
        }
        return sorted(found.values(), key=lambda each: (each.written, each.id))

    def _is_newer(self, one: Proposal, other: Proposal) -> bool:
        by_time = (one.written, one.id) > (other.written, other.id)
        by_position = self._position[one.id] > self._position[other.id]
        if by_time == by_position:
            return by_time
        first, last = (other, one) if by_position else (one, other)
        return by_position if is_ancestor(self._repository, first.oid, last.oid) else by_time


def locate(repository: Repository, where: str | None, name: str) -> Located:
    """Find a proposal by its id or a unique prefix, on a branch, in a conversation or (None) in the whole store.

    In a conversation it is looked for on the active branch first.

    Raises:
        NotFound, Ambiguous: there is no such proposal, or there are several.
    """
    if where is None:
        where = _find_conversation(repository, name)
    scope = resolve_scope(repository, where)
    for branch in walk_branches(repository, scope):
        tip = branch.tip
        proposals = read_proposals(repository, tip)
        matching = [each for each in proposals if name and each.id.startswith(name)]
        found = [each for each in matching if each.id == name] or matching
        if len(found) > 1:
            names = ", ".join(each.id[:12] for each in found[:5])
            raise Ambiguous(f"{name!a} matches {len(found)} proposals", hint=f"name one of: {names}")
        if found:
            return Located(branch, tip, proposals, found[0])
    raise NotFound(
        f"there is no proposal {name!a} in {where}", hint=f"list them: scopes proposals list {quote(where)} --all"
    )


def _find_conversation(repository: Repository, name: str) -> str:
    """Return the conversation of a proposal that is named by its id alone."""
    try:
        return resolve_revision(repository, name).conversation
    except NotFound as error:
        hint = "list them: scopes proposals list CONV --all; of a message on two branches: CONV/BRANCH PROPOSAL"
        raise NotFound(f"there is no proposal {name!a}", hint=hint) from error


def walk_branches(repository: Repository, scope: Scope) -> Iterator[BranchHandle]:
    """Yield the branches of a scope, the active one first."""
    conversation = ConversationHandle(repository, scope.conversation)
    if scope.branch is not None:
        yield BranchHandle(conversation, scope.branch)
        return
    active = conversation.active_branch
    yield active
    yield from (branch for branch in conversation.branches() if branch.name != active.name)


def _read(repository: Repository, head: MessageHeader) -> Proposal | None:
    """Return the proposal of a message; None if its document does not have the form that `validation` requires."""
    message = read_body(repository, head)
    match dict(message.payload or {}):
        case {"entity_type": str(entity), "entity_id": str(name), "changes": list(changes), **details}:
            state = state_of(repository, head.oid)
            return Proposal(
                id=head.id,
                oid=head.oid,
                agent=head.author,
                time=known_seconds(head.time),
                entity_type=entity,
                entity_id=name,
                changes=tuple(_changes(repository, state, entity, name, changes)),
                details=details,
                written=(parse_time(message.time or "") or head.time * _SECOND),
                claims=stated_claims(message),
            )
    return None


def _changes(objects: Objects, state: Oid | None, entity: str, name: str, changes: list[Any]) -> Iterator[FieldChange]:
    """Yield the changes of a document; one that states no `before` is about the value at its own commit."""
    for change in changes:
        match change:
            case {"field_path": str(field), "operation": str(operation), **rest}:
                at_commit = "before" not in rest
                before = read_value(objects, state, value_path(entity, name, field)) if at_commit else rest["before"]
                yield FieldChange(field, operation, before, rest.get("after"))


def _with_state(repository: Repository, state: Oid | None, proposal: Proposal, successors: list[Proposal]) -> Proposal:
    """Return a proposal with its state; `successors` are the newer ones of its agent about its fields."""
    review = _read_review(repository, state, proposal)
    if review is not None and not (proposal.is_withdrawn and review["status"] == ACCEPTED):
        after = review.get("after")
        modified = after if isinstance(after, dict) else {}
        return replace(
            proposal,
            state=str(review["status"]),
            rolled_back=review.get("rolled_back") is True,
            modified=modified,
            changes=with_values(proposal.changes, modified),
            approvals=_read_approvals(repository, state, proposal),
        )
    if proposal.is_withdrawn or _is_superseded(repository, state, proposal, successors):
        if successors and not proposal.is_withdrawn and _had_expired(proposal, successors[0]):
            return replace(proposal, state=EXPIRED)
        ended = WITHDRAWN if proposal.is_withdrawn else SUPERSEDED
        return replace(proposal, state=ended, superseded_by=successors[0].id if successors else None)
    expiry = parse_time(proposal.expires_at or "")
    if expiry is not None and expiry <= now_nanoseconds():
        return replace(proposal, state=EXPIRED)
    if any(not _is_current(repository, state, proposal, change) for change in proposal.changes):
        return replace(proposal, state=EXPIRED)
    return replace(proposal, approvals=_read_approvals(repository, state, proposal))


def _is_superseded(objects: Objects, state: Oid | None, proposal: Proposal, successors: list[Proposal]) -> bool:
    """Return True if the state has another claim than that of a proposal, or the same claim by a newer one.

    The first is so too if a conflict was resolved in favor of another proposal.
    """
    claims = proposal.claims
    if any(state is None or find_blob(objects, state, path) != claim for path, claim in claims.items()):
        return True
    return any(newer.claims.get(path) == claim for newer in successors for path, claim in claims.items())


def _had_expired(proposal: Proposal, successor: Proposal) -> bool:
    """Return True if a proposal had expired before its successor was written."""
    expiry = parse_time(proposal.expires_at or "")
    before = {change.field: change.before for change in proposal.changes}
    changed = any(each.field in before and not is_same(before[each.field], each.before) for each in successor.changes)
    return changed or (expiry is not None and expiry <= successor.written)


def with_values(changes: tuple[FieldChange, ...], values: dict[str, Any]) -> tuple[FieldChange, ...]:
    """Return changes with other values for some fields."""
    return tuple(
        change._replace(after=values[change.field]) if change.field in values else change for change in changes
    )


def _is_current(objects: Objects, state: Oid | None, proposal: Proposal, change: FieldChange) -> bool:
    path = value_path(proposal.entity_type, proposal.entity_id, change.field)
    return is_same(read_value(objects, state, path), change.before)


def _read_review(objects: Objects, state: Oid | None, proposal: Proposal) -> dict[str, Any] | None:
    """Return the claim of a review; None if there is none that this version knows."""
    blob = None if state is None else find_blob(objects, state, leaf(REVIEWS, proposal.id))
    claim: Any = None if blob is None else encoding.load(blob)
    match claim:
        case {"both": list(several)}:
            claims = [each for each in several if isinstance(each, dict)]
        case {**fields}:
            claims = [fields]
        case _:
            claims = []
    known = [each for each in claims if each.get("status") in _STORED]
    return min(known, key=lambda each: _STORED.index(each["status"]), default=None)


def _read_approvals(objects: Objects, state: Oid | None, proposal: Proposal) -> tuple[str, ...]:
    path = leaf(APPROVALS, proposal.id).removesuffix("=")
    entry = None if state is None else find_entry(objects, state, path)
    names = read_tree(objects, entry.oid) if entry is not None and entry.is_tree else ()
    return tuple(sorted(decode_component(name.removesuffix("=")) for name in names))
