"""What `list` answers, and the answer that needs neither the store nor its library: from the index alone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from operator import attrgetter
from typing import Final

from scopes.clock import seconds_of
from scopes.errors import Corrupt
from scopes.ids import ConversationId
from scopes.index.conversation_table import ConversationSummary, find_summaries
from scopes.result import Note, Result
from scopes.store import refs as names
from scopes.store.raw_refs import RefFiles, read_ref_files

BRIEF: Final = (names.HEADS, names.META, names.PENDING)
_SECONDS: Final = len("2026-01-01T00:00:00")
COMPLETE: Final = (*BRIEF, names.ACTIVE)  # symbolic, which git never packs: a file to open for each


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationList(Result):
    """Conversations by last activity, newest first (S4-53); `damaged` ones could not be read and are left out."""

    conversations: tuple[ConversationSummary, ...]
    damaged: tuple[ConversationId, ...] = ()

    @property
    def exit_code(self) -> int:
        """The code of damage where a conversation is left out."""
        return Corrupt.exit_code if self.damaged else 0


def find_cached_list(store: str, directory: str, *, complete: bool) -> ConversationList | None:
    """Return the list where the index knows it for the refs as they are now; None where the store must be asked.

    So it is while an operation is about to move refs, and for a store that is another user's.
    """
    try:
        if os.stat(store).st_uid != os.geteuid():
            return None
        prefixes = COMPLETE if complete else BRIEF
        state = refs_digest(read_ref_files(store, prefixes), store, prefixes)
    except OSError:
        return None
    found = find_summaries(directory, store, state, complete=complete)
    return None if found is None else sorted_list(found, complete=complete)


def refs_digest(files: RefFiles, store: str, prefixes: tuple[str, ...]) -> str:
    """Return a short text that differs where a list may: where a ref has moved, or the store is of another kind now.

    Raises:
        OSError: the store has no configuration.
    """
    with open(os.path.join(store, "config"), "rb") as file:
        return sha256(file.read() + files.state_of(prefixes).encode()).hexdigest()


def sorted_list(
    found: Iterable[ConversationSummary], *, complete: bool, notes: tuple[Note, ...] = ()
) -> ConversationList:
    """Sort conversations by last activity, the newest first and equals by id."""
    shown = sorted(map(_settled, found) if complete else found, key=attrgetter("id"))
    shown.sort(key=lambda summary: (summary.last_activity or "").removesuffix("Z"), reverse=True)
    return ConversationList(conversations=tuple(shown), notes=notes)


def _settled(summary: ConversationSummary) -> ConversationSummary:
    """Put the last activity of a complete summary not before the creation."""
    created, active = summary.created_at, summary.last_activity
    if created is None or (active is not None and created.endswith("Z") and created[:_SECONDS] < active[:_SECONDS]):
        return summary  # nearly always, and without reading the times
    return summary._replace(last_activity=later_of(active, created))


def creation_time(created: str) -> str | None:
    """Return when something was made; None where nobody told, which is written as the year 1970."""
    return created if seconds_of(created) else None


def later_of(last_activity: str | None, created: str) -> str | None:
    """Return the later of two moments: nothing was active before it was made (S4-5)."""
    made = creation_time(created)
    return made if made is not None and seconds_of(made) >= seconds_of(last_activity or "") else last_activity
