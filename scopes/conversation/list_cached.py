"""The result of `list`, and a fast path that reads it from the index alone, without pygit2 or opening the store."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from operator import attrgetter
from typing import Final, NamedTuple

from scopes.clock import later_of, wall_nanoseconds
from scopes.conversation.list_filter import ALL, ListFilter, none_found_note, project_names
from scopes.errors import Corrupt
from scopes.ids import ConversationId
from scopes.index.conversation_table import ConversationRow, brief_row, find_rows, save_files
from scopes.regular_file import MAX_CONFIG_BYTES, read_regular
from scopes.result import Note, Result
from scopes.store import refs
from scopes.store.packed_refs import read_packed_refs
from scopes.store.raw_refs import RefFiles, read_ref_files, stamp_loose_refs

BRIEF: Final = (refs.HEADS, refs.META, refs.PENDING)
# symbolic refs, which git never packs: one file to open for each; and what remotes have
COMPLETE: Final = (*BRIEF, refs.ACTIVE, refs.REMOTES)
_MANY_FILES: Final = 100  # that many files are opened faster than an index is written
_CLOCK_RESOLUTION: Final = 5_000_000_000  # nanoseconds: file systems have steps of up to two seconds
_MAX_FILE_BYTES: Final = 64 << 20  # of what the store knows about remotes
_TO_SECONDS: Final = len("2026-01-01T00:00:00")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationList(Result):
    """Conversations by last activity, newest first (S4-53).

    projects: the names of projects by recorded directory, for complete rows
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
    store: str, directory: str, *, complete: bool, wanted: ListFilter = ALL
) -> ConversationList | None:
    """Return the list from the index if that is up to date with the refs; None if the store has to be opened.

    It has to be opened also while an operation is pending, and if the store belongs to another user.
    """
    needed = complete or wanted.needs_complete_rows
    try:
        if os.stat(store).st_uid != os.geteuid():
            return None
        summaries = _find_rows(store, directory, complete=needed)
    except OSError:
        return None
    return None if summaries is None else sorted_list(summaries, complete=complete, wanted=wanted)


def has_copies(store: str) -> bool:
    """Return True if a store may have redacted copies, which the index does not know."""
    try:
        return bool(read_ref_files(store, (refs.REDACTED,)).list_refs((refs.REDACTED,)))
    except (OSError, Corrupt):
        return False


def _find_rows(store: str, directory: str, *, complete: bool) -> list[ConversationRow] | None:
    """Return the rows of the index if the refs are those from which they were made.

    That is shown by the content of the ref files. If there are many loose refs, it is enough that none of their files
    was written since the content was compared; then they need not be opened, which takes most of the time.
    """
    prefixes = COMPLETE if complete else BRIEF
    files = _stamp_files(store, prefixes)
    if files is not None:
        found = find_rows(directory, store, files.digest, complete=complete, by_files=True)
        if found is not None:
            return found
    state = refs_digest(read_ref_files(store, prefixes), store, prefixes)
    found = find_rows(directory, store, state, complete=complete)
    if found is not None and files is not None and files.is_proof:
        save_files(directory, store, state, files.digest, complete=complete)
    return found


class _Files(NamedTuple):
    """A digest of the configuration, `packed-refs`, and the stamps of all loose refs.

    is_proof: a file that is written from now on gets another stamp
    """

    digest: str
    is_proof: bool


def _stamp_files(store: str, prefixes: tuple[str, ...]) -> _Files | None:
    """Return the digest of the ref files; None if they have to be read, because they are few or not regular files."""
    now = wall_nanoseconds()
    stamps = stamp_loose_refs(store, prefixes)
    if stamps is None or stamps.files < _MANY_FILES:
        return None
    config = _read_settings(store, prefixes)
    lengths = b"%d %d " % (len(config), len(stamps.content))
    digest = sha256(lengths + config + stamps.content + read_packed_refs(store))
    return _Files(digest.hexdigest(), is_proof=stamps.newest < now - _CLOCK_RESOLUTION)


def refs_digest(files: RefFiles, store: str, prefixes: tuple[str, ...]) -> str:
    """Return a digest of everything that a list depends on: the refs with these prefixes and the store's configuration.

    Raises:
        OSError: the store has no configuration.
    """
    return sha256(_read_settings(store, prefixes) + files.state_of(prefixes).encode()).hexdigest()


def _read_settings(store: str, prefixes: tuple[str, ...]) -> bytes:
    """Return the configuration of a store; for a list that compares with remotes, also what is known of these."""
    config = read_regular(os.path.join(store, "config"), MAX_CONFIG_BYTES)
    for name in (refs.REMOTES_FILE, refs.GONE_FILE) if refs.REMOTES in prefixes else ():
        with suppress(FileNotFoundError):
            config += read_regular(os.path.join(store, name), _MAX_FILE_BYTES)
    return config


def sorted_list(
    summaries: Iterable[ConversationRow],
    *,
    complete: bool,
    wanted: ListFilter = ALL,
    notes: tuple[Note, ...] = (),
    known: Iterable[ConversationRow] | None = None,
) -> ConversationList:
    """Return the wanted conversations by last activity, newest first, equal ones by id.

    If there is none, a note names the values of those in `known` (default: `summaries`).
    """
    every = newest_first(_with_valid_activities(summaries) if complete else summaries)
    rows = wanted.select(every) if wanted.conditional else every
    if wanted.conditional and not rows:
        notes = (*notes, none_found_note(every if known is None else known, wanted))
    shown = rows[: wanted.limit]
    for position, row in enumerate(shown):
        if row.moment is not None:  # it was needed for the order only
            shown[position] = row._replace(moment=None)
    if not complete and wanted.needs_complete_rows:
        shown = list(map(brief_row, shown))
    return ConversationList(
        conversations=tuple(shown),
        projects=project_names(shown) if complete else {},
        filtered=wanted.conditional,
        more=len(rows) - len(shown),
        notes=notes,
    )


def newest_first(summaries: Iterable[ConversationRow]) -> list[ConversationRow]:
    """Return rows by last activity, the newest first; those of one second by their moment, then by id."""
    rows = sorted(summaries, key=attrgetter("id"))
    if any(row.moment is not None for row in rows):
        rows.sort(key=lambda row: row.moment or 0, reverse=True)
    times = [((row.recorded_at or row.last_activity) or "").removesuffix("Z") for row in rows]
    return [rows[position] for position in sorted(range(len(rows)), key=times.__getitem__, reverse=True)]


def _with_valid_activities(rows: Iterable[ConversationRow]) -> list[ConversationRow]:
    """Move the last activity of complete rows to the creation time if it is earlier.

    In the usual case that is decided without parsing the times, and without a call for each row.
    """
    return [
        row
        if (created := row.created_at) is None
        or (
            (active := row.last_activity) is not None
            and created[-1:] == "Z"
            and created[:_TO_SECONDS] < active[:_TO_SECONDS]
        )
        else row._replace(last_activity=later_of(active, created))
        for row in rows
    ]
