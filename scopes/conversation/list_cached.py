"""The result of `list`, and a fast path that reads it from the index alone, without pygit2 or opening the store."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from operator import attrgetter
from typing import Final

from scopes.conversation.list_filter import ALL, ListFilter, none_found_note, project_names
from scopes.errors import Corrupt
from scopes.ids import ConversationId
from scopes.index.conversation_table import ConversationRow, read_rows
from scopes.regular_file import MAX_CONFIG_BYTES, read_regular
from scopes.result import Note, Result
from scopes.store import refs
from scopes.store.raw_refs import RefFiles, read_loose_ref, read_ref_files

BRIEF: Final = (refs.HEADS, refs.META, refs.PENDING)
LISTED: Final = (*BRIEF, refs.REMOTES)
_MAX_FILE_BYTES: Final = 64 << 20  # of what the store knows about remotes


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationList(Result):
    """Conversations by last activity, newest first (S4-53).

    projects: the names of projects by recorded directory
    copies: those that are redacted copies, with the id of the original; empty if that is gone
    damaged: conversations that could not be read
    filtered: True if conversations may have been left out by a condition
    more: the number of conversations that the limit left out
    """

    conversations: tuple[ConversationRow, ...]
    projects: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[ConversationId, str] = field(default_factory=dict)
    damaged: tuple[ConversationId, ...] = ()
    filtered: bool = False
    more: int = 0

    @property
    def exit_code(self) -> int:
        """The exit code of damage if a conversation could not be read, otherwise 0."""
        return Corrupt.exit_code if self.damaged else 0


def find_cached_list(
    store: str, directory: str, *, wanted: ListFilter = ALL, details: bool = True
) -> ConversationList | None:
    """Return the list from the index if that is up to date with the refs; None if the store has to be opened.

    It has to be opened also while an operation is pending, and if the store belongs to another user.
    """
    try:
        if os.stat(store).st_uid != os.geteuid():
            return None
        state = list_digest(read_ref_files(store, LISTED), store)
    except (OSError, ValueError, Corrupt):
        return None
    cached = read_rows(directory, store)
    rows = [row.summary for row in cached.rows.values()]
    if cached.state != state or (wanted.needs_details and any(row.messages is None for row in rows)):
        return None
    found = sorted_list(rows, wanted=wanted)
    return None if details and any(row.messages is None for row in found.conversations) else found


def has_copies(store: str) -> bool:
    """Return True if a store may have redacted copies, which the index does not know."""
    try:
        return bool(read_ref_files(store, (refs.REDACTED,)).list_refs((refs.REDACTED,)))
    except (OSError, Corrupt):
        return False


def list_digest(files: RefFiles, store: str) -> str:
    """Return a digest of everything that a list depends on.

    The active branch is a file for each conversation; it is read of those that have several branches only.

    Raises:
        OSError: a file cannot be read.
        ValueError, Corrupt: one is damaged.
    """
    found = files.list_refs((refs.HEADS,))  # and others that were read
    names = Counter(name.split("/")[2] for name in found if name.startswith(refs.HEADS))
    active = [read_loose_ref(store, refs.ACTIVE + name) for name, count in names.items() if count > 1]
    data = refs_digest(files, store, LISTED) + repr(active)
    for name in (refs.REMOTES_FILE, refs.GONE_FILE):
        with suppress(FileNotFoundError):
            data += sha256(read_regular(os.path.join(store, name), _MAX_FILE_BYTES)).hexdigest()
    return sha256(data.encode("utf-8", "backslashreplace")).hexdigest()


def refs_digest(files: RefFiles, store: str, prefixes: tuple[str, ...]) -> str:
    """Return a digest of the refs with these prefixes and of the store's configuration.

    Raises:
        OSError: the store has no configuration.
    """
    config = read_regular(os.path.join(store, "config"), MAX_CONFIG_BYTES)
    return sha256(config + files.state_of(prefixes).encode()).hexdigest()


def sorted_list(
    summaries: Iterable[ConversationRow], *, wanted: ListFilter = ALL, notes: tuple[Note, ...] = ()
) -> ConversationList:
    """Return the wanted conversations by last activity, newest first, equal ones by id.

    If there is none, a note names the values that there are.
    """
    every = newest_first(summaries)
    rows = wanted.select(every) if wanted.conditional else every
    if wanted.conditional and not rows:
        notes = (*notes, none_found_note(every, wanted))
    shown = rows[: wanted.limit]
    return ConversationList(
        conversations=tuple(shown),
        projects=project_names(shown),
        filtered=wanted.conditional,
        more=len(rows) - len(shown),
        notes=notes,
    )


def newest_first(summaries: Iterable[ConversationRow]) -> list[ConversationRow]:
    """Return rows by last activity, the newest first; those of one second by their moment, then by id."""
    rows = sorted(summaries, key=attrgetter("id"))
    return sorted(rows, key=lambda row: ((row.activity or "").removesuffix("Z"), row.moment), reverse=True)
