"""Receive conversations: fetch refs of a remote, check what came, and add what is acceptable in one operation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

from scopes.errors import Corrupt, NotFound
from scopes.history.handles import next_conversation_id
from scopes.history.sources import join_all, read_purged
from scopes.history.transaction import RefTransaction
from scopes.ids import ConversationId, Oid, OperationId
from scopes.importers.purged_texts import add_to_list
from scopes.purge.gone_there import note_seen
from scopes.purge.offers import is_new_offer, take_offers
from scopes.purge.unfinished import begin
from scopes.result import plural
from scopes.store.config import read_gone
from scopes.store.git_program import Quarantine
from scopes.store.objects import Objects
from scopes.store.refs import PURGE_OFFERS, PURGED_ELSEWHERE, REMOTE_SOURCES, REMOTES
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write, refs_listed_once
from scopes.sync.accept import Acceptance, FetchedConversation
from scopes.sync.connection import Connection
from scopes.sync.deleted_here import list_coming_again
from scopes.sync.deleted_there import note_sent_again
from scopes.sync.family import list_members
from scopes.sync.format_check import PurgedHere, ReceivedConversation
from scopes.sync.incoming import fetch_acceptable
from scopes.sync.incoming_sources import accept_sources
from scopes.sync.local_conversations import list_roots
from scopes.sync.names import is_remote_ref, parse_remote_ref
from scopes.sync.remote_selection import EVERYTHING_SPEC
from scopes.sync.remotes import Remote

_FEW = 50  # conversations whose metadata are written one by one


class Receipt(NamedTuple):
    """The result for each conversation of a fetch from one repository, and the operation that recorded it.

    refused: the errors of conversations that failed a check, by their refs on the remote
    closed: whether new conversations are in another repository
    nothing: the error about conditions that no conversation meets
    sources: the root commits of conversations with new original files
    older: conversations of which the remote has fewer messages than before
    ahead: registers with a time in the future, by conversation
    gone: the roots of conversations that the remote had until now
    made_from_parts: a message that was made from one that was purged here in part, by the root
    """

    rows: tuple[FetchedConversation, ...] = ()
    operation: OperationId | None = None
    refused: Mapping[str, Corrupt] = MappingProxyType({})
    closed: bool = False
    nothing: NotFound | None = None
    sources: frozenset[Oid] = frozenset()
    older: tuple[ConversationId, ...] = ()
    ahead: Mapping[ConversationId, tuple[str, ...]] = MappingProxyType({})
    gone: frozenset[str] = frozenset()
    made_from_parts: Mapping[Oid, str] = MappingProxyType({})

    def refused_conversations(self) -> Iterator[tuple[Oid, Corrupt]]:
        """Yield the root of each conversation that is not acceptable, with the error."""
        yield from ((parse_remote_ref(ref).root, error) for ref, error in self.refused.items() if is_remote_ref(ref))


def receive(
    repository: Repository,
    remote: Remote,
    quarantine: Quarantine,
    refspecs: Sequence[str],
    connection: Connection,
    *,
    kind: str = "fetch",
    named: bool = False,
    for_push: bool = False,
    takes_purged: bool = False,
) -> Receipt:
    """Fetch refs into a quarantine, check them and take those that are acceptable.

    kind: the kind of the operation
    named: the user has named these conversations: those whose creation was undone here come back
    for_push: it is part of a push: if it changes no conversation here, it is recorded as one, and `undo` skips it
    takes_purged: also take what was purged here; a purge of it is recorded as begun, which the caller has to finish

    Raises:
        As `fetch`, but no error if everything was refused: see `Receipt.refused`.
    """
    roots = list_roots(repository)
    again = list_coming_again(repository, refspecs, roots) if named else frozenset[Oid]()
    fetching = fetch_acceptable(
        repository, remote, connection, quarantine, refspecs, again=again, takes_purged=takes_purged
    )
    with fetching as (checked, incoming):
        rows = [FetchedConversation(name.root, roots.get(name.root), "unchanged", None) for name in incoming.unchanged]
        rows += _refused_rows(incoming.refused, roots)
        seen = [*(row.root for row in rows), *(each.name.root for each in incoming.checked)]
        is_whole = refspecs == [EVERYTHING_SPEC] and not incoming.refused  # what is not acceptable changes nothing here
        known_gone = read_gone(repository.path).get(remote.name, frozenset())
        note_seen(repository, remote.name, seen, everything=is_whole)
        gone = read_gone(repository.path).get(remote.name, frozenset()) - known_gone
        note_sent_again(
            repository,
            list_members(repository, remote)[0].name,
            [root for root in seen if root in roots or root in again],
        )
        _note_longer_forms(repository, incoming.refused)
        is_new = incoming.checked or incoming.sources or is_new_offer(repository, remote.name, incoming.lists)
        if not is_new:
            return Receipt(tuple(rows), None, incoming.refused, incoming.closed, gone=gone)
        with exclusive_write(repository):
            quarantine.prunes.require_none()  # what came needs objects that were here, and may have purged content
            if takes_purged:
                begin(repository, read_purged(repository))
            checked.link_packs(repository.path, durable=repository.durable)
            repository.close()  # the new packs are seen from now on
            with new_objects(repository, len(incoming.checked)) as objects:
                first = next_conversation_id(repository)
                acceptance = Acceptance(repository, objects, remote.name, list_roots(repository), first, again=again)
                with refs_listed_once(repository):
                    rows += [acceptance.add(each) for each in sorted(incoming.checked, key=_age_of)]
                take_offers(objects, acceptance.transaction, remote.name, incoming.lists)
                accept_sources(repository, objects, acceptance.transaction, remote.name, incoming.sources)
            if not acceptance.transaction:
                older = tuple(acceptance.older)
                return Receipt(tuple(rows), None, incoming.refused, incoming.closed, older=older, gone=gone)
            summary = _summary(rows, remote, has_lists=bool(incoming.lists))
            if for_push:
                kind, summary = _kind_in_push(acceptance.transaction), f"{summary} for a push"
            done = acceptance.transaction.commit(kind, summary)
    sources, older = frozenset(name.root for name in incoming.sources), tuple(acceptance.older)
    changed = Receipt(tuple(rows), done.id, incoming.refused, incoming.closed, None, sources, older, acceptance.ahead)
    return changed._replace(gone=gone, made_from_parts=incoming.made_from_parts)


def _kind_in_push(transaction: RefTransaction) -> str:
    """Return `push` for a fetch that has only recorded what the remote has, else `fetch`."""
    of_remote = (REMOTES, REMOTE_SOURCES, PURGE_OFFERS, PURGED_ELSEWHERE)
    moved = (each.ref for each in transaction.list_changes() if each.old != each.new)
    return "push" if all(ref.startswith(of_remote) for ref in moved) else "fetch"


def _note_longer_forms(repository: Repository, refused: Mapping[str, Corrupt]) -> None:
    """Add the complete versions of messages that were purged here while they were still growing to the purge list.

    So other machines that have them are offered to remove them.
    """
    grown = join_all(error.grown for error in refused.values() if isinstance(error, PurgedHere))
    if grown:
        with exclusive_write(repository):
            tx = RefTransaction(repository)
            add_to_list(repository, repository, grown, tx)
            if tx:
                tx.commit("fetch", "list longer forms of what was purged")


def _age_of(received: ReceivedConversation) -> tuple[str, Oid]:
    """Return a sort key, time and root: the oldest conversation comes first and gets the lowest number."""
    return received.newest.manifest.created, received.name.root


def _refused_rows(refused: Mapping[str, Corrupt], roots: Mapping[Oid, ConversationId]) -> Iterator[FetchedConversation]:
    """Yield a row for each conversation that is not acceptable; refs that are no conversations have none."""
    for ref, error in refused.items():
        if is_remote_ref(ref):
            root = parse_remote_ref(ref).root
            yield FetchedConversation(root, roots.get(root), "unacceptable", None, reason=error.message)


@contextmanager
def new_objects(repository: Repository, conversations: int) -> Iterator[Objects]:
    """Write objects one by one, or of many conversations as one pack."""
    if conversations <= _FEW:
        yield repository
    else:
        from scopes.store.packs import bulk_objects

        with bulk_objects(repository) as objects:
            yield objects


def _summary(rows: Iterable[FetchedConversation], remote: Remote, *, has_lists: bool) -> str:
    count = sum(row.status not in {"unchanged", "unacceptable"} for row in rows)
    what = "what others have purged" if has_lists and not count else f"{count} {plural(count, 'conversation')}"
    return f"fetch {what} from {remote.name}"
