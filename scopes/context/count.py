"""`tokens count`: count the tokens of a text or of a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from scopes.context.calibrate import calibrate
from scopes.context.count_cache import with_cache
from scopes.context.part_text import CATEGORIES, texts_of
from scopes.history.messages import read_body, walk_headers_newest_first
from scopes.history.names import resolve_revision
from scopes.result import Note, Result
from scopes.store.repository import Repository
from scopes.tokens.count import TokenizerChoice

_BATCH = 1000  # messages whose texts are in memory at once


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCount(Result):
    """The tokens of a text; of a conversation also its messages and the tokens by category of part."""

    what: str
    tokens: int
    characters: int
    method: str
    encoding: str
    messages: int | None = None
    parts: Mapping[str, int] | None = None


def count_text(what: str, data: bytes, choice: TokenizerChoice) -> TokenCount:
    """Count the tokens of UTF-8 text; invalid bytes are replaced, with a note. `what` names the text in the result."""
    text = data.decode("utf-8", "replace")
    notes = choice.notes if text.encode() == data else (*choice.notes, Note(f"{what} is not valid UTF-8"))
    tokens = choice.tokenizer.count(text)
    return TokenCount(
        what=what,
        tokens=tokens,
        characters=len(text),
        method=choice.tokenizer.method,
        encoding=choice.tokenizer.name,
        notes=notes,
    )


def count_conversation(repository: Repository, where: str, choice: TokenizerChoice, cache_directory: str) -> TokenCount:
    """Count the tokens of all messages up to the tip of a branch, or up to a message.

    Raises:
        NotFound, Ambiguous, Invalid: there is no such conversation, branch or message.
    """
    revision = resolve_revision(repository, where)
    parts = dict.fromkeys(CATEGORIES, 0)
    messages = characters = 0
    with with_cache(choice, cache_directory) as counter:
        tokenizer, notes = calibrate(repository, revision, counter)
        heads = walk_headers_newest_first(repository, [revision.oid])
        while batch := list(islice(heads, _BATCH)):
            messages += len(batch)
            texts = [each for head in batch for each in texts_of(read_body(repository, head))]
            for category, text in texts:
                parts[category] += tokenizer.count(text)
                characters += len(text)
    return TokenCount(
        what=f"{revision.conversation}/{revision.branch}" if revision.branch else where,
        tokens=sum(parts.values()),
        characters=characters,
        method=tokenizer.method,
        encoding=tokenizer.name,
        messages=messages,
        parts=parts,
        notes=notes,
    )
