"""`decisions withdraw`: withdraw the decision on a topic, by appending a new message; no earlier one takes its place.

`retract` withdraws what one message stated instead, and an earlier decision is in effect again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Any

from scopes.errors import Invalid, NotFound, Refused
from scopes.history.handles import BranchHandle, StoreHandle
from scopes.history.messages import check_author, plain_message
from scopes.history.transaction import append_message
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.merge.divergence import state_of
from scopes.merge.statements import notice_of_withdrawal
from scopes.model import encoding
from scopes.model.claims import DECISIONS, topic_leaf
from scopes.model.message import Author
from scopes.model.path_encoding import decode_component
from scopes.result import Result
from scopes.store.repository import Objects, Repository
from scopes.store.trees import BlobChange, find_blob


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionWithdrawn(Result):
    """The decision on a topic is no longer in effect on a branch; `id` is the new message, None in a dry run.

    `topic` is folded, and `decisions` what was in effect.
    """

    id: MessageId | None
    oid: Oid | None
    conversation: ConversationId
    branch: BranchName
    topic: str
    decisions: tuple[str, ...]
    dry_run: bool = False


def withdraw_decision(
    repository: Repository,
    conversation: str,
    topic: str,
    *,
    reason: str = "",
    author: Author,
    branch: str | None = None,
    dry_run: bool = False,
) -> DecisionWithdrawn:
    """Withdraw the decision on a topic, in any spelling, on a branch (default: the active one).

    Raises:
        NotFound: no decision on the topic is in effect there.
        Refused: another process changed the decision meanwhile.
        Invalid: the topic is empty.
    """
    handle = StoreHandle(repository).branch(conversation, branch)
    if not topic.strip():
        raise Invalid("no topic given", hint=f"list them: scopes decisions {quote(str(handle))}")
    found = _find_claims(repository, handle.tip, topic)
    if not found:
        raise _not_in_effect(handle, topic)
    path = next(iter(found))
    spelled = decode_component(path.removesuffix("=").partition("/")[2])
    values = _list_values(found)
    message_id = oid = None
    if not dry_run:
        text = reason or f"withdrawn: {spelled}: {', '.join(values)}"
        message = notice_of_withdrawal(plain_message(check_author(author), text, kind="notice"), path)
        message_id = message.id
        oid = append_message(
            repository,
            handle.conversation.id,
            handle.name,
            message,
            state_changes=lambda tip: _removal(handle, tip, topic, found),
        )
    return DecisionWithdrawn(
        id=message_id,
        oid=oid,
        conversation=handle.conversation.id,
        branch=handle.name,
        topic=spelled,
        decisions=values,
        dry_run=dry_run,
    )


def _find_claims(objects: Objects, tip: Oid, topic: str) -> dict[str, bytes]:
    state = state_of(objects, tip)
    path = topic_leaf(DECISIONS, topic)
    claim = None if state is None else find_blob(objects, state, path)
    return {} if claim is None else {path: claim}


def _removal(branch: BranchHandle, tip: Oid, topic: str, expected: Mapping[str, bytes]) -> dict[str, BlobChange]:
    """Return the changes to the state of `tip` that remove the claims; the notice is about the expected ones.

    Raises:
        NotFound, Refused: another process changed the claims after they were read.
    """
    found = _find_claims(branch.repository, tip, topic)
    if not found:
        raise _not_in_effect(branch, topic)
    if found != expected:
        raise Refused(
            f"the decision on {topic!a} was changed meanwhile: {', '.join(_list_values(found))}",
            hint="nothing was withdrawn; give the command again to withdraw this one",
        )
    return dict.fromkeys(found)


def _not_in_effect(branch: BranchHandle, topic: str) -> NotFound:
    return NotFound(
        f"no decision on {topic!a} is in effect on {branch}", hint=f"list them: scopes decisions {quote(str(branch))}"
    )


def _list_values(claims: Mapping[str, bytes]) -> tuple[str, ...]:
    return tuple(value for claim in claims.values() for value in _decisions_in(encoding.load(claim)))


def _decisions_in(claim: Any) -> list[str]:
    """Return the decisions of a claim; there are several if a merge kept both."""
    match claim:
        case {"both": list(several)}:
            return [text for each in several for text in _decisions_in(each)]
        case {"decision": str(decision)}:
            return [decision]
    return []
