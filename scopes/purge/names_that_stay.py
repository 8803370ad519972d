"""Notes about names that are equal to a purged line: of tags, branches, directories and remotes. They are kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from shlex import quote
from typing import Final

from scopes.history.metadata import read_metadata
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.purged_texts import Quotes
from scopes.purge.rewrite_store import RewrittenStore
from scopes.regular_file import read_regular
from scopes.result import Note, plural
from scopes.store import refs
from scopes.store.repository import Repository

_FILES: Final = frozenset({refs.REMOTES_FILE, "packed-refs"})
_ON_REMOTES: Final = "-on-remotes.json"  # which conversations remotes have no more, or have with what was purged
_FEW: Final = 5
_MAX_BYTES: Final = 1 << 24
_HAS: Final = "has a line of it as a name, and stays"
_HISTORY: Final = "the history of the metadata keeps the name"


def is_file_of_names(store: str, path: str) -> bool:
    """Return True for a file of a store that has only names of refs and remotes, and ids."""
    first, _, rest = os.path.relpath(path, store).partition(os.sep)
    return first == "refs" if rest else first in _FILES or first.endswith(_ON_REMOTES)


def note_names(repository: Repository, done: RewrittenStore) -> tuple[Note, ...]:
    """Return notes about such names in conversations that are kept; call it before the refs move."""
    quotes = done.histories.lost_quotes
    if not quotes:
        return ()
    left = [name for name in conversation_ids(repository) if name not in done.conversations]
    directories: list[str] = []
    notes: list[Note] = []
    for conversation in left:
        metadata = read_metadata(repository, conversation)
        for tag in filter(quotes.are_in, metadata.tags):
            text = f"the tag {tag} of {conversation} {_HAS}"
            notes.append(Note(text, f"scopes tag {quote(conversation)} {quote(tag)} --delete; {_HISTORY}"))
        for branch in filter(quotes.are_in, list_branch_tips(repository, conversation)):
            text = f"the branch {conversation}/{branch} {_HAS}"
            notes.append(Note(text, f"scopes rename {quote(conversation)}/{quote(branch)} NAME; {_HISTORY}"))
        if metadata.directory is not None and quotes.are_in(metadata.directory):
            directories.append(conversation)
    if directories:
        first = ", ".join(directories[:_FEW]) + (", ..." if len(directories) > _FEW else "")
        notes.append(Note(f"the {plural(len(directories), 'directory')} of {first} {_HAS}", "see: scopes show CONV"))
    return (*notes, *_note_remotes(repository, quotes))


def _note_remotes(repository: Repository, quotes: Quotes) -> Iterator[Note]:
    path = os.path.join(repository.path, refs.REMOTES_FILE)
    if os.path.exists(path) and quotes.are_in_bytes(read_regular(path, _MAX_BYTES)):
        yield Note("the list of remotes has a line of it, and stays", "see: scopes remote list")
