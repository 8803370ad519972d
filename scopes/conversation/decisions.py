"""`decisions`: what was decided in a conversation, quotably: by whom, when, in which message (S1-29)."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.conversation.heads import MessageHead
from scopes.conversation.log import messages_of
from scopes.conversation.lookup import find_active_branch, find_place
from scopes.ids import ConversationId
from scopes.model import canonical
from scopes.model.keys import leaf
from scopes.result import Result
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import find_blob


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """One decision; it `stands` when the active branch still holds it."""

    topic: str
    decision: str
    head: MessageHead
    stands: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionList(Result):
    """Every decision of every branch, oldest first."""

    conversation: ConversationId
    decisions: tuple[DecisionRow, ...]


def decisions(repository: Repository, conversation: str) -> DecisionList:
    """Collect the decisions of a conversation."""
    chosen, messages = messages_of(repository, conversation)
    tip = find_place(repository, find_active_branch(repository, chosen), chosen).oid
    tree = read_commit(repository, tip).tree
    rows = []
    for head, message in messages:
        if message.kind != "decision" or message.payload is None:
            continue
        topic, decision = str(message.payload.get("topic", "")), str(message.payload.get("decision", ""))
        held = find_blob(repository, tree, f"state/{leaf('decisions', topic)}")
        stands = held == canonical.dump({"decision": decision})
        rows.append(DecisionRow(topic=topic, decision=decision, head=head, stands=stands))
    return DecisionList(conversation=chosen, decisions=tuple(rows))
