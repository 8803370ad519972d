"""`tokens count`: how many tokens a text or a branch of a conversation has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from scopes.context.calibrate import calibrate
from scopes.context.part_text import CATEGORIES, texts_of
from scopes.history.messages import read_message, walk_heads_newest_first
from scopes.history.revparse import resolve_revision
from scopes.result import Note, Result
from scopes.store.repository import Repository
from scopes.tokens.choose import TokenizerChoice
from scopes.tokens.count_cache import FileCountCache, with_cache

_BATCH = 1000  # messages whose texts are held at once


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


def count_text(what: str, data: bytes, chosen: TokenizerChoice) -> TokenCount:
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


def count_conversation(repository: Repository, where: str, chosen: TokenizerChoice, cache: str) -> TokenCount:
    """Count the tokens of all messages up to a branch's tip or any other message, each message id once.

    Raises:
        NotFound, Ambiguous, Invalid: there is no such conversation, branch or message.
    """
    place = resolve_revision(repository, where)
    parts = dict.fromkeys(CATEGORIES, 0)
    messages = characters = 0
    with FileCountCache(cache) as counts:
        tokenizer, notes = calibrate(repository, place, with_cache(chosen, counts))
        heads = walk_heads_newest_first(repository, [place.oid])
        while batch := list(islice(heads, _BATCH)):
            messages += len(batch)
            texts = [found for head in batch for found in texts_of(read_message(repository, head.oid))]
            tokenizer.prepare(text for _, text in texts)
            for category, text in texts:
                parts[category] += tokenizer.count(text)
                characters += len(text)
        counts.save()
    return TokenCount(
        what=f"{place.conversation}/{place.branch}" if place.branch else where,
        tokens=sum(parts.values()),
        characters=characters,
        method=tokenizer.method,
        encoding=tokenizer.name,
        messages=messages,
        parts=parts,
        notes=notes,
    )
