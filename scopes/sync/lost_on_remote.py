"""Check whether a remote still has the conversations that it had: it may have been emptied, recreated or restored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from shlex import quote
from typing import Final, NamedTuple

from scopes.errors import NotFound
from scopes.history.sources import NOTHING, read_purged
from scopes.history.transaction import RefTransaction
from scopes.ids import ConversationId, Oid
from scopes.model.operation import GOOD
from scopes.purge.gone_there import note_seen, read_lost
from scopes.purge.offers import (
    ACCEPT,
    DECLINE,
    LIST,
    list_offers,
    read_list,
    read_offered,
    read_undecided,
    walk_offered,
)
from scopes.purge.on_remotes import forget_values
from scopes.purge.purged_values import read_purged_values
from scopes.result import Note, first_few, plural
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
    """The conversations that a remote had when it was last seen, and no longer has as they were.

    gone: those that are not there
    older: values of others that are older than the last one seen, or from which something was purged here
    others: values of others that were never seen here
    is_replaced: whether it has no conversation of all that it had of this store, or had none at an earlier fetch
    undecided: the roots of those that are gone because somebody purged them, which was neither accepted nor declined
    """

    gone: Collection[RemoteName]
    older: Mapping[RemoteName, Oid]
    others: Mapping[RemoteName, Oid]
    is_replaced: bool
    undecided: Collection[Oid] = ()

    def explain(self, remote: str, option: str) -> tuple[Note, ...]:
        """Return a note if the remote has lost everything; single conversations are rows with a reason."""
        return (_note_replaced(remote, option),) if self.is_replaced else ()


NOTHING_LOST: Final = Lost((), {}, {}, is_replaced=False)


def _note_replaced(remote: str, option: str) -> Note:
    why = "others have deleted them, or it was emptied or recreated, or is another repository"
    text = f"{remote} no longer has any conversation that it had of this store: {why}"
    return Note(text, f"if nobody has deleted them on purpose, send all of them again: scopes push{option} --force")


def note_lost(repository: Repository, remotes: Iterable[str], option: str) -> tuple[Note, ...]:
    """Return a note for each remote that had lost all of its conversations at the last fetch of everything."""
    lost = read_lost(repository.path)
    return tuple(_note_replaced(remote, option) for remote in remotes if _without_purged(repository, lost.get(remote)))


def _without_purged(repository: Repository, roots: Iterable[str] | None) -> set[str]:
    """Return the roots without those of conversations that somebody has purged as a whole, which explains the loss."""
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
    """Return the error about conversations that no repository of a remote has, with a cure if one had them before.

    missing: the conversations, by the names that the user gave
    there: the conversations of each repository, by its name, the first repository first
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
        return NotFound(text, hint=f"to have it there again: scopes push{option} {' '.join(map(quote, gone))} --force")
    return none_named(next(iter(there)), missing, (name for names in there.values() for name in names))


def note_older(
    repository: Repository, conversations: Collection[ConversationId | None], remote: str, option: str
) -> tuple[Note, ...]:
    """Return notes about conversations of which a remote has fewer messages than when it was last seen.

    If somebody has purged messages of one of them, its note says so, and not that a backup was restored.
    """
    names = sorted(filter(None, conversations))
    purged = {name: found for name in names if (found := _find_purged_there(repository, name, remote)) is not None}
    notes = tuple(_note_purged_there(name, who, remote, option) for name, who in purged.items())
    names = [name for name in names if name not in purged]
    if not names:
        return notes
    text = f"{remote} has less of {len(names)} {plural(len(names), 'conversation')} than before: {first_few(names)}"
    again = f"scopes push{option} {' '.join(map(quote, names))}" if len(names) <= _FEW else f"scopes push{option}"
    why = "it was restored from a backup, or somebody has moved branches back"
    return (*notes, Note(text, f"{why}; send what it lacks: {again}"))


def _note_purged_there(conversation: ConversationId, who: str, remote: str, option: str) -> Note:
    name = quote(conversation)
    text = f"{remote} has less of {conversation} than before: it has messages that were purged on {who}"
    send = f"send it again, although their stores do not take it: scopes push{option} {name}"
    return Note(text, f"see what: {LIST}; remove it here, too: {ACCEPT} {name}; keep it: {DECLINE} {name}; {send}")


def _find_purged_there(repository: Repository, conversation: ConversationId, remote: str) -> str | None:
    """Return the machines, and who has signed their lists, that have purged content of a conversation; None if none."""
    offers = [each for each in list_offers(repository) if each.remote == remote]
    own = read_purged(repository)
    offers = [
        each
        for each in offers
        if next(walk_offered(repository, read_list(repository, each.commit).without(own), conversation), None)
    ]
    if not offers:
        return None
    from scopes.store.git_program import check_signatures

    verdicts = check_signatures(repository, [each.commit for each in offers], repository.path)
    signers = {commit: verdict.signer for commit, verdict in verdicts.items() if verdict.state == GOOD}
    names = (
        each.machine + (f" (signed by {signers[each.commit]})" if signers.get(each.commit) else "") for each in offers
    )
    return f"the machine {first_few(names)}"


def find_lost(repository: Repository, remote: str, names: Collection[RemoteName], there: Mapping[str, Oid]) -> Lost:
    """Return which conversations a remote has lost, as a whole or in part; it had all of `names` before.

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
    """Return True if a remote has lost all that it had, now or at an earlier fetch; purged ones do not count."""
    tracked = _without_purged(repository, _list_tracked(repository, remote))
    if tracked and tracked.isdisjoint(there):
        return True
    lost = read_lost(repository.path).get(remote, frozenset())
    return bool(lost) and not lost.isdisjoint(_without_purged(repository, gone))


def _list_tracked(repository: Repository, remote: str) -> set[str]:
    """Return the roots of the conversations that a remote is known to have had."""
    return {ref.rpartition("/")[2] for ref in repository.list_ref_names(f"{REMOTES}{remote}/")}


def forget_lost(repository: Repository, remote: str, lost: Lost) -> None:
    """Delete the tracking refs of conversations that a remote no longer has, so that a push treats them as new."""
    with exclusive_write(repository):
        tx = RefTransaction(repository)
        refs = (each(remote, name.root) for name in lost.gone for each in (tracking_ref, sources_tracking_ref))
        for ref in refs:
            tx.move_ref(ref, repository.find_ref(ref), None)
        forget_values(repository, remote, [ref for name in lost.gone for ref in (name.ref, name.sources_ref)])
        if tx:
            tx.commit("push", f"forget what was deleted on {remote}")
