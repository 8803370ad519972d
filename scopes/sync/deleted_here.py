"""What a fetch says of conversations that were deleted here, and that others go on with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from scopes.conversation.delete import DeletedRow, list_deleted
from scopes.errors import Corrupt, NotFound
from scopes.history.metadata import read_metadata_at
from scopes.history.revisions import MAIN
from scopes.ids import Oid
from scopes.result import Note
from scopes.store import refs
from scopes.store.repository import Repository
from scopes.sync.accept import FetchedConversation

_SHORT_OID = 12


def describe_deleted(
    repository: Repository, rows: Iterable[FetchedConversation], remote: str, option: str
) -> Iterator[Note]:
    """Yield a note for each conversation that was deleted here and has changed on a remote: what it is, how to have it.

    option: names the remote in a command, if that is needed
    """
    roots = [row.root for row in rows if row.status == "deleted"]
    in_trash = _read_trash(repository) if roots else {}
    for root in roots:
        row = in_trash.get(root)
        if row is None:
            text = f"the conversation {root[:_SHORT_OID]} was deleted here, is no longer in the trash, and has changed"
            hint = "to have it again, clone the remote into another store: scopes --store DIRECTORY clone ADDRESS"
            yield Note(f"{text} on {remote}", hint)
        else:
            title = "" if row.title is None else f" ({row.title})"
            again = f"scopes undo {row.operation}, then: scopes pull {row.id}{option}"
            yield Note(f"{row.id}{title} was deleted here, and has changed on {remote}", f"have it again: {again}")


def _read_trash(repository: Repository) -> dict[Oid, DeletedRow]:
    """Return the conversations in the trash by root commit, as their metadata name it."""
    found: dict[Oid, DeletedRow] = {}
    for row in list_deleted(repository).deleted:
        meta = repository.find_ref(f"{refs.TRASH}{row.id}/{row.operation}/meta")
        with suppress(Corrupt, NotFound):
            main = None if meta is None else read_metadata_at(repository, Oid(meta)).branches.get(MAIN)
            if main is not None and main.fork is not None:
                found.setdefault(main.fork, row)
    return found
