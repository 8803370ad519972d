"""Which conversations this store has deleted from which remotes: a file of the store, so that no push sends them again.

Only a push that names a conversation does, until a fetch sees that somebody else has sent it again. The file maps the
name of a remote (that of its first repository, whichever has the conversation) to ids of root commits; for a branch its
name follows the id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from shlex import quote
from typing import Final

from scopes.history.names import find_root_commit
from scopes.ids import BranchName, ConversationId, Oid
from scopes.result import Note, first_few, plural
from scopes.store.config import read_sets, write_json
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

FILE: Final = "deleted-on-remotes.json"


def read_deleted(store: str, remote: str) -> set[Oid]:
    """Return the roots of conversations that were deleted from a remote.

    Raises:
        Corrupt: the file is damaged.
    """
    return {Oid(name) for name in _read(store).get(remote, ()) if "/" not in name}


def read_deleted_branches(store: str, remote: str) -> set[str]:
    """Return the branches that were deleted from a remote, as `name_branch` formats them; raises as `read_deleted`."""
    return {name for name in _read(store).get(remote, ()) if "/" in name}


def name_branch(root: Oid, branch: BranchName) -> str:
    """Return the entry of a branch in the file: ROOT/BRANCH."""
    return f"{root}/{branch}"


def _read(store: str) -> dict[str, frozenset[str]]:
    return read_sets(store, FILE, "remotes")


def remember_deleted(repository: Repository, remote: str, names: Iterable[str]) -> None:
    """Remember that conversations, or branches, were deleted from a remote; call it under the exclusive lock."""
    _change(repository, remote, {*_read(repository.path).get(remote, ()), *names})


def forget_deleted(repository: Repository, remote: str, names: Iterable[str]) -> None:
    """Remove conversations or branches that were sent again from the file; call it under the exclusive lock."""
    known = {*_read(repository.path).get(remote, ())}
    if not known.isdisjoint(sent := set(names)):
        _change(repository, remote, known - sent)


def forget_all_deleted(repository: Repository, remote: str) -> None:
    """Remove the entries of a remote that was removed; call it under the exclusive lock."""
    if _read(repository.path).get(remote):
        _change(repository, remote, ())


def note_sent_again(repository: Repository, remote: str, roots: Iterable[Oid]) -> None:
    """Remove conversations that are here and that a fetch has seen on the remote: others have sent them again.

    The exclusive lock is taken only if there are some.
    """
    again = read_deleted(repository.path, remote).intersection(roots)
    if again:
        with exclusive_write(repository):
            forget_deleted(repository, remote, again)


def _change(repository: Repository, remote: str, names: Iterable[str]) -> None:
    known = {**_read(repository.path), remote: frozenset(names)}
    kept = {name: sorted(each) for name, each in known.items() if each}
    write_json(repository.path, FILE, {"v": 1, "remotes": kept} if kept else None)


def rename_deleted(repository: Repository, remote: str, new: str) -> None:
    """Move the entries of a remote to its new name; call it under the exclusive lock."""
    known = _read(repository.path).get(remote)
    if known:
        _change(repository, remote, ())
        _change(repository, new, known)


def leave_deleted(
    repository: Repository, remote: str, chosen: Sequence[ConversationId]
) -> tuple[list[ConversationId], tuple[Note, ...]]:
    """Return the chosen conversations without those that were deleted from a remote, and a note about these."""
    roots = read_deleted(repository.path, remote)
    deleted = [each for each in chosen if find_root_commit(repository, each) in roots] if roots else []
    if not deleted:
        return list(chosen), ()
    number = len(deleted)
    text = f"{number} {plural(number, 'conversation')} {'was' if number == 1 else 'were'} deleted from {remote}"
    note = Note(f"{text}: {first_few(deleted)}", f"send one again by its name: scopes push {quote(deleted[0])}")
    return [each for each in chosen if each not in deleted], (note,)
