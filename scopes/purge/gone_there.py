"""Which conversations a remote had and has no more, as the last fetch of everything saw it: a file of the store.

What is purged here need not be removed there any more. The manifests that such a remote had stay known: by them it is
counted what nobody else has. Those that were gone all at once are lost: the remote was emptied or made anew. The file
has ids of root commits alone, by the name of the remote.
"""

from __future__ import annotations

from collections.abc import Iterable

from scopes.store.gone_file import FILE, read_gone
from scopes.store.json_file import read_json, read_sets, write_json
from scopes.store.refs import REMOTES
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


def read_lost(store: str) -> dict[str, frozenset[str]]:
    """Return the roots of those conversations that were gone from a remote all at once, by the name of the remote."""
    return read_sets(store, FILE, "lost")


def note_seen(repository: Repository, remote: str, roots: Iterable[str], *, everything: bool) -> None:
    """Remember that a remote has the conversations with some roots, and with `everything` that it has no others.

    The exclusive lock is taken only if that is new.
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
    """Replace what a remote has no more, and add what of it was lost; call it under the exclusive lock."""
    gone = {**read_gone(repository.path), remote: roots}
    known = read_lost(repository.path)
    known[remote] = (known.get(remote, frozenset()) | lost) & roots
    kept, kept_lost = ({name: sorted(found[name]) for name in found if found[name]} for found in (gone, known))
    if kept or read_json(repository.path, FILE) is not None:
        document = {"v": 1, "remotes": kept, **({"lost": kept_lost} if kept_lost else {})}
        write_json(repository.path, FILE, document if kept else None)


def forget_gone(repository: Repository, remote: str, roots: Iterable[str]) -> None:
    """Forget that of conversations which were sent again; call it under the exclusive lock."""
    known = read_gone(repository.path).get(remote, frozenset())
    if not known.isdisjoint(sent := set(roots)):
        change_gone(repository, remote, known - sent)


def rename_gone(repository: Repository, remote: str, new: str) -> None:
    """Keep what is known of a remote under its new name; call it under the exclusive lock."""
    known = read_gone(repository.path).get(remote)
    lost = read_lost(repository.path).get(remote, frozenset())
    if known:
        change_gone(repository, remote, frozenset())
        change_gone(repository, new, known, lost)
