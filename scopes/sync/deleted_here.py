"""Notes of a fetch about conversations of a remote that were deleted here, or whose creation was undone.

A conversation in the trash comes back by an undo of its deletion. One that is not in the trash comes back from the
remote if the user names it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING, Final

from scopes.errors import Corrupt, NotFound
from scopes.history.metadata import read_metadata_at
from scopes.history.names import MAIN
from scopes.ids import ConversationId, Oid
from scopes.model.operation import Operation
from scopes.result import Note, plural
from scopes.store import refs
from scopes.store.config import read_gone
from scopes.store.graph import is_ancestor
from scopes.store.operations import walk_operations
from scopes.store.repository import Repository
from scopes.sync.accept import FetchedConversation
from scopes.sync.deleted_there import read_deleted
from scopes.sync.local_conversations import list_roots, list_roots_in_trash
from scopes.sync.names import parse_remote_ref
from scopes.sync.remotes import Remote

if TYPE_CHECKING:
    from scopes.conversation.new_rename_delete import DeletedRow

_SHORT_OID: Final = 12


def list_coming_again(
    repository: Repository, refspecs: Iterable[str], roots: Mapping[Oid, ConversationId]
) -> frozenset[Oid]:
    """Return the roots of named conversations that are neither here (in `roots`) nor in the trash."""
    named = {parse_remote_ref(spec.partition(":")[0]).root for spec in refspecs} - roots.keys()
    return frozenset(named.difference(list_roots_in_trash(repository)) if named else ())


def describe_deleted(
    repository: Repository, rows: Iterable[FetchedConversation], remote: str, option: str, *, named: bool = False
) -> Iterator[Note]:
    """Yield a note for each conversation that was deleted here and has changed on a remote, with how to restore it.

    option: ` NAME` for commands in hints, if it is needed
    named: the user has named them: also yield notes for those that have not changed
    """
    deleted = {row.root: row.status for row in rows if row.status == "deleted" or (named and row.conversation is None)}
    in_trash = _read_trash(repository) if deleted else {}
    for root, status in deleted.items():
        row = in_trash.get(root)
        if row is None and status == "deleted":
            text = f"the conversation {root[:_SHORT_OID]} was deleted here, is no longer in the trash, and has changed"
            yield Note(f"{text} on {remote}", f"have it again: scopes fetch{option} {quote(root[:_SHORT_OID])}")
        elif row is not None:
            title = "" if row.title is None else f" ({row.title})"
            again = f"scopes undo {quote(row.operation)}"
            text = f"{row.id}{title} was deleted here"
            if status == "deleted":
                text, again = (
                    f"{text}, and has changed on {remote}",
                    f"{again}, then: scopes pull{option} {quote(row.id)}",
                )
            yield Note(text, f"have it again: {again}")


def note_undone(
    repository: Repository, members: Sequence[Remote], option: str, here: Collection[Oid]
) -> tuple[Note, ...]:
    """Return a note about conversations of a remote whose creation was undone here, with how to get them again.

    The operation log is read only if the remote has some that are neither here nor in the trash.

    here: the roots of conversations that the fetch has found here, so that they need not be looked for
    """
    there = set[Oid]()
    for member in members:
        tracked = repository.list_ref_names(f"{refs.REMOTES}{member.name}/")
        gone = read_gone(repository.path).get(member.name, frozenset())
        there.update(Oid(root) for root in (ref.rpartition("/")[2] for ref in tracked) if root not in gone)
    there.difference_update(here)
    if there:
        deleted = read_deleted(repository.path, members[0].name)
        there = there.difference(list_roots(repository), list_roots_in_trash(repository), deleted)
    undone = sorted(_find_undone(repository, there))
    if not undone:
        return ()
    number = len(undone)
    text = f"{number:,} {plural(number, 'conversation')} whose creation was undone here"
    verb = "is" if number == 1 else "are"
    hint = f"have {'it' if number == 1 else 'one'} again: scopes fetch{option} {undone[0][:_SHORT_OID]}"
    return (Note(f"{text} {verb} on {members[0].name}", hint),)


def _find_undone(repository: Repository, roots: Collection[Oid]) -> set[Oid]:
    """Return which conversations were last removed here by an undo, of all those with some roots."""
    left, undone = set(roots), set[Oid]()
    for _, operation in walk_operations(repository) if left else ():
        for tip in _list_removed(operation):
            for root in [each for each in left if _is_above(repository, each, tip)]:
                left.remove(root)
                if operation.kind == "undo":
                    undone.add(root)
        if not left:
            break
    return undone


def _list_removed(operation: Operation) -> Iterator[Oid]:
    """Yield the tips of the main branches that an operation has removed."""
    for change in operation.changes:
        pair = refs.split_branch_ref(change.ref) if change.old is not None and change.new is None else None
        if pair is not None and pair[1] == MAIN:
            yield Oid(str(change.old))


def _is_above(repository: Repository, root: Oid, tip: Oid) -> bool:
    with suppress(Corrupt, NotFound):
        return root == tip or is_ancestor(repository, root, tip)
    return False


def _read_trash(repository: Repository) -> dict[Oid, DeletedRow]:
    """Return the conversations in the trash by root commit, as their metadata name it."""
    found: dict[Oid, DeletedRow] = {}
    from scopes.conversation.new_rename_delete import list_deleted

    for row in list_deleted(repository).deleted:
        meta = repository.find_ref(f"{refs.TRASH}{row.id}/{row.operation}/meta")
        with suppress(Corrupt, NotFound):
            main = None if meta is None else read_metadata_at(repository, Oid(meta)).branches.get(MAIN)
            if main is not None and main.fork is not None:
                found.setdefault(main.fork, row)
    return found
