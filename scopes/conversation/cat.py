"""`cat`: one message, whole."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.conversation.heads import MessageHead, head_of, is_root, read_message_bytes
from scopes.conversation.lookup import Place, find_active_branch, find_conversation, find_place
from scopes.conversation.staleness import SUMMARY, count_since
from scopes.errors import NotFound
from scopes.ids import BranchName, ConversationId
from scopes.model.codec import decode
from scopes.model.message import Message
from scopes.result import Result
from scopes.store.repository import Repository, read_commit


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageView(Result):
    """A message with where it was found; `stored` is its line exactly as it is kept.

    Of a summary, `newer` is how many messages came after it on its branch: it is stale then (S4-47).
    """

    conversation: ConversationId
    branch: BranchName | None
    head: MessageHead
    message: Message
    stored: bytes
    raw: bool
    newer: int | None = None


def cat(repository: Repository, message: str, *, conversation: str | None = None, raw: bool = False) -> MessageView:
    """Read one message by id, by place (`conv-001/main~2`) or by tag.

    Raises:
        NotFound: there is no such message, or the place is a conversation without messages.
    """
    within = None if conversation is None else find_conversation(repository, conversation)
    place = find_place(repository, message, within)
    commit = read_commit(repository, place.oid)
    if is_root(commit):
        where = f"{place.conversation}/{place.branch}" if place.branch else place.conversation
        raise NotFound(f"{where} has no message here", hint=f'add one: scopes conv append {place.conversation} "..."')
    stored = read_message_bytes(repository, place.oid)
    head, read = head_of(commit), decode(stored)
    return MessageView(
        conversation=place.conversation,
        branch=place.branch,
        head=head,
        message=read,
        stored=stored,
        raw=raw,
        newer=_count_newer(repository, place, head, read) if head.kind == SUMMARY else None,
    )


def _count_newer(repository: Repository, place: Place, head: MessageHead, message: Message) -> int | None:
    """Count what came after a summary on the branch that it was named by, was made on, or that is active."""
    match message.extra.get("summarizes"):
        case {"branch": str(made_on)}:
            names = [made_on]
        case _:
            names = []
    named = [] if place.branch is None else [place.branch]
    return count_since(
        repository, place.conversation, head, [*named, *names, find_active_branch(repository, place.conversation)]
    )
