"""Find which messages of an inbox ask for something that has ended: nobody has to act on them any more.

These are escalations of conflicts that were resolved or aborted, requests of collaborations that were closed or merged,
and proposals that are no longer open. It is found when an inbox is read, so `undo` of the end brings them back.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from scopes.clock import now_nanoseconds, parse_time
from scopes.errors import Corrupt, NotFound
from scopes.history.handles import ConversationHandle
from scopes.history.messages import find_claim, header_of, read_body
from scopes.ids import BranchName, ConversationId, Oid
from scopes.merge.compare import state_of
from scopes.merge.conflicts import walk_conflicts
from scopes.merge.keys import stated_claims
from scopes.model import canonical_json
from scopes.model.canonical_json import leaf
from scopes.model.conflicts import ENDED
from scopes.model.message import ENTITIES, REVIEWS, Message
from scopes.store.graph import is_ancestor
from scopes.store.objects import find_blob, read_commit
from scopes.store.refs import meta_ref
from scopes.store.repository import Repository

_FINAL = ("applied", "rejected")  # what a review of a proposal ends with


class EndedSubjects:
    """Tells what has ended; the conflicts of a conversation are read once."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._open_conflicts: dict[ConversationId, set[str]] = {}
        self._tips: dict[ConversationId, tuple[Mapping[BranchName, Oid], BranchName]] = {}
        self._states: dict[Oid, Oid | None] = {}

    def find(self, conversation: ConversationId, branch: BranchName, oid: Oid, message: Message) -> str | None:
        """Return what has ended that a message is about; None if nothing has, or that cannot be told.

        oid: the commit of the message on the branch to which it was sent
        """
        if self._repository.find_ref(meta_ref(conversation)) is None:
            return None  # it was deleted
        with suppress(NotFound, Corrupt):
            match message.extra:
                case {"conflict": {"id": str(identity), "status": "escalated"}}:
                    return None if identity in self._list_open_conflicts(conversation) else "the conflict has ended"
                case {"collaboration": {"event": "request"}}:
                    return self._find_end_of_collaboration(conversation, branch, oid)
            if message.kind == "proposal":
                return self._find_end_of_proposal(conversation, branch, oid, message)
        return None

    def _read_tips(self, conversation: ConversationId) -> tuple[Mapping[BranchName, Oid], BranchName]:
        """Return the tips of a conversation by branch, and its active branch."""
        if conversation not in self._tips:
            handle = ConversationHandle(self._repository, conversation)
            self._tips[conversation] = handle.tips, handle.active_branch.name
        return self._tips[conversation]

    def _state_of(self, tip: Oid) -> Oid | None:
        if tip not in self._states:
            self._states[tip] = state_of(self._repository, tip)
        return self._states[tip]

    def _list_open_conflicts(self, conversation: ConversationId) -> set[str]:
        if conversation not in self._open_conflicts:
            rows = walk_conflicts(self._repository, conversation)
            self._open_conflicts[conversation] = {row.conflict.id for row in rows if row.conflict.status not in ENDED}
        return self._open_conflicts[conversation]

    def _find_end_of_collaboration(self, conversation: ConversationId, name: BranchName, request: Oid) -> str | None:
        tips, _ = self._read_tips(conversation)
        tip = tips.get(name)
        if tip is None:
            return None
        oid: Oid | None = tip
        while oid is not None and oid != request:
            commit = read_commit(self._repository, oid)
            match read_body(self._repository, header_of(commit)).extra.get("collaboration"):
                case {"event": "close"}:
                    return "the collaboration is closed"
            oid = commit.parents[0] if commit.parents else None
        branch = ConversationHandle(self._repository, conversation).metadata.branches.get(name)
        parent = None if branch is None or branch.parent is None else tips.get(branch.parent)
        is_merged = parent is not None and is_ancestor(self._repository, tip, parent)
        return "the collaboration was merged" if is_merged else None

    def _find_end_of_proposal(
        self, conversation: ConversationId, branch: BranchName, oid: Oid, message: Message
    ) -> str | None:
        tips, active = self._read_tips(conversation)
        tip = tips.get(branch)
        statuses = {
            status
            for each in {tip, tips.get(active)}
            if each is not None
            for status in self._read_reviews(each, message)
        }
        final = next((status for status in _FINAL if status in statuses), None)
        if final is not None:
            return f"the proposal is {final}"
        is_withdrawn = tip is not None and bool(find_claim(self._repository, tip, message.id))
        if tip is None or is_withdrawn or statuses:  # one that is accepted is to be applied
            return "the proposal is withdrawn" if is_withdrawn else None
        expiry = parse_time(str((message.payload or {}).get("expires_at") or ""))
        if (expiry is not None and expiry <= now_nanoseconds()) or self._has_other_values(tip, message):
            return "the proposal has expired"
        if self._has_claims(tip, stated_claims(message)) or not is_ancestor(self._repository, oid, tip):
            return None  # of two commits the second question costs more
        return "the proposal is superseded"

    def _read_reviews(self, tip: Oid, message: Message) -> list[str]:
        """Return the states of a proposal that reviews recorded; a merge may have kept two."""
        state = self._state_of(tip)
        blob = None if state is None else find_blob(self._repository, state, leaf(REVIEWS, message.id))
        claim: Any = None if blob is None else canonical_json.load(blob)
        both = claim.get("both") if isinstance(claim, dict) else None
        claims = both if isinstance(both, list) else [claim]
        return [str(each["status"]) for each in claims if isinstance(each, dict) and "status" in each]

    def _has_other_values(self, tip: Oid, message: Message) -> bool:
        """Return True if the accepted values are no longer those that a proposal is about."""
        state = self._state_of(tip)
        match dict(message.payload or {}):
            case {"entity_type": str(entity), "entity_id": str(name), "changes": list(changes)}:
                for change in changes:
                    match change:
                        case {"field_path": str(field), "before": before}:
                            path = leaf(ENTITIES, entity, name, field)
                            value = None if state is None else find_blob(self._repository, state, path)
                            if value != (None if before is None else canonical_json.dump({"value": before})):
                                return True
        return False

    def _has_claims(self, tip: Oid, claims: Mapping[str, bytes]) -> bool:
        state = self._state_of(tip)
        return state is not None and all(
            find_blob(self._repository, state, path) == each for path, each in claims.items()
        )
