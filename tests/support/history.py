"""Histories are drawn, not built: `history(repository, "main: a b c", "fix@b: d e")`.

A row is a branch with its messages; `@b` says where it begins, and without it a branch begins at the tip of main. Every
word is one message with that word as its text. Ids and times come from the sealed world, so they are the same every time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scopes.clock import new_id, now
from scopes.conversation.append import MessageAppended, append
from scopes.conversation.branch import branch
from scopes.conversation.log import log
from scopes.conversation.new_rename_delete import new
from scopes.history.messages import plain_message, write_root_commit
from scopes.history.names import list_branch_tips
from scopes.ids import ConversationId, MessageId, Oid
from scopes.model.conversation import Root
from scopes.model.message import Author
from scopes.model.validation import check_message
from scopes.store.repository import Repository
from tests.support.store import git

_ROW = re.compile(r"(?P<branch>[^@:\s]+)(?:@(?P<start>\S+))?:(?P<words>.*)")


@dataclass(frozen=True)
class History:
    """A drawn history: message ids and commit ids by word, and the root commit."""

    conversation: ConversationId
    root: Oid
    ids: Mapping[str, MessageId] = field(default_factory=dict)
    oids: Mapping[str, Oid] = field(default_factory=dict)


def history(repository: Repository, *rows: str, conversation: str | None = None, author: str = "carol") -> History:
    """Create a conversation with the drawn branches; main is the active one."""
    made = new(repository, conversation_id=conversation)
    ids: dict[str, MessageId] = {}
    oids = {"root": list_branch_tips(repository, made.id)[made.branch]}
    for row in rows:
        name, start, words = _read_row(row)
        if name != "main":
            branch(repository, made.id, name=name, start=oids[start] if start else "main", switch=False)
        for word in words:
            if word in oids:
                raise ValueError(f"two messages are called {word!r}")
            appended = say(repository, f"{made.id}/{name}", word, author=author)
            ids[word], oids[word] = appended.id, appended.oid
    return History(made.id, oids.pop("root"), ids, oids)


def _read_row(row: str) -> tuple[str, str | None, list[str]]:
    match = _ROW.fullmatch(row)
    if match is None:
        raise ValueError(f"{row!r} is no row such as 'fix@b: d e'")
    return match["branch"], match["start"], match["words"].split()


def say(
    repository: Repository, where: str, text: str, *, author: str | dict[str, str] = "carol", **fields: Any
) -> MessageAppended:
    """Append a message to `CONV` or `CONV/BRANCH`; further fields are those of `append --jsonl`."""
    conversation, _, name = where.partition("/")
    if fields or not isinstance(author, str):
        document = {"author": author, "text": text, **fields}
        message = check_message(document, message_id=new_id(), now=now())
    else:
        message = plain_message(author, text)
    return append(repository, conversation, message, branch=name or None)


def texts(repository: Repository, where: str, **options: Any) -> list[str]:
    """Return the texts that a log of `where` shows, oldest first."""
    entries = log(repository, where, oldest_first=True, **options).items
    return [entry.message.text for entry in entries]


def session_in(store: Repository, number: int, directory: str) -> None:
    """Make a conversation as an import does: its root says the directory."""
    root = Root(f"{number:032d}", "2026-03-09T10:00:00Z", format="codex", native_id=f"s-{number}", cwd=directory)
    git(
        store.path,
        "update-ref",
        f"refs/heads/conv-{number:03d}/main",
        write_root_commit(store, root, {"carol": "human"}),
    )
    append(store, f"conv-{number:03d}", plain_message(Author("carol", "human"), f"in {directory}"))
