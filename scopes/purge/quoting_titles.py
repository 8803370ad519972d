"""Which titles quote what is purged: those that go with it, and those that only have a short text of it, and stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scopes.history.metadata import read_metadata
from scopes.history.revisions import conversation_ids
from scopes.ids import ConversationId
from scopes.purge.rewrite_records import quotes_in_title
from scopes.purge.rewrite_store import RewrittenStore
from scopes.result import Note, plural
from scopes.store.repository import Repository

_FEW: Final = 5


def note_titles(repository: Repository, done: RewrittenStore) -> tuple[Note, ...]:
    """Return notes about the titles of conversations that are left; call it before the refs move."""
    gone: list[ConversationId] = []
    kept: list[ConversationId] = []
    quotes = done.histories.lost_quotes
    for conversation in conversation_ids(repository) if quotes else ():
        title = read_metadata(repository, conversation).title
        if title is not None and conversation not in done.conversations and quotes.are_in(title):
            goes = quotes_in_title(quotes, title, is_own=conversation in done.own)
            (gone if goes else kept).append(conversation)
    notes = []
    if gone:
        hint = f"give it another one: scopes rename {gone[0]} --title TEXT"
        notes.append(Note(_titles_of(gone, ("quotes it, and goes", "quote it, and go")), hint))
    if kept:
        hint = f"if that is no chance: scopes rename {kept[0]} --title TEXT; its history keeps this one"
        text = _titles_of(kept, ("has a short text of it, and stays", "have a short text of it, and stay"))
        notes.append(Note(text, hint))
    return tuple(notes)


def _titles_of(conversations: Sequence[ConversationId], what: tuple[str, str]) -> str:
    count = len(conversations)
    names = ", ".join(conversations[:_FEW]) + (f" and {count - _FEW:,} more" if count > _FEW else "")
    return f"the {plural(count, 'title')} of {names} {what[count > 1]}"
