"""`tokens count`: how many tokens a text or a branch of a conversation has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scopes.context.part_text import CATEGORIES, texts_of
from scopes.context.tokens import Chosen
from scopes.conversation.heads import read_message, walk_heads_newest_first
from scopes.conversation.lookup import find_place
from scopes.result import Note, Result
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCount(Result):
    """The tokens of a text; of a conversation also how many messages, and how many tokens in what kind of part."""

    what: str
    tokens: int
    characters: int
    method: str
    encoding: str
    messages: int | None = None
    parts: Mapping[str, int] | None = None


def count_text(what: str, data: bytes, chosen: Chosen) -> TokenCount:
    """Count the tokens of a text in UTF-8; what is not is replaced, with a note."""
    text = data.decode("utf-8", "replace")
    notes = chosen.notes if text.encode() == data else (*chosen.notes, Note(f"{what} is not all UTF-8"))
    tokens = chosen.tokenizer.count(text)
    return TokenCount(
        what=what,
        tokens=tokens,
        characters=len(text),
        method=chosen.tokenizer.method,
        encoding=chosen.tokenizer.name,
        notes=notes,
    )


def count_conversation(repository: Repository, where: str, chosen: Chosen) -> TokenCount:
    """Count the tokens of all messages up to a branch's tip or any other message, each message id once.

    Raises:
        NotFound, Ambiguous, Invalid: there is no such conversation, branch or message.
    """
    place = find_place(repository, where)
    parts = dict.fromkeys(CATEGORIES, 0)
    messages = characters = 0
    for head in walk_heads_newest_first(repository, [place.oid]):
        messages += 1
        for category, text in texts_of(read_message(repository, head.oid)):
            parts[category] += chosen.tokenizer.count(text)
            characters += len(text)
    return TokenCount(
        what=f"{place.conversation}/{place.branch}" if place.branch else where,
        tokens=sum(parts.values()),
        characters=characters,
        method=chosen.tokenizer.method,
        encoding=chosen.tokenizer.name,
        messages=messages,
        parts=parts,
        notes=chosen.notes,
    )
