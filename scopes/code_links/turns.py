"""The turns of one conversation, by its commits: a prompt of a person or a slash command, and what follows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from scopes.history.messages import MessageHeader, header_of, is_root, walk_headers_newest_first
from scopes.history.names import MAIN, list_branch_tips
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.store.graph import walk_oldest_first
from scopes.store.repository import Repository

_SLASH_COMMAND: Final = ("<command-name>", "<command-message>")


class TurnMessage(NamedTuple):
    """A message and its turn: the number, counted along the history of the message, and the commit that it begins with.

    The number is 0, and there is no beginning, before the first prompt.
    """

    head: MessageHeader
    number: int
    begin: Oid | None


def begins_turn(head: MessageHeader) -> bool:
    """Return True for a prompt of a person, and for a slash command, whoever is its author."""
    if head.kind == "meta":
        return head.subject.startswith(_SLASH_COMMAND)
    return head.kind in {"prompt", "plain"} and head.author_kind == "human"


def list_turn_messages(repository: Repository, tips: Iterable[Oid]) -> list[TurnMessage]:
    """Return the messages below tips with their turns, parents before children; copies of a message are there twice.

    Raises:
        Corrupt, NotFound: a commit is damaged or missing.
    """
    turns: dict[Oid, tuple[int, Oid | None]] = {}
    found = []
    for commit in walk_oldest_first(repository, tips):
        if is_root(commit):
            continue
        head = header_of(commit)
        number, begin = turns.get(head.parents[0], (0, None)) if head.parents else (0, None)
        if begins_turn(head):
            number, begin = number + 1, head.oid
        turns[head.oid] = (number, begin)
        found.append(TurnMessage(head, number, begin))
    return found


def messages_of_turn(messages: Iterable[TurnMessage], message: MessageId) -> list[MessageId]:
    """Return the messages of the turn that a message is in, in order; of each branch, if branches began in the turn.

    The number of a turn that began with a sub-agent's prompt is that of its own branch.
    """
    known = list(messages)
    begins = {each.begin for each in known if each.head.id == message}
    return list(dict.fromkeys(each.head.id for each in known if each.begin in begins))


def branches_of_messages(
    repository: Repository, conversation: ConversationId, wanted: Iterable[MessageId]
) -> dict[MessageId, BranchName]:
    """Return the branch of each message: main if that has it, else the first one; no entry for one that none has."""
    branches: dict[MessageId, BranchName] = {}
    missing = set(wanted)
    tips = list_branch_tips(repository, conversation)
    for name in sorted(tips, key=lambda name: (name != MAIN, name)):
        for head in walk_headers_newest_first(repository, [tips[name]]) if missing else ():
            if head.id in missing:
                branches[head.id] = name
                missing.remove(head.id)
                if not missing:
                    break
    return branches
