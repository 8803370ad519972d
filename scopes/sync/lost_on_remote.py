"""Ask a remote whether it still has what it is known to have: it may have been emptied, made anew or restored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from shlex import quote
from typing import Final, NamedTuple

from scopes.errors import NotFound
from scopes.history.purged import NOTHING, read_purged
from scopes.history.transaction import RefTransaction
from scopes.ids import ConversationId, Oid
from scopes.purge.gone_there import note_seen, read_lost
from scopes.purge.offers import read_offered, read_undecided
from scopes.purge.on_remotes import forget_values
from scopes.purge.purged_values import read_purged_values
from scopes.result import Note, plural
from scopes.store.graph import is_ancestor
from scopes.store.refs import REMOTES
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write
from scopes.sync.names import ON_REMOTE, RemoteName, sources_tracking_ref, tracking_ref
from scopes.sync.nothing_found import none_named

GONE: Final = "somebody has deleted it on the remote, or purged it; to have it there again: scopes push CONV --force"
KEPT: Final = f"{GONE}; to leave it out from now on: scopes push --delete CONV"
_FEW: Final = 20


class Lost(NamedTuple):
    """What a remote had when it was last seen, and has no more.

    gone: conversations that are not there
    older: what it has of others: an earlier value than it had, or one from which something was purged here
    others: what it has of others, and was never seen here
    is_replaced: whether it has none of all that it had of this store, or had none at an earlier fetch
    undecided: the roots of those that are gone because somebody has purged them, which is neither accepted nor declined
    """

    gone: Collection[RemoteName]
    older: Mapping[RemoteName, Oid]
    others: Mapping[RemoteName, Oid]
    is_replaced: bool
    undecided: Collection[Oid] = ()

    def explain(self, remote: str, option: str) -> tuple[Note, ...]:
        """Return a note about a remote that has nothing any more; single conversations are rows with a reason."""
        return (_note_replaced(remote, option),) if self.is_replaced else ()


NOTHING_LOST: Final = Lost((), {}, {}, is_replaced=False)


def _note_replaced(remote: str, option: str) -> Note:
    why = "others have deleted all of it, or it was emptied, made anew, or is another one"
    text = f"{remote} has nothing any more of what it had of this store: {why}"
    return Note(text, f"if nobody has deleted it on purpose, send all of it again: scopes push --force{option}")


def note_lost(repository: Repository, remotes: Iterable[str], option: str) -> tuple[Note, ...]:
    """Return a note about each remote that a fetch of everything has seen without anything that it had."""
    lost = read_lost(repository.path)
    return tuple(_note_replaced(remote, option) for remote in remotes if _without_purged(repository, lost.get(remote)))


def _without_purged(repository: Repository, roots: Iterable[str] | None) -> set[str]:
    """Return the roots of conversations without those that somebody has purged as a whole: they are gone for that."""
    if not roots:
        return set()
    purged = read_offered(repository).join(read_purged(repository))
    return {root for root in roots if not purged.has_conversation(Oid(root))}


def explain_missing(
    repository: Repository,
    missing: Mapping[str, RemoteName],
    there: Mapping[str, Collection[RemoteName]],
    option: str,
) -> NotFound:
    """Return the error about conversations that no repository of a remote has, with what to do if one had them.

    missing: by what the user calls them
    there: what each repository has, by its name, the first one first
    """
    for remote, names in there.items():
        tracked, roots = _list_tracked(repository, remote), {name.root for name in names}
        gone = [text for text, name in missing.items() if name.root in tracked]
        if not gone:
            continue
        if _is_replaced(repository, remote, roots, [missing[text].root for text in gone]):
            note_seen(repository, remote, roots, everything=True)
            note = _note_replaced(remote, option)
            return NotFound(note.text, hint=note.hint)
        text = f"{remote} does not have {', '.join(gone)} any more: somebody has deleted or purged it there"
        return NotFound(text, hint=f"to have it there again: scopes push {' '.join(map(quote, gone))} --force{option}")
    return none_named(next(iter(there)), missing, (name for names in there.values() for name in names))


def note_older(conversations: Collection[ConversationId | None], remote: str, option: str) -> tuple[Note, ...]:
    """Return a note about conversations of which a remote has less than when it was last seen."""
    names = sorted(filter(None, conversations))
    if not names:
        return ()
    text = f"{remote} has less of {len(names)} {plural(len(names), 'conversation')} than it had: {', '.join(names[:5])}"
    again = f"scopes push {' '.join(map(quote, names))}{option}" if len(names) <= _FEW else f"scopes push{option}"
    why = "it was restored from a backup, or somebody has moved it back, or has purged something of it"
    return (Note(text, f"{why}; send what it lacks: {again}"),)


def find_lost(repository: Repository, remote: str, names: Collection[RemoteName], there: Mapping[str, Oid]) -> Lost:
    """Return which of some conversations, all of which a remote had, it has lost as a whole or in part.

    there: all refs of the remote
    """
    purged = read_purged_values(repository.path)
    older: dict[RemoteName, Oid] = {}
    others: dict[RemoteName, Oid] = {}
    for name in names:
        known, value = repository.find_ref(tracking_ref(remote, name.root)), there.get(name.ref)
        if value is None or known == value:
            continue
        is_purged = value in purged.get(name.ref, ())
        is_older = is_purged or (known and repository.has(value) and is_ancestor(repository, value, Oid(known)))
        (older if is_older else others)[name] = value
    roots = {ref.rpartition("/")[2] for ref in there if ref.startswith(ON_REMOTE)}
    gone = [name for name in names if name.ref not in there]
    is_replaced = _is_replaced(repository, remote, roots, [name.root for name in gone])
    undecided = read_undecided(repository) if gone else NOTHING
    purged_as_whole = [name.root for name in gone if undecided.has_conversation(name.root)]
    return Lost(gone, older, others, is_replaced, purged_as_whole)


def _is_replaced(repository: Repository, remote: str, there: Collection[str], gone: Iterable[str]) -> bool:
    """Return True if a remote has nothing of what it had, or did not at an earlier look; what was purged is no sign."""
    tracked = _without_purged(repository, _list_tracked(repository, remote))
    if tracked and tracked.isdisjoint(there):
        return True
    lost = read_lost(repository.path).get(remote, frozenset())
    return bool(lost) and not lost.isdisjoint(_without_purged(repository, gone))


def _list_tracked(repository: Repository, remote: str) -> set[str]:
    """Return the roots of the conversations that a remote is known to have had."""
    return {ref.rpartition("/")[2] for ref in repository.list_ref_names(f"{REMOTES}{remote}/")}


def forget_lost(repository: Repository, remote: str, lost: Lost) -> None:
    """Forget what a remote had of conversations that it does not have any more, so that they are new to it."""
    with exclusive_write(repository):
        tx = RefTransaction(repository)
        refs = (each(remote, name.root) for name in lost.gone for each in (tracking_ref, sources_tracking_ref))
        for ref in refs:
            tx.move_ref(ref, repository.find_ref(ref), None)
        forget_values(repository, remote, [ref for name in lost.gone for ref in (name.ref, name.sources_ref)])
        if tx:
            tx.commit("push", f"forget what was deleted on {remote}")
