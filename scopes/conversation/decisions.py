"""`decisions`: list the decisions of a conversation with author, time and message (S1-29)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.history.conversations import resolve_scope, walk_messages
from scopes.history.handles import ConversationHandle
from scopes.history.messages import MessageHeader
from scopes.ids import BranchName, ConversationId
from scopes.merge.conflict_keys import comparable_key, group_of, shown_key
from scopes.model import encoding
from scopes.model.conflicts import DECISIONS
from scopes.model.message import Message
from scopes.model.path_encoding import leaf
from scopes.result import Result
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import find_blob


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """One decision; it is `current` if the branch that is asked for (default: the active one) still holds it."""

    topic: str
    decision: str
    head: MessageHeader
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionList(Result):
    """Every decision of every branch, oldest first; `branch` is the only one that counts, if it was named."""

    conversation: ConversationId
    decisions: tuple[DecisionRow, ...]
    branch: BranchName | None = None


def decisions(repository: Repository, where: str) -> DecisionList:
    """Collect the decisions of a conversation, or of one branch of it given as `CONV/BRANCH`."""
    scope = resolve_scope(repository, where)
    active = ConversationHandle(repository, scope.conversation).active_branch.tip
    tree = read_commit(repository, active if scope.branch is None else scope.tips[scope.branch]).tree
    rows = []
    for head, message in walk_messages(repository, scope):
        decided = _decision_in(message)
        if decided is not None:
            topic, decision = decided
            claim = find_blob(repository, tree, f"state/{leaf(DECISIONS, topic)}")
            current = claim is not None and _claim_has(encoding.load(claim), decision)
            rows.append(DecisionRow(topic=topic, decision=decision, head=head, current=current))
    # Stores of earlier versions have a claim for each spelling of a topic: the latest one counts.
    latest = {comparable_key(leaf(DECISIONS, row.topic)): row.topic for row in rows if row.current}
    found = tuple(
        replace(row, current=row.current and latest[comparable_key(leaf(DECISIONS, row.topic))] == row.topic)
        for row in rows
    )
    return DecisionList(conversation=scope.conversation, decisions=found, branch=scope.branch)


def _decision_in(message: Message) -> tuple[str, str] | None:
    """Return topic and decision of a decision message, or of one that resolves a conflict about a decision."""
    if message.kind == "decision" and message.payload is not None:
        return str(message.payload.get("topic", "")), str(message.payload.get("decision", ""))
    match message.extra.get("conflict"):
        case {"key": str(key), "choice": "value", "value": str(decision)} if group_of(key) == DECISIONS:
            return shown_key(key).partition("/")[2], decision
    return None


def _claim_has(claim: object, decision: str) -> bool:
    """Return True if a claim is the decision, or one of several that a merge kept."""
    match claim:
        case {"both": list(values)}:
            return {"decision": decision} in values
    return claim == {"decision": decision}
