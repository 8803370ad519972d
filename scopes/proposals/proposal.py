"""A proposal to change fields of an entity (S4-24), as its message states it, with its state on a branch (S4-58).

What a review decided is a claim of its own, `reviews/<proposal>=`, so that branches and merges carry it. Whether a
proposal was superseded or withdrawn, or has expired, is found when it is read (S4-60).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any, Final, NamedTuple

from scopes.clock import known_seconds, now_nanoseconds, parse_time
from scopes.errors import Ambiguous, NotFound
from scopes.history.handles import BranchHandle, ConversationHandle, Scope, resolve_scope
from scopes.history.messages import MessageHeader, find_claim, read_body, walk_headers_oldest_first
from scopes.history.names import resolve_revision
from scopes.ids import AgentName, MessageId, Oid
from scopes.merge.compare import state_of
from scopes.merge.keys import stated_claims
from scopes.model import canonical_json
from scopes.model.canonical_json import decode_component, leaf
from scopes.model.message import APPROVALS, ENTITIES, REVIEWS
from scopes.result import HIDDEN, INLINE, OMIT_EMPTY, confidence, named, shown, written_by
from scopes.store.objects import Objects, find_blob, find_entry, read_tree
from scopes.store.repository import Repository

KIND: Final = "proposal"
REVIEW: Final = "review"  # the field of a message that reviews a proposal
OUTCOME: Final = "outcome"  # the decision in it that changes no state: how the proposal worked out
PENDING: Final = "pending"
ACCEPTED: Final = "accepted"
REJECTED: Final = "rejected"
APPLIED: Final = "applied"
SUPERSEDED: Final = "superseded"
EXPIRED: Final = "expired"
WITHDRAWN: Final = "withdrawn"
STATES: Final = (PENDING, ACCEPTED, REJECTED, APPLIED, SUPERSEDED, EXPIRED, WITHDRAWN)
OPEN: Final = frozenset({PENDING, ACCEPTED})
TRANSITIONS: Final[Mapping[str, frozenset[str]]] = {
    PENDING: frozenset({ACCEPTED, REJECTED, SUPERSEDED, EXPIRED, WITHDRAWN}),
    ACCEPTED: frozenset({APPLIED, WITHDRAWN}),
    EXPIRED: frozenset({PENDING, SUPERSEDED, WITHDRAWN}),
}
"""The states that follow a state (S4-58); what has expired is pending again when the values return that it is about."""
_DECIDED: Final = (APPLIED, REJECTED, ACCEPTED)  # of two reviews that a merge kept, the first one here counts
_DETAILS: Final = (
    "confidence", "category", "request_type", "rationale", "impact_assessment", "context", "alternative_options",
    "required_approvals", "expires_at",
)  # fmt: skip


class FieldChange(NamedTuple):
    """The change of one field; `before` and `after` are None if there is no value."""

    field: str
    operation: str
    before: Any
    after: Any

    def document(self) -> dict[str, object]:
        """Return the change as JSON; `before` and `after` are null if there is no value."""
        return self._asdict()

    @property
    def result(self) -> Any:
        """The value of the field when the change is applied to `before`."""
        if self.operation == "delete":
            return None
        if self.operation != "append":
            return self.after
        present = self.before if isinstance(self.before, list) else [] if self.before is None else [self.before]
        return [*present, self.after]


def _known_details(details: Mapping[str, Any]) -> dict[str, Any]:
    return {name: details[name] for name in _DETAILS if details.get(name) is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A proposal with its state on one branch.

    Attributes:
        details: The further fields of its document: rationale, confidence, category, impact_assessment, ...
        claims: What its message wrote below `state/proposals`, by path; nothing if it is withdrawn.
        state: One of STATES.
        superseded_by: The newest proposal of the same agent about one of its fields.
        modified: The values that a reviewer gave it instead, by field; they are in `changes` already.
        withdrawal: `amended` or `retracted`, if its message was; what was applied or rejected before stays that.
        rolled_back: True if it was applied and taken back.
        approvals: Who has approved it, if it needs several approvals.
    """

    id: MessageId
    oid: Oid
    agent: AgentName
    time: str | None = field(metadata=named("created"))
    entity_type: str
    entity_id: str
    changes: tuple[FieldChange, ...]
    details: Mapping[str, Any] = field(default_factory=dict, metadata=INLINE | written_by(_known_details))
    claims: Mapping[str, bytes] = field(default_factory=dict, metadata=HIDDEN)
    state: str = PENDING
    superseded_by: MessageId | None = None
    modified: Mapping[str, Any] = field(default_factory=dict, metadata=HIDDEN)
    withdrawal: str = field(default="", metadata=HIDDEN)
    rolled_back: bool = field(default=False, metadata=OMIT_EMPTY)
    approvals: tuple[str, ...] = field(default=(), metadata=OMIT_EMPTY)

    @property
    @shown
    def entity(self) -> str:
        """Type and id of the entity, as people write them: `task/42`."""
        return f"{self.entity_type}/{self.entity_id}"

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that it changes."""
        return tuple(change.field for change in self.changes)

    @property
    def confidence(self) -> float | None:
        """The confidence of its author, between 0 and 1."""
        value = self.details.get("confidence")
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    @property
    def certainty(self) -> str:
        """The confidence as a word and a number; empty if none is stated."""
        return "" if self.confidence is None else confidence(self.confidence)

    @property
    @shown
    def confidence_level(self) -> str | None:
        """The confidence as a word: `very-high`."""
        return self.certainty.partition(" (")[0].lower().replace(" ", "-") or None

    @property
    def shown_state(self) -> str:
        """The state, and whether it was rolled back."""
        return f"{self.state}, rolled back" if self.rolled_back else self.state

    @property
    def story(self) -> list[str]:
        """The changes, each as one line."""
        return list(map(describe_change, self.changes))

    @property
    def expires_at(self) -> str | None:
        """When it expires, as RFC 3339."""
        value = self.details.get("expires_at")
        return value if isinstance(value, str) else None

    @property
    def required_approvals(self) -> tuple[str, ...]:
        """Who has to approve it; nobody in particular if empty."""
        names = self.details.get("required_approvals")
        return tuple(map(str, names)) if isinstance(names, list) else ()

    def modify(self, values: Mapping[str, Any]) -> Proposal:
        """Return the proposal with other values for some of its fields."""
        changed = (each._replace(after=values.get(each.field, each.after)) for each in self.changes)
        return replace(self, modified=values, changes=tuple(changed))


class Located(NamedTuple):
    """A proposal on a branch, with all proposals there, oldest first."""

    branch: BranchHandle
    tip: Oid
    proposals: tuple[Proposal, ...]
    proposal: Proposal


def locate(repository: Repository, where: str | None, name: str) -> Located:
    """Find a proposal by its id or a unique prefix, on a branch, in a conversation or (None) in the whole store.

    In a conversation it is looked for on the active branch first.

    Raises:
        NotFound, Ambiguous: there is no such proposal, or there are several.
    """
    if where is None:
        try:
            where = resolve_revision(repository, name).conversation
        except NotFound as error:
            hint = "list them: scopes proposals list CONV --all; of a message on two branches: CONV/BRANCH PROPOSAL"
            raise NotFound(f"there is no proposal {name!a}", hint=hint) from error
    for branch in walk_branches(repository, resolve_scope(repository, where)):
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


def walk_branches(repository: Repository, scope: Scope) -> Iterator[BranchHandle]:
    """Yield the branches of a scope, the active one first."""
    conversation = ConversationHandle(repository, scope.conversation)
    if scope.branch is not None:
        yield BranchHandle(conversation, scope.branch)
        return
    active = conversation.active_branch
    yield active
    yield from (branch for branch in conversation.branches() if branch.name != active.name)


def read_proposals(repository: Repository, tip: Oid) -> tuple[Proposal, ...]:
    """Return the proposals in the history of a commit, oldest first.

    Of two equal ones of an agent the later one stands, by time: so the order does not depend on the branch.
    """
    state = state_of(repository, tip)
    stated: list[tuple[int, Proposal]] = []
    for head in walk_headers_oldest_first(repository, [tip]):
        found = _read(repository, head) if head.kind == KIND else None
        if found is not None:
            claim = find_claim(repository, tip, head.id)
            withdrawal = "retracted" if claim.get("retracted") is True else "amended" if "amended" in claim else ""
            written, proposal = found
            if withdrawal:
                proposal = replace(proposal, claims={}, withdrawal=withdrawal)
            stated.append((written, proposal))
    in_order = [proposal for _, proposal in sorted(stated, key=lambda each: each[0])]
    states = {
        each.id: _with_state(repository, state, each, in_order[place + 1 :]) for place, each in enumerate(in_order)
    }
    return tuple(states[proposal.id] for _, proposal in stated)


def _read(repository: Repository, head: MessageHeader) -> tuple[int, Proposal] | None:
    """Return the proposal of a message, with its time; None if its document has not the form that it should have."""
    message = read_body(repository, head)
    match dict(message.payload or {}):
        case {"entity_type": str(entity), "entity_id": str(name), "changes": list(changes), **details}:
            state = state_of(repository, head.oid)
            proposal = Proposal(
                id=head.id,
                oid=head.oid,
                agent=head.author,
                time=known_seconds(head.time),
                entity_type=entity,
                entity_id=name,
                changes=tuple(_changes(repository, state, entity, name, changes)),
                details=details,
                claims=stated_claims(message),
            )
            return parse_time(message.time or "") or head.time * 1_000_000_000, proposal
    return None


def _changes(objects: Objects, state: Oid | None, entity: str, name: str, changes: list[Any]) -> Iterator[FieldChange]:
    """Yield the changes of a document; one that states no `before` is about the value at its own commit."""
    for change in changes:
        match change:
            case {"field_path": str(field), "operation": str(operation), **rest}:
                at_commit = "before" not in rest
                before = read_value(objects, state, value_path(entity, name, field)) if at_commit else rest["before"]
                yield FieldChange(field, operation, before, rest.get("after"))


def _with_state(objects: Objects, state: Oid | None, proposal: Proposal, newer: Sequence[Proposal]) -> Proposal:
    """Return a proposal with its state in a state tree; `newer` are the later ones, oldest first."""
    claims = proposal.claims
    approvals = _read_approvals(objects, state, proposal)
    review = _read_review(objects, state, proposal)
    if review is not None and not (proposal.withdrawal and review["status"] == ACCEPTED):
        after = review.get("after")
        reviewed = proposal.modify(after) if isinstance(after, dict) else proposal
        rolled_back = review.get("rolled_back") is True
        return replace(reviewed, state=review["status"], rolled_back=rolled_back, approvals=approvals)
    if proposal.withdrawal:
        return replace(proposal, state=WITHDRAWN)
    newer = [each for each in newer if not claims.keys().isdisjoint(each.claims)]
    is_gone = any(state is None or find_blob(objects, state, path) != claim for path, claim in claims.items())
    if is_gone or any(each.claims.get(path) == claim for each in newer for path, claim in claims.items()):
        return replace(proposal, state=SUPERSEDED, superseded_by=newer[-1].id if newer else None)
    end = parse_time(proposal.expires_at or "")
    values = ((read_value(objects, state, path_of(proposal, each.field)), each.before) for each in proposal.changes)
    if (end is not None and end <= now_nanoseconds()) or not all(is_same(value, before) for value, before in values):
        return replace(proposal, state=EXPIRED)
    return replace(proposal, approvals=approvals)


def _read_review(objects: Objects, state: Oid | None, proposal: Proposal) -> dict[str, Any] | None:
    """Return the claim of a review; None if there is none that this version knows."""
    blob = None if state is None else find_blob(objects, state, leaf(REVIEWS, proposal.id))
    claim: Any = None if blob is None else canonical_json.load(blob)
    several = claim.get("both", [claim]) if isinstance(claim, dict) else ()
    known = [each for each in several if isinstance(each, dict) and each.get("status") in _DECIDED]
    return min(known, key=lambda each: _DECIDED.index(each["status"]), default=None)


def _read_approvals(objects: Objects, state: Oid | None, proposal: Proposal) -> tuple[str, ...]:
    path = leaf(APPROVALS, proposal.id).removesuffix("=")
    entry = None if state is None else find_entry(objects, state, path)
    names = read_tree(objects, entry.oid) if entry is not None and entry.is_tree else ()
    return tuple(sorted(decode_component(name.removesuffix("=")) for name in names))


def value_path(entity_type: str, entity_id: str, name: str) -> str:
    """Return the path below `state/` of the accepted value of a field."""
    return leaf(ENTITIES, entity_type, entity_id, name)


def path_of(proposal: Proposal, name: str) -> str:
    """Return the path below `state/` of the accepted value of a field of the entity of a proposal."""
    return value_path(proposal.entity_type, proposal.entity_id, name)


def read_value(objects: Objects, state: Oid | None, path: str) -> Any:
    """Return an accepted value, given its path; None if there is none.

    If a merge kept the values of both sides, the result is the whole claim, which has them.
    """
    blob = None if state is None else find_blob(objects, state, path)
    claim: Any = None if blob is None else canonical_json.load(blob)
    match claim:
        case {"value": value, **rest} if not rest:
            return value
    return claim


def value_claim(value: Any) -> bytes | None:
    """Return the blob of an accepted value; None, which removes it, if there is no value."""
    return None if value is None else canonical_json.dump({"value": value})


def is_same(one: Any, other: Any) -> bool:
    """Return True if two values are the same JSON; `1` and `true` are not."""
    return canonical_json.dump(one) == canonical_json.dump(other)


def describe_change(change: FieldChange) -> str:
    """Return a change as one line: `status: "todo" -> "done"`."""
    return f"{change.field}: {show_value(change.before)} -> {show_value(change.result)}"


def show_value(value: Any) -> str:
    """Return a value as one line of JSON; `none` if there is none."""
    return "none" if value is None else canonical_json.dump(value).decode().rstrip("\n")
