"""The messages of a branch in pages: a page reads its own messages, whatever the length of the branch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from scopes.conversation.log import LogEntry, log
from scopes.errors import NotFound
from scopes.history.messages import message_id_of, read_body
from scopes.history.names import resolve_revision
from scopes.ids import BranchName, ConversationId
from scopes.render.document import make_document
from scopes.store.objects import read_commit
from scopes.store.repository import Repository


class Page(NamedTuple):
    """Messages as JSON, oldest first, how many more there are, and whether older ones were not counted."""

    rows: list[dict[str, object]]
    hidden: int = 0
    has_older: bool = False


def read_page(
    repository: Repository,
    conversation: ConversationId,
    branch: BranchName,
    *,
    after: str | None = None,
    limit: int,
    newest: bool = False,
) -> Page:
    """Read the first messages of a branch, those after another one, or the newest ones.

    The order is that of the whole branch: of two merged sides, one comes after the other.

    Raises:
        NotFound, Ambiguous: there is no message `after` on the branch, or there are several.
    """
    where = f"{conversation}/{branch}"
    if newest and after is None:
        found = _walk(repository, where, limit + 1)
        return Page(_rows(repository, found[-limit:]), has_older=len(found) > limit)
    entries = _walk(repository, where, None)
    if after is not None:
        entries = entries[_find(repository, entries, after, where) + 1 :]
    shown = entries[-limit:] if newest else entries[:limit]
    return Page(_rows(repository, shown), len(entries) - len(shown))


def _walk(repository: Repository, where: str, limit: int | None) -> list[LogEntry]:
    """Return the messages of a branch without their bodies, oldest first; a limit counts from the newest."""
    return [
        cast("LogEntry", entry) for entry in log(repository, where, limit=limit, oldest_first=True, bodies=False).items
    ]


def _find(repository: Repository, entries: Sequence[LogEntry], name: str, where: str) -> int:
    """Return the position of a message on a branch."""
    wanted = name
    if all(entry.head.id != name for entry in entries):
        conversation = ConversationId(where.partition("/")[0])
        wanted = message_id_of(read_commit(repository, resolve_revision(repository, name, conversation).oid))
    for position, entry in enumerate(entries):
        if entry.head.id == wanted:
            return position
    raise NotFound(f"message {name!a} is not on {where}", hint="after is the `next` of an answer about the same branch")


def _rows(repository: Repository, entries: Sequence[LogEntry]) -> list[dict[str, object]]:
    return [_row(replace(entry, message=read_body(repository, entry.head))) for entry in entries]


def _row(entry: LogEntry) -> dict[str, object]:
    """Return a message as JSON; `parts` is left out if it only repeats the text."""
    row: dict[str, Any] = make_document(entry)
    if row.get("parts") == [{"type": "text", "text": row.get("text")}]:
        del row["parts"]
    return row
