"""Find kept messages with the topic of a purged decision or the like: a topic is a name, but may be a sentence."""

from __future__ import annotations

from scopes.history.needles import Needles
from scopes.history.quotes import forms_of
from scopes.purge.proof import CopiedIn
from scopes.purge.rewrite_store import RewrittenStore
from scopes.purge.stored_messages import walk_named_messages
from scopes.store.repository import Repository


def find_same_topics(repository: Repository, done: RewrittenStore) -> tuple[CopiedIn, ...]:
    """Return the kept messages that have the topic, subject or key of a purged one, if that is a sentence.

    Call it before the refs move.
    """
    needles = Needles(form for line in done.histories.topics.distinct() for form in forms_of(line))
    found = (
        CopiedIn(conversation, each.head.id)
        for conversation, each in (walk_named_messages(repository) if needles else ())
        if each.head.id not in done.histories.messages
        and conversation not in done.conversations
        and needles.are_in(each.data)
    )
    return tuple(dict.fromkeys(found))
