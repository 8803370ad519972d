"""Cached rows: tokens and answers of each conversation in a state of its refs, and their sum for the status line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Final, NamedTuple

from scopes.ids import ConversationId
from scopes.index.database import ROW_ERRORS, Layout, change_rows, open_rows

USAGE: Final = Layout(
    "usage.sqlite",
    version=3,
    tables="CREATE TABLE usage (conversation TEXT PRIMARY KEY, state TEXT NOT NULL, summary BLOB NOT NULL, "
    "answers BLOB NOT NULL) STRICT; CREATE TABLE total (state TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT",
)


_USAGE_BUSY_SECONDS: Final = 0.25


class UsageRow(NamedTuple):
    """A conversation, the state of its refs, and what was made of them; change the layout version with its bytes."""

    conversation: ConversationId
    state: str
    summary: bytes
    answers: bytes


def read_summaries(directory: str, store: str) -> dict[ConversationId, tuple[str, bytes]]:
    """Return state and summary of all conversations."""
    with contextlib.suppress(*ROW_ERRORS), open_rows(directory, USAGE, store, _USAGE_BUSY_SECONDS) as connection:
        rows = connection.execute("SELECT conversation, state, summary FROM usage")
        return {ConversationId(name): (state, summary) for name, state, summary in rows}
    return {}


def read_answers(directory: str, store: str, conversations: Iterable[ConversationId]) -> dict[ConversationId, bytes]:
    """Return the answers of conversations as they were in the state of their rows."""
    found: dict[ConversationId, bytes] = {}
    with contextlib.suppress(*ROW_ERRORS), open_rows(directory, USAGE, store, _USAGE_BUSY_SECONDS) as connection:
        for name in conversations:
            for (answers,) in connection.execute("SELECT answers FROM usage WHERE conversation = ?", (name,)):
                found[name] = answers
    return found


def write_rows(directory: str, store: str, rows: Iterable[UsageRow], gone: Iterable[ConversationId]) -> None:
    """Add rows and delete others, or do nothing if that is not possible now."""
    with contextlib.suppress(*ROW_ERRORS), change_rows(directory, USAGE, store, _USAGE_BUSY_SECONDS) as connection:
        connection.executemany("INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?)", list(rows))
        connection.executemany("DELETE FROM usage WHERE conversation = ?", [(name,) for name in gone])


def read_total(directory: str, store: str, state: str) -> bytes | None:
    """Return the sum of all conversations that was saved for a state of the refs; None if it is not there."""
    with contextlib.suppress(*ROW_ERRORS), open_rows(directory, USAGE, store, _USAGE_BUSY_SECONDS) as connection:
        found = connection.execute("SELECT data FROM total WHERE state = ?", (state,)).fetchone()
        return None if found is None else bytes(found[0])
    return None


def write_total(directory: str, store: str, state: str, data: bytes) -> None:
    """Save the sum of all conversations in place of the one before, or do nothing if that is not possible now."""
    with contextlib.suppress(*ROW_ERRORS), change_rows(directory, USAGE, store, _USAGE_BUSY_SECONDS) as connection:
        connection.execute("DELETE FROM total")
        connection.execute("INSERT INTO total VALUES (?, ?)", (state, data))
