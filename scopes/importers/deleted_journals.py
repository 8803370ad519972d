"""What becomes of the files of Cursor's hooks when their conversation is deleted, restored or expires.

A deleted conversation is in the trash, and so is its file: it has another name, by which `import` does not find it. An
undo gives it the old one, with what Cursor has told since at its end. What `gc` expires is deleted with its file.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from scopes.conversation.new_rename_delete import ConversationDeleted, delete, list_deleted
from scopes.conversation.undo import Undone
from scopes.errors import Corrupt, Invalid, NotFound
from scopes.history.handles import StoreHandle
from scopes.history.messages import read_root
from scopes.ids import Oid
from scopes.importers.formats.cursor.journals import journal_of
from scopes.importers.formats.cursor.names import NAME
from scopes.store import refs
from scopes.store.objects import read_commit
from scopes.store.projects import state_directory
from scopes.store.repository import Repository

_DELETED = re.compile(r"(?P<journal>.+\.jsonl)\.deleted-(?P<operation>[a-z0-9]+)")


def delete_with_journal(repository: Repository, conversation: str, environ: Mapping[str, str]) -> ConversationDeleted:
    """Delete a conversation, and put the file of Cursor's hooks away that it was recorded from."""
    journals = list(
        _find_journals(repository, StoreHandle(repository).conversation(conversation).tips.values(), environ)
    )
    deleted = delete(repository, conversation)
    for journal in journals:
        _rename(journal, f"{journal}.deleted-{deleted.operation}")
    return deleted


def follow_undo(repository: Repository, undone: Undone, environ: Mapping[str, str]) -> Undone:
    """Give files their names back whose deletion was undone; put those away again whose deletion was redone."""
    if undone.operation is None:
        return undone  # a dry run
    deleted = _deleted_tips(undone)
    for operation, tips in deleted.items() if undone.redo else ():
        for journal in list(_find_journals(repository, tips, environ)):
            _rename(journal, f"{journal}.deleted-{operation}")
    for path, journal, operation in () if undone.redo else list(_walk_deleted(environ)):
        if operation in deleted:
            _restore(path, journal)
    return undone


def list_trash(repository: Repository, environ: Mapping[str, str]) -> set[str]:
    """Return the deletions in the trash; nothing if no file of Cursor's hooks was put away."""
    if next(_walk_deleted(environ), None) is None:
        return set()
    return {str(row.operation) for row in list_deleted(repository).deleted}


def remove_expired(expired: Iterable[str], environ: Mapping[str, str]) -> None:
    """Delete the files of conversations that are no longer in the trash, by the operations that deleted them."""
    gone = set(expired)
    for path, _, operation in list(_walk_deleted(environ)):
        if operation in gone:
            with suppress(OSError):
                os.unlink(path)


def _deleted_tips(undone: Undone) -> dict[str, list[Oid]]:
    """Return the branches that went into the trash or came out of it, by the operation that deleted them."""
    found: dict[str, list[Oid]] = {}
    for change in (change for each in (undone.target, *undone.also) for change in each.changes):
        _, trash, name = change.ref.partition(refs.TRASH)
        tip = change.new or change.old
        if trash and "/heads/" in name and tip is not None:
            found.setdefault(name.split("/")[1], []).append(Oid(tip))
    return found


def _find_journals(repository: Repository, tips: Iterable[Oid], environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the file that the conversation of some branches was recorded from by the hooks of Cursor, once."""
    found = set()
    for tip in tips:
        with suppress(Corrupt, Invalid, NotFound):
            root = read_root(repository, read_commit(repository, tip), None)
            if root.format == NAME and root.native_id is not None:
                found.add(journal_of(root.native_id, environ))
    yield from filter(os.path.isfile, found)


def _walk_deleted(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the files that were put away, their names of before, and the operations that deleted the conversations."""
    folder = os.path.join(state_directory(environ), NAME)
    with suppress(OSError):
        for found in filter(None, map(_DELETED.fullmatch, os.listdir(folder))):
            yield os.path.join(folder, found[0]), os.path.join(folder, found["journal"]), found["operation"]


def _rename(path: str, new: str) -> None:
    with suppress(OSError):
        os.rename(path, new)


def _restore(path: str, journal: str) -> None:
    """Rename a file that was put away; what a new one in its place has is added to it before."""
    with suppress(OSError):
        newer = os.open(journal, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(newer, fcntl.LOCK_EX)  # a hook writes a line under it
            with open(newer, "rb", closefd=False) as added, open(path, "ab") as file:
                file.write(added.read())
                file.flush()
                os.fsync(file.fileno())
            os.rename(path, journal)
        finally:
            os.close(newer)
    _rename(path, journal)
