"""`decisions`: list the decisions of a conversation with author, time and message (S1-29)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from scopes.history.conversations import resolve_scope, walk_messages
from scopes.history.handles import ConversationHandle
from scopes.history.messages import MessageHeader
from scopes.ids import BranchName, ConversationId, Oid
from scopes.merge.conflict_keys import comparable_key, group_of, shown_key
from scopes.model import encoding
from scopes.model.conflicts import DECISIONS
from scopes.model.message import Message
from scopes.model.path_encoding import leaf
from scopes.result import Result
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import find_blob


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """One decision; it is `current` if the branch that is asked for (default: the active one) still holds it.

    `branches` are the branches that hold it, if it is not in the history of the active one.
    """

    topic: str
    decision: str
    head: MessageHeader
    current: bool
    branches: tuple[BranchName, ...] = ()

    @property
    def state(self) -> str:
        """`in effect`, `superseded`, or `other branch` if only other branches than the active one hold it."""
        return "in effect" if self.current else "other branch" if self.branches else "superseded"


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
    tip = active if scope.branch is None else scope.tips[scope.branch]
    several = len(scope.tips) > 1
    in_history = {commit.oid for commit in walk_newest_first(repository, [tip])} if several else set()
    rows = []
    for head, message in walk_messages(repository, scope):
        decided = _decision_in(message)
        if decided is not None:
            topic, decision = decided
            current = _holds(repository, tip, topic, decision)
            elsewhere = several and not current and head.oid not in in_history
            names = scope.tips.items() if elsewhere else ()
            branches = tuple(name for name, oid in names if _holds(repository, oid, topic, decision))
            rows.append(DecisionRow(topic=topic, decision=decision, head=head, current=current, branches=branches))
    found = tuple(_with_one_spelling(rows))
    return DecisionList(conversation=scope.conversation, decisions=found, branch=scope.branch)


def _with_one_spelling(rows: list[DecisionRow]) -> Iterator[DecisionRow]:
    """Yield rows of which only the latest spelling of each topic is current.

    Stores of earlier versions have a claim for each spelling.
    """
    latest = {_topic_of(row): row.topic for row in rows if row.current}
    for row in rows:
        yield replace(row, current=row.current and latest[_topic_of(row)] == row.topic)


def _topic_of(row: DecisionRow) -> str:
    return comparable_key(leaf(DECISIONS, row.topic))


def _decision_in(message: Message) -> tuple[str, str] | None:
    """Return topic and decision of a decision message, or of one that resolves a conflict about a decision."""
    if message.kind == "decision" and message.payload is not None:
        return str(message.payload.get("topic", "")), str(message.payload.get("decision", ""))
    match message.extra.get("conflict"):
        case {"key": str(key), "choice": "value", "value": str(decision)} if group_of(key) == DECISIONS:
            return shown_key(key).partition("/")[2], decision
    return None


def _holds(repository: Repository, tip: Oid, topic: str, decision: str) -> bool:
    """Return True if a decision is in the state of a tip."""
    claim = find_blob(repository, read_commit(repository, tip).tree, f"state/{leaf(DECISIONS, topic)}")
    return claim is not None and _claim_has(encoding.load(claim), decision)


def _claim_has(claim: object, decision: str) -> bool:
    """Return True if a claim is the decision, or one of several that a merge kept."""
    match claim:
        case {"both": list(values)}:
            return {"decision": decision} in values
    return claim == {"decision": decision}
