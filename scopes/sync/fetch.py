"""`fetch`: take conversations from a remote, after they were checked, as one operation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from scopes.history.conversations import next_conversation_id
from scopes.ids import Oid, OperationId
from scopes.result import Note, Result, plural
from scopes.store.packs.bulk import bulk_objects
from scopes.store.quarantine import Quarantine
from scopes.store.received_objects import ReceivedObjects
from scopes.store.repository import Objects, Repository
from scopes.store.transactions import exclusive_write
from scopes.sync.accept import Acceptance, FetchedConversation
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.format_check import FormatCheck, ReceivedConversation
from scopes.sync.git_transport import INCOMING, GitTransport
from scopes.sync.local_conversations import Selection, list_roots
from scopes.sync.names import ON_REMOTE, parse_remote_ref, tracking_ref
from scopes.sync.remote_selection import choose_refspecs
from scopes.sync.remotes import Remote
from scopes.sync.second_check import check_packs, check_sizes

_FEW = 50  # conversations whose metadata are written one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched(Result):
    """What a fetch changed; `unchanged` is the number of conversations in which nothing was new.

    `operation` is None if nothing has changed.
    """

    remote: str
    address: str
    conversations: tuple[FetchedConversation, ...]
    unchanged: int
    operation: OperationId | None

    @property
    def exit_code(self) -> int:
        """1 if a conversation could not be joined."""
        return 1 if any(each.status == "refused" for each in self.conversations) else 0


def fetch(repository: Repository, remote: Remote, selection: Selection, connection: Connection) -> Fetched:
    """Fetch the chosen conversations of a remote, by default all.

    Branches are only created, or moved forward to what is above their own tip; what differs stays as it is, and the
    remote's side is named `<remote>/<branch>`. If anything that was sent is not as scopes writes it, nothing is taken.

    Raises:
        NotFound, Ambiguous: a name cannot be resolved, here or on the remote.
        Inaccessible: the remote does not answer or refuses, or the disk failed.
        Corrupt, TooNew: what the remote sent is not acceptable.
        Busy: the store is in use.
    """
    with quarantine_of(repository) as quarantine:
        transport = connection.open(quarantine, remote.address)
        refspecs = choose_refspecs(repository, selection, transport)
        rows: tuple[FetchedConversation, ...] = ()
        operation = None
        if refspecs:
            rows, operation = receive(repository, remote, transport, quarantine, refspecs, connection)
    shown = tuple(row for row in rows if row.status != "unchanged")
    return Fetched(
        remote=remote.name,
        address=remote.address.text,
        conversations=shown,
        unchanged=len(rows) - len(shown),
        operation=operation,
        notes=_notes(rows, remote),
    )


def receive(  # noqa: PLR0917 - from where, through what, what
    repository: Repository,
    remote: Remote,
    transport: GitTransport,
    quarantine: Quarantine,
    refspecs: Sequence[str],
    connection: Connection,
) -> tuple[tuple[FetchedConversation, ...], OperationId | None]:
    """Fetch refs into a quarantine, check them and take them; raises as `fetch` does."""
    incoming = {ON_REMOTE + ref.removeprefix(INCOMING): oid for ref, oid in transport.fetch(refspecs).items()}
    checked = _check(repository, remote, quarantine, incoming, connection)
    unchanged = [parse_remote_ref(ref) for ref in incoming if ref not in {each.name.ref for each in checked}]
    roots = list_roots(repository)
    rows = [FetchedConversation(name.root, roots.get(name.root), "unchanged", None) for name in unchanged]
    if not checked:
        return tuple(rows), None
    with exclusive_write(repository):
        quarantine.link_packs(repository.path, durable=repository.durable)
        repository.close()  # the new packs are seen from now on
        with new_objects(repository, len(checked)) as objects:
            first = next_conversation_id(repository)
            acceptance = Acceptance(repository, objects, remote.name, list_roots(repository), first)
            rows += [acceptance.add(each) for each in checked]
        if not acceptance.transaction:
            return tuple(rows), None
        done = acceptance.transaction.commit("fetch", _summary(rows, remote))
    return tuple(rows), done.id


def _check(
    repository: Repository, remote: Remote, quarantine: Quarantine, incoming: dict[str, Oid], connection: Connection
) -> list[ReceivedConversation]:
    """Check all that was fetched, and return the conversations in which something is new."""
    check_packs(quarantine, connection.limits)
    received = ReceivedObjects(repository, quarantine)
    check_sizes(quarantine, received, connection.limits)
    check = FormatCheck(repository, received)
    checked: list[ReceivedConversation] = []
    for ref, oid in sorted(incoming.items()):
        name = parse_remote_ref(ref)
        known = repository.find_ref(tracking_ref(remote.name, name.root))
        if known != oid:
            checked.append(check.check(name, oid, None if known is None else Oid(known)))
    check.check_nothing_else()
    return checked


@contextmanager
def new_objects(repository: Repository, conversations: int) -> Iterator[Objects]:
    """Write objects one by one, or of many conversations as one pack."""
    if conversations <= _FEW:
        yield repository
    else:
        with bulk_objects(repository) as objects:
            yield objects


def _summary(rows: Iterable[FetchedConversation], remote: Remote) -> str:
    count = sum(row.status != "unchanged" for row in rows)
    return f"fetch {count} {plural(count, 'conversation')} from {remote.name}"


def _notes(rows: Iterable[FetchedConversation], remote: Remote) -> tuple[Note, ...]:
    diverged = [
        f"{row.conversation}/{branch.local}" for row in rows for branch in row.branches if branch.state == "diverged"
    ]
    if not diverged:
        return ()
    number = len(diverged)
    text = f"{number} {plural(number, 'branch')} {'differs' if number == 1 else 'differ'} from {remote.name}"
    conversation, _, branch = diverged[0].partition("/")
    hint = f"merge it: scopes merge {conversation} {remote.name}/{branch} --target {branch}"
    return (Note(f"{text}: {', '.join(diverged[:5])}", hint if number == 1 else "merge them: scopes pull"),)
