"""`amend`, `retract` and `decisions --withdraw`: what was said is taken back by a new message (S4-27)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

from scopes.errors import Invalid, NotFound, Refused
from scopes.history.handles import BranchHandle, StoreHandle
from scopes.history.messages import NO_CHANGES, check_author, is_root, plain_message, read_message, retraction_of
from scopes.history.transaction import append_message, signs_as
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.merge.compare import state_of
from scopes.merge.keys import (
    claims_without,
    decoded_key,
    key_of_path,
    notice_of_withdrawal,
    stated_claims,
    superseded_claims,
)
from scopes.model import encoding
from scopes.model.encoding import decode_component, leaf
from scopes.model.message import DECISIONS, MESSAGES, RETRACTED_TEXT, Author, Message, is_purged, topic_leaf
from scopes.result import Note, Result
from scopes.store.graph import is_ancestor
from scopes.store.objects import BlobChange, find_blob, read_commit
from scopes.store.repository import Repository
from scopes.store.transactions import require_unpurged


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAmended(Result):
    """The new message that amends or retracts `target`; the target itself is not changed."""

    id: MessageId
    oid: Oid
    conversation: ConversationId
    branch: BranchName
    target: MessageId
    retracted: bool


def amend(
    repository: Repository,
    conversation: str,
    target: str,
    text: str,
    *,
    author: Author,
    branch: str | None = None,
    data: Mapping[str, Any] | None = None,
) -> MessageAmended:
    """Append a message that replaces the text of an earlier one.

    `data` is the new document of a typed message, such as a decision: its claims replace those of the old one. Without
    it the message becomes plain text, and its claims are withdrawn.

    Raises:
        NotFound: the message is not on the branch.
        Refused: the message was retracted, or purged.
        Invalid: `data` does not fit the kind of the message.
        Busy: the message was purged meanwhile.
    """
    handle, oid, old = _find_target(repository, conversation, target, branch)
    if is_purged(old):
        hint = f"append another message: scopes append {quote(str(handle))} TEXT"
        raise Refused(f"message {old.id[:8]} was purged, and nobody who purged it takes an amendment of it", hint=hint)
    message = replace(plain_message(author, text, kind=old.kind), amends=old.id)
    if data is not None:
        if old.payload is None:
            raise Invalid(f"message {old.id[:8]} has no data: it is of kind {old.kind}", hint="leave out --data")
        from scopes.model.validation import check_payload  # imports pydantic

        message = replace(message, payload=check_payload(old.kind, data))
    elif old.payload is not None:
        message = replace(message, kind="plain")
    return _append(handle, message, old, made_of=[oid])


def retract(
    repository: Repository,
    conversation: str,
    target: str,
    reason: str,
    *,
    author: Author,
    branch: str | None = None,
) -> MessageAmended:
    """Append a notice that retracts an earlier message: contexts and summaries leave it out, its claims are withdrawn.

    A withdrawn claim gives way to the newest earlier one about the same thing, such as the decision before.

    Raises:
        NotFound: the message is not on the branch.
        Refused: the message was retracted already.
        Busy: the message was purged meanwhile, and the notice would have its first words.
    """
    handle, oid, old = _find_target(repository, conversation, target, branch)
    text = reason or f"{RETRACTED_TEXT}{old.text[:60]}"
    return _append(handle, retraction_of(old.id, author, text), old, made_of=[] if reason else [oid])


def _find_target(
    repository: Repository, conversation: str, target: str, branch: str | None
) -> tuple[BranchHandle, Oid, Message]:
    handle = StoreHandle(repository).branch(conversation, branch)
    log_hint = f"see: scopes log {quote(str(handle))}"
    oid = handle.conversation.revision(target).oid
    tip = handle.tip
    if is_root(read_commit(repository, oid)):
        raise NotFound("the root of a conversation is not a message", hint=log_hint)
    if not is_ancestor(repository, oid, tip):
        raise NotFound(f"that message is not on {handle}", hint="name the branch with --branch")
    message = read_message(repository, oid)
    claim = find_blob(repository, read_commit(repository, tip).tree, "state/" + leaf(MESSAGES, message.id))
    if claim is not None and b'"retracted"' in claim:
        raise Refused(f"message {message.id[:8]} was retracted already", hint=log_hint)
    return handle, oid, message


def _withdrawn_claims(repository: Repository, tip: Oid, old: Message, message: Message) -> Mapping[str, BlobChange]:
    if old.payload is None:
        return NO_CHANGES
    return {**claims_without(repository, tip, old), **superseded_claims(repository, tip, message)}


def _append(branch: BranchHandle, message: Message, old: Message, made_of: Collection[Oid] = ()) -> MessageAmended:
    """Append a message about an old one; `made_of` are commits whose text it has, which may be purged meanwhile."""
    repository = branch.repository

    def change_state(tip: Oid) -> Mapping[str, BlobChange]:
        require_unpurged(repository, branch.conversation.id, made_of)
        return _withdrawn_claims(repository, tip, old, message)

    oid = append_message(
        repository,
        branch.conversation.id,
        branch.name,
        message,
        state_changes=change_state,
        sign=signs_as(repository, message.author),
    )
    notes: tuple[Note, ...] = ()
    claims = stated_claims(old)
    if claims and message.payload is None:
        keys = ", ".join(sorted(decoded_key(key_of_path(path)) for path in claims))
        again = f"to replace it: scopes amend {quote(branch.conversation.id)} {old.id[:8]} TEXT --data JSON"
        hint = None if message.retracts is not None else again
        notes = (Note(f"what it stated is withdrawn: {keys}", hint),)
    return MessageAmended(
        id=message.id,
        oid=oid,
        conversation=branch.conversation.id,
        branch=branch.name,
        target=old.id,
        retracted=message.retracts is not None,
        notes=notes,
    )


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
    path = topic_leaf(DECISIONS, topic)
    topic = decode_component(path.removesuffix("=").partition("/")[2])
    found = _find_decisions(handle, handle.tip, path)

    def remove(tip: Oid) -> dict[str, BlobChange]:
        if (now := _find_decisions(handle, tip, path)) != found:
            raise Refused(
                f"the decision on {topic!a} was changed meanwhile: {', '.join(now)}",
                hint="nothing was withdrawn; give the command again to withdraw this one",
            )
        return {path: None}

    message_id = oid = None
    if not dry_run:
        text = reason or f"withdrawn: {topic}: {', '.join(found)}"
        message = notice_of_withdrawal(plain_message(check_author(author), text, kind="notice"), path)
        message_id = message.id
        oid = append_message(repository, handle.conversation.id, handle.name, message, state_changes=remove)
    return DecisionWithdrawn(
        id=message_id,
        oid=oid,
        conversation=handle.conversation.id,
        branch=handle.name,
        topic=topic,
        decisions=found,
        dry_run=dry_run,
    )


def _find_decisions(branch: BranchHandle, tip: Oid, path: str) -> tuple[str, ...]:
    """Return the decisions in the claim about a topic.

    Raises:
        NotFound: no decision on it is in effect.
    """
    state = state_of(branch.repository, tip)
    claim = None if state is None else find_blob(branch.repository, state, path)
    if claim is None:
        topic, hint = decoded_key(key_of_path(path)).partition("/")[2], f"scopes decisions {quote(str(branch))}"
        raise NotFound(f"no decision on {topic!a} is in effect on {branch}", hint=f"list them: {hint}")
    return tuple(_decisions_in(encoding.load(claim)))


def _decisions_in(claim: Any) -> list[str]:
    """Return the decisions of a claim; there are several if a merge kept both."""
    match claim:
        case {"both": list(several)}:
            return [text for each in several for text in _decisions_in(each)]
        case {"decision": str(decision)}:
            return [decision]
    return []
