"""Conversations that a remote had and no longer has, as of the last fetch of everything: a file of the store.

If one of them is purged here, it need not be removed there. Their tracking refs are kept, to count messages that nobody
else has. If all conversations disappeared at once they are lost: the remote was emptied or recreated. The file only has
ids of root commits, by the name of the remote.
"""

from __future__ import annotations

from collections.abc import Iterable

from scopes.store.config import read_gone, read_json, read_sets, write_json
from scopes.store.refs import GONE_FILE as FILE
from scopes.store.refs import REMOTES
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


def read_lost(store: str) -> dict[str, frozenset[str]]:
    """Return the roots of conversations that disappeared from a remote all at once, by the name of the remote."""
    return read_sets(store, FILE, "lost")


def note_seen(repository: Repository, remote: str, roots: Iterable[str], *, everything: bool) -> None:
    """Record that a remote has the conversations with these roots, and with `everything` that it has no others.

    The exclusive lock is taken only if something has changed.
    """
    known = read_gone(repository.path).get(remote, frozenset())
    if known or everything:
        had, seen = _list_tracked(repository, remote) if everything else known, frozenset(roots)
        lost = had if everything and had.isdisjoint(seen) else frozenset[str]()
        if had - seen != known or not lost <= read_lost(repository.path).get(remote, frozenset()):
            with exclusive_write(repository):
                change_gone(repository, remote, had - seen, lost)


def _list_tracked(repository: Repository, remote: str) -> frozenset[str]:
    return frozenset(ref.rpartition("/")[2] for ref in repository.list_ref_names(f"{REMOTES}{remote}/"))


def change_gone(repository: Repository, remote: str, roots: frozenset[str], lost: frozenset[str] = frozenset()) -> None:
    """Replace the roots that a remote no longer has, and add lost ones; call it under the exclusive lock."""
    gone = {**read_gone(repository.path), remote: roots}
    known = read_lost(repository.path)
    known[remote] = (known.get(remote, frozenset()) | lost) & roots
    kept, kept_lost = ({name: sorted(found[name]) for name in found if found[name]} for found in (gone, known))
    if kept or read_json(repository.path, FILE) is not None:
        document = {"v": 1, "remotes": kept, **({"lost": kept_lost} if kept_lost else {})}
        write_json(repository.path, FILE, document if kept else None)


def forget_gone(repository: Repository, remote: str, roots: Iterable[str]) -> None:
    """Remove conversations that were sent again from the file; call it under the exclusive lock."""
    known = read_gone(repository.path).get(remote, frozenset())
    if not known.isdisjoint(sent := set(roots)):
        change_gone(repository, remote, known - sent)


def rename_gone(repository: Repository, remote: str, new: str) -> None:
    """Move the entries of a remote to its new name; call it under the exclusive lock."""
    known = read_gone(repository.path).get(remote)
    lost = read_lost(repository.path).get(remote, frozenset())
    if known:
        change_gone(repository, remote, frozenset())
        change_gone(repository, new, known, lost)
