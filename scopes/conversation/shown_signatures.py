"""`--show-signature` of `log`, `show` and `cat`: git's verdicts about the signatures of the messages shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from scopes.conversation.cat import MessageView
from scopes.conversation.log import Log, LogEntry
from scopes.conversation.show import ConversationView
from scopes.result import Result
from scopes.store.repository import Repository
from scopes.store.signatures import check_signatures
from scopes.store.signing import read_signing_settings

_AT_ONCE = 50  # messages; a git is started for them if one is signed


def with_message_signature(repository: Repository, view: MessageView, directory: str) -> MessageView:
    """Return a message with the signature of its commit, if it has one."""
    return replace(view, signature=check_signatures(repository, [view.head.oid], directory).get(view.head.oid))


def with_recent_signatures(repository: Repository, view: ConversationView, directory: str) -> ConversationView:
    """Return a conversation whose latest messages have the signatures of their commits."""
    oids = [head.oid for head in view.recent]
    found = check_signatures(repository, oids, directory)
    return replace(view, recent_signatures=tuple(map(found.get, oids)))


def with_signatures(repository: Repository, log: Log, directory: str) -> Log:
    """Return a log whose entries have the signatures of their commits; they are checked as the log is iterated."""
    return replace(log, items=_walk(repository, iter(log.items), directory))


def _walk(repository: Repository, items: Iterable[Result], directory: str) -> Iterator[Result]:
    settings = read_signing_settings(directory)
    rest = iter(items)
    while batch := list(islice(rest, _AT_ONCE)):
        oids = [item.head.oid for item in batch if isinstance(item, LogEntry)]
        found = check_signatures(repository, oids, directory, settings)
        for item in batch:
            yield replace(item, signature=found.get(item.head.oid)) if isinstance(item, LogEntry) else item
