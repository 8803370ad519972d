"""`fetch`: get conversations from a remote, check them, and add them to the store in one operation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import TYPE_CHECKING, Final, NamedTuple

from scopes.errors import Corrupt, NotFound, TooNew
from scopes.history.handles import heading_of, walk_main
from scopes.history.names import list_branch_tips
from scopes.ids import ConversationId, Oid, OperationId
from scopes.lazy_patterns import compile_lazily
from scopes.purge.unfinished import refuse_unfinished
from scopes.result import HIDDEN, OMIT_EMPTY, Column, Note, Result, first_few, plural
from scopes.store.config import BUNDLE
from scopes.store.repository import Repository
from scopes.sync.accept import FetchedConversation
from scopes.sync.change_notes import describe_changes, note_deleted_branches, note_deleted_conversations
from scopes.sync.clocks_ahead import note_ahead
from scopes.sync.closed import CLOSED
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.deleted_here import describe_deleted, note_undone
from scopes.sync.family import add_member, choose_named, is_closed, learn_members, list_members
from scopes.sync.format_check import PurgedHere
from scopes.sync.git_transport import is_bundle
from scopes.sync.incoming_sources import is_of_sources, note_refused_sources, note_sources
from scopes.sync.known_refusals import describe_refused_again, note_refused
from scopes.sync.local_conversations import Selection
from scopes.sync.lost_on_remote import explain_missing, note_lost, note_older
from scopes.sync.names import is_remote_ref, parse_remote_ref
from scopes.sync.purge_notes import list_offered_conversations, note_made_from_parts, note_offers
from scopes.sync.receive import Receipt, receive
from scopes.sync.remote_selection import (
    choose_refspecs,
    find_missing,
    keep_recent,
    list_all,
    none_of_several,
)
from scopes.sync.remotes import Remote, remote_option
from scopes.sync.unpacked_bundles import unpacked

if TYPE_CHECKING:
    from scopes.purge.purge import Places, PurgeDone

_MAX_REF = 200
_SHORT_OID = 12
_MAX_KINDS = 4  # other reasons why nothing was acceptable that are shown after the first
_ID = compile_lazily(r"\b(?=[a-z]*\d)[0-9a-z]{6,64}\b|\b\d+\b")


FETCH_COLUMNS: Final = (
    Column("name", "Conversation", "branch"),
    Column("status", "State", "state"),
    Column("what", "Branches"),
    Column("text", "Title", on="pipe"),
    Column("heading", "Title", on="terminal"),
    Column("reason", form="below", on="terminal"),
    Column("root", on="template"),
)


class ListChanges(NamedTuple):
    """How many conversations of a remote, of which only manifests are fetched, are new, have changed, or are gone."""

    new: int
    changed: int
    gone: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched(Result):
    """What a fetch changed; `unchanged` is the number of conversations in which nothing was new.

    `operation` is None if nothing has changed, else the last one that undo takes back. `to_merge` are the notes about
    branches that differ, which a pull merges. `listed` are the changes of the list of conversations, if only manifests
    are fetched. `left` are objects and files that have purged content which this fetch has taken, and could not remove.
    `refused_before` are the roots of conversations with purged content that an earlier fetch has refused, too; they
    have no row.
    """

    kind = "fetch"
    rows_in = "conversations"
    is_one_row = True
    columns = FETCH_COLUMNS

    remote: str
    address: str
    conversations: tuple[FetchedConversation, ...]
    unchanged: int
    refused_before: tuple[Oid, ...] = field(default=(), metadata=OMIT_EMPTY)
    operation: OperationId | None
    to_merge: tuple[Note, ...] = field(default=(), metadata=HIDDEN)
    listed: ListChanges | None = None
    left: tuple[str, ...] = field(default=(), metadata=HIDDEN)

    @property
    def sentence(self) -> str:
        """What is new in the list of the remote, or that nothing is new."""
        return self.remark

    @property
    def remark(self) -> str:
        """The same for a pipe."""
        if self.listed is not None and any(self.listed):
            changes = ", ".join(f"{number} {word}" for word, number in self.listed._asdict().items() if number)
            return f"in the list of {self.remote}: {changes}"
        what = "nothing else" if self.refused_before else "nothing"
        return "" if self.conversations else f"{what} is new on {self.remote}"

    @property
    def exit_code(self) -> int:
        """The exit code of damage (7) if a conversation failed a check, 1 if one could not be joined, else 0."""
        states = {each.status for each in self.conversations}
        return Corrupt.exit_code if "unacceptable" in states or self.left else 1 if "refused" in states else 0


def fetch(
    repository: Repository,
    remote: Remote,
    selection: Selection,
    connection: Connection,
    *,
    headings: bool = True,
    places: Places | None = None,
    is_named: bool | None = None,
) -> Fetched:
    """Fetch the chosen conversations of a remote, by default all.

    Branches are only created or fast-forwarded; a branch that has diverged is not changed, and the remote's branch is
    available as `<remote>/<branch>`. A conversation that fails a check is rejected as a whole; the others are still
    taken. If a repository of the remote is closed, the fetch continues with the next one. With `headings`, rows without
    a title have the beginning of the first prompt. With `places` (the caches of the store) conversations that have
    what was purged here are taken, too, and it is purged in them.

    A conversation that has what was purged here, and was refused before, is only a note, unless the user has named it;
    `is_named` is set if the names are not the user's.

    Raises:
        NotFound, Ambiguous: a name cannot be resolved, here or on the remote.
        Inaccessible: the remote does not answer or refuses, or the disk failed.
        Corrupt, TooNew: no conversation that the remote sent is acceptable.
        Busy: the store is in use.
    """
    refuse_unfinished(repository)
    is_named = bool(selection.names) if is_named is None else is_named
    members = list_members(repository, remote)
    with repository.one_step():
        receipts = dict(_fetch_members(repository, members, selection, connection))
    purge = None
    if places is not None:
        from scopes.sync.take_purged import take_purged

        receipts, purge = take_purged(repository, receipts, connection, places)
    rows = [row for receipt in receipts.values() for row in receipt.rows]
    refused = {ref: error for receipt in receipts.values() for ref, error in receipt.refused.items()}
    option = remote_option(repository, remote.name)
    known = frozenset[Oid]() if _reads_bundle(remote) else note_refused(repository, receipts)
    known = frozenset[Oid]() if is_named else known
    again = tuple(describe_refused_again(rows, known, receipts))
    rows = [row for row in rows if row.root not in known]
    if rows and all(row.status == "unacceptable" for row in rows):
        raise _join_errors(refused, _cure_of_refused(remote, receipts.values(), option))
    changed = [row for row in rows if row.status != "unchanged"]
    shown = tuple(with_headings(repository, changed) if headings else changed)
    here = {row.root for row in rows if row.conversation is not None}
    to_merge = tuple(
        note
        for member, receipt in receipts.items()
        for note in _note_diverged(_without_offers(repository, receipt.rows), member, option)
    )
    return Fetched(
        remote=members[0].name,
        address=members[0].address.text,
        conversations=shown,
        unchanged=len(rows) - len(shown),
        operation=next((each.operation for each in reversed(receipts.values()) if each.operation is not None), None),
        to_merge=to_merge,
        left=() if purge is None else purge.left,
        refused_before=tuple(sorted(known)),
        notes=(
            *(() if purge is None else (*_note_purge(purge), *purge.notes)),
            *again,
            *note_offers(repository),
            *_walk_notes(repository, receipts, option, to_merge),
            *describe_deleted(repository, rows, members[0].name, option, named=bool(selection.names)),
            *(() if selection.names or _reads_bundle(remote) else note_undone(repository, members, option, here)),
            *note_deleted_conversations(
                repository, {m.name: r.gone for m, r in receipts.items() if not _reads_bundle(m)}, option
            ),
            *note_sources(
                [row.conversation for each in receipts.values() for row in each.rows if row.root in each.sources]
            ),
            *dict.fromkeys(note for each in receipts.values() for note in note_refused_sources(each.refused)),
            *_note_foreign(refused),
            *_note_refused(remote, receipts.values(), option),
        ),
    )


def _walk_notes(
    repository: Repository, receipts: Mapping[Remote, Receipt], option: str, to_merge: Iterable[Note]
) -> Iterator[Note]:
    """Yield notes about what came, and about what each repository of the remote has lost; `to_merge` among them."""
    for each in receipts.values():
        yield from note_made_from_parts(each.rows, each.made_from_parts)
    yield from note_lost(repository, [member.name for member in receipts], option)
    for member, each in receipts.items():
        yield from note_older(repository, each.older, member.name, option)
    yield from to_merge
    for each in receipts.values():
        yield from note_ahead(each.ahead)
    for member, each in receipts.items():
        yield from describe_changes(each.rows, member)
    for member, each in receipts.items():
        yield from note_deleted_branches(repository, each.rows, member)


def _note_purge(done: PurgeDone) -> Iterator[Note]:
    """Yield a note about what was purged in conversations that came, and one about what is left of it."""
    what = f"{done.messages} {plural(done.messages, 'message')}"
    yield Note(f"purged {what} in what came; {done.objects} objects were searched")
    if done.left:
        yield Note(f"it is still in {first_few(done.left)}", "delete these files; then: scopes purge --continue")


def _fetch_members(
    repository: Repository, members: list[Remote], selection: Selection, connection: Connection
) -> Iterator[tuple[Remote, Receipt]]:
    """Fetch from each repository of a remote, also from those that are not known yet."""
    chosen: dict[str, list[str]] = {}
    nothing: list[NotFound] = []
    if selection.names and len(members) > 1:
        chosen = choose_named(repository, selection.names, members, connection)
    for member in members:  # which may grow
        try:
            receipt = _fetch_member(repository, member, selection, connection, chosen.get(member.name))
        except NotFound:
            if not selection.names or chosen or not _learn(repository, members, connection):
                raise
            chosen = choose_named(repository, selection.names, members, connection)
            receipt = _fetch_member(repository, member, selection, connection, chosen[member.name])
        nothing += [] if receipt.nothing is None else [receipt.nothing]
        yield member, receipt
        if receipt.closed and member == members[-1] and not selection.names:
            add_member(repository, members)
    if len(nothing) == len(members):
        raise none_of_several(nothing)


def _learn(repository: Repository, members: list[Remote], connection: Connection) -> bool:
    """Look for repositories of a remote that are not known here and add them; return True if there are any."""
    before = len(members)
    if not is_bundle(members[-1].address.text):
        with quarantine_of(repository, knows_remotes=False) as quarantine:
            learn_members(repository, members, quarantine, connection)
    return len(members) > before


def _fetch_member(
    repository: Repository, member: Remote, selection: Selection, connection: Connection, named: list[str] | None
) -> Receipt:
    """Fetch the chosen conversations of one repository; `named` are the refspecs of named ones, if they are known."""
    with (
        unpacked(repository, member, connection) as source,
        quarantine_of(repository, knows_remotes=False) as quarantine,
    ):
        transport = connection.open(quarantine, source.address)
        nothing: NotFound | None = None
        refspecs = named
        if refspecs is None:
            try:
                refspecs = choose_refspecs(repository, source, selection, connection, transport)
            except NotFound as error:
                if selection.names:
                    raise
                refspecs, nothing = [], error
        if selection.since is not None:
            refspecs = keep_recent(repository, source.address, connection, refspecs, selection.since)
        if not refspecs:
            return Receipt(closed=is_closed(member, transport.list_refs(CLOSED)), nothing=nothing)
        try:
            return receive(repository, source, quarantine, refspecs, connection, named=bool(selection.names))
        except NotFound as error:
            listed = list_all(transport)
            missing = {} if named is not None else find_missing(selection, refspecs, listed)
            if not missing:
                raise
            option = remote_option(repository, member.name)
            raise explain_missing(repository, missing, {member.name: listed}, option) from error


def with_headings(repository: Repository, rows: Iterable[FetchedConversation]) -> Iterator[FetchedConversation]:
    """Yield rows; one without a title has the beginning of its first prompt instead, as in a list."""
    for row in rows:
        heading = None
        if row.title is None and row.conversation is not None and row.status in {"new", "updated"}:
            with suppress(Corrupt, NotFound):
                tips = list_branch_tips(repository, row.conversation)
                heading = heading_of(repository, None, walk_main(repository, tips))
        yield row if heading is None else replace(row, title=heading.text)


def _cure_of_refused(remote: Remote, receipts: Iterable[Receipt], option: str) -> tuple[ConversationId, str] | None:
    """Return the first conversation of this store whose ref on the remote failed a check, and what to do about it."""
    for receipt in () if remote.address.of_bundle else receipts:
        foreign = {r for r, error in receipt.refused_conversations() if not isinstance(error, (PurgedHere, TooNew))}
        for row in receipt.rows:
            if row.conversation is not None and row.root in foreign and row.status == "unacceptable":
                name = row.conversation
                cure = f"replace it there with what is here: scopes push{option} {quote(name)} --force"
                return (
                    name,
                    f"see who wrote it there; {cure}; or delete it there: scopes push{option} --delete {quote(name)}",
                )
    return None


def _note_refused(remote: Remote, receipts: Iterable[Receipt], option: str) -> tuple[Note, ...]:
    found = _cure_of_refused(remote, receipts, option)
    return () if found is None else (Note(f"nothing of {found[0]} was taken", found[1]),)


def _join_errors(refused: Mapping[str, Corrupt], cure: tuple[ConversationId, str] | None) -> Corrupt:
    """Return one error for a fetch in which everything failed a check: the first reason, and the other roots."""
    first, others = next(iter(refused.values())), [ref for ref in refused if is_remote_ref(ref)][1:]
    if cure is not None:
        first.hint = f"nothing of it was taken; {cure[1]}"
    if not others:
        return first
    names = ", ".join(parse_remote_ref(ref).root[:_SHORT_OID] for ref in others[:5])
    count = f"{len(others)} more {plural(len(others), 'conversation')}"
    text = f"{first.message}; {count} {'is' if len(others) == 1 else 'are'} not acceptable: {names}"
    kinds = {_kind_of(refused[ref]): refused[ref].message for ref in reversed(others)}
    reasons = [message for kind, message in reversed(kinds.items()) if kind != _kind_of(first)]
    return type(first)("; ".join((text, *reasons[:_MAX_KINDS])), hint=first.hint)


def _kind_of(error: Corrupt) -> str:
    """Return an error message without ids and numbers, so that two errors of one kind are equal."""
    return _ID.sub("", error.message)


def _note_foreign(refused: Mapping[str, Corrupt]) -> tuple[Note, ...]:
    """Return a note about refs of the remote that are no conversations."""
    foreign = [ref for ref in refused if not is_remote_ref(ref) and not is_of_sources(ref)]
    if not foreign:
        return ()
    number = len(foreign)
    what = "ref of the remote is not a conversation" if number == 1 else "refs of the remote are not conversations"
    names = ", ".join(ascii(ref[:_MAX_REF]) for ref in foreign[:5])
    return (Note(f"{number} {what}: {names}", "nothing of it was taken; see who wrote it there"),)


def _reads_bundle(remote: Remote) -> bool:
    return remote.address.of_bundle or is_bundle(remote.address.text)


def _without_offers(repository: Repository, rows: Sequence[FetchedConversation]) -> Sequence[FetchedConversation]:
    """Leave out conversations with messages that were purged elsewhere: accepting the purge may join the branches."""
    offered = list_offered_conversations(repository)
    return [row for row in rows if row.conversation not in offered]


def _note_diverged(rows: Iterable[FetchedConversation], remote: Remote, option: str) -> tuple[Note, ...]:
    diverged = [
        f"{row.conversation}/{branch.local}" for row in rows for branch in row.branches if branch.state == "diverged"
    ]
    if not diverged:
        return ()
    number = len(diverged)
    text = f"{number} {plural(number, 'branch')} {'differs' if number == 1 else 'differ'} from {remote.name}"
    conversation, _, branch = diverged[0].partition("/")
    hint = f"merge it: scopes merge {quote(conversation)} {quote(remote.name)}/{quote(branch)} --target {quote(branch)}"
    if number > 1:
        each = f"merge each: scopes merge CONV {BUNDLE}/BRANCH --target BRANCH"
        hint = each if remote.name == BUNDLE else f"merge them: scopes pull{option}"
    return (Note(f"{text}: {first_few(diverged)}", hint),)
