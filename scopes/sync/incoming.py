"""Fetch conversations into a quarantine and check them; those that fail a check are left out.

Git stores everything that it receives in one pack, and no object of a bad conversation may enter the store with it. So
the good conversations are fetched again without the bad ones, into another quarantine. If git refuses the whole pack,
halves of the refs are fetched until the bad conversations are found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType
from typing import Final, NamedTuple

from scopes.errors import Corrupt
from scopes.ids import Oid
from scopes.purge.offers import offer_ref
from scopes.store.git_program import Quarantine, ReceivedObjects
from scopes.store.refs import REMOTES
from scopes.store.repository import Repository
from scopes.sync.changed_refs import fetch_refs
from scopes.sync.closed import CLOSED, check_mark, take_mark
from scopes.sync.closed import REFSPEC as MARK
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.format_check import FormatCheck, ReceivedConversation, WantedConversation
from scopes.sync.git_transport import INCOMING
from scopes.sync.incoming_sources import IncomingSources, take_sources
from scopes.sync.names import ON_REMOTE, RemoteName, find_own_name, parse_remote_ref, tracking_ref
from scopes.sync.purged_lists import ON_REMOTE as PURGED_ON_REMOTE
from scopes.sync.purged_lists import REFSPEC as LISTS
from scopes.sync.purged_lists import check_lists, take_lists
from scopes.sync.purged_lists import refspec_of as refspec_of_list
from scopes.sync.remote_selection import EVERYTHING, EVERYTHING_SPEC, refspec_of_ref
from scopes.sync.remotes import Remote
from scopes.sync.second_check import check_packs, check_sizes
from scopes.sync.shared_work import work_in_parts

MAX_FETCHES: Final = 64  # to find the bad conversations
_ROUNDS: Final = 4
_HINT: Final = "nothing of it was taken; see who wrote it to the remote"


class Incoming(NamedTuple):
    """The checked result of a fetch: conversations with something new, unchanged ones, and those that failed a check.

    refused: the errors of those that failed, by ref on the remote, which need not be the name of a conversation
    lists: the commits with the lists of what was purged, by machine
    closed: whether new conversations are in another repository
    sources: the original files that came with conversations, and are new
    made_from_parts: a message of a conversation that was made from one that was purged here in part, by the root
    """

    checked: Sequence[ReceivedConversation]
    unchanged: Sequence[RemoteName]
    refused: Mapping[str, Corrupt]
    lists: Mapping[str, Oid] = MappingProxyType({})
    closed: bool = False
    sources: Mapping[RemoteName, Oid] = MappingProxyType({})
    made_from_parts: Mapping[Oid, str] = MappingProxyType({})


@contextmanager
def fetch_acceptable(
    repository: Repository,
    remote: Remote,
    connection: Connection,
    quarantine: Quarantine,
    refspecs: Sequence[str],
    *,
    again: Collection[Oid] = (),
    takes_purged: bool = False,
) -> Iterator[tuple[Quarantine, Incoming]]:
    """Fetch refs and check them; yield a quarantine with only the objects that passed, and the result.

    quarantine: for the first try
    again: the roots of conversations that are checked even if the remote had the same when it was last seen
    takes_purged: whether content is acceptable that was purged here

    Raises:
        NotFound, Inaccessible: as `GitTransport.fetch`.
        Corrupt: the remote sent something else each time it was asked.
    """
    search = _Search(repository, remote, connection, again, takes_purged=takes_purged)
    refused: dict[str, Corrupt] = {}
    with ExitStack() as quarantines:
        for _ in range(_ROUNDS):
            try:
                found = search.fetch(quarantine, refspecs)
                bad = found.refused
                names = [*(each.name for each in found.checked), *found.unchanged]
                wanted = [name.ref for name in names]
                has_more = bool(found.lists or found.closed)
            except Corrupt as error:
                if search.leave_sources(quarantine, error, refused):  # once more without original files
                    quarantine = quarantines.enter_context(quarantine_of(repository, knows_remotes=False))
                    continue
                wanted = search.list_refs(quarantine, refspecs)
                bad = search.find_bad(wanted, error)
                has_more = search.has_left_out
                if not bad:
                    raise
            refused.update(bad)
            if not bad:
                yield quarantine, found._replace(refused=refused)
                return
            wanted = [ref for ref in wanted if ref not in refused]
            if not wanted and not has_more:
                yield quarantine, Incoming((), (), refused)
                return
            refspecs = list(map(refspec_of_ref, wanted))
            quarantine = quarantines.enter_context(quarantine_of(repository, knows_remotes=False))
        raise Corrupt("the remote sent something else each time it was asked", hint="see who writes to it")


class _Search:
    """Fetches and checks subsets of the requested refs."""

    def __init__(
        self,
        repository: Repository,
        remote: Remote,
        connection: Connection,
        again: Collection[Oid] = (),
        *,
        takes_purged: bool = False,
    ) -> None:
        self._takes_purged = takes_purged
        self._repository = repository
        self._remote = remote
        self._again = again
        self._connection = connection
        self._left = MAX_FETCHES
        self.has_left_out = False  # something beside conversations was not acceptable
        self._others = [LISTS, MARK]  # to fetch with everything else
        self._sources = IncomingSources(repository, remote.name)

    def leave_sources(self, quarantine: Quarantine, error: Corrupt, refused: dict[str, Corrupt]) -> bool:
        """Stop fetching original files; return False if the remote has none, or they were left out before."""
        return self._sources.leave(self._connection.open(quarantine, self._remote.address), error, refused)

    def list_refs(self, quarantine: Quarantine, refspecs: Sequence[str]) -> list[str]:
        """Return the refs of the remote that match these refspecs."""
        if list(refspecs) != [EVERYTHING_SPEC]:
            return [spec.partition(":")[0] for spec in refspecs]
        return sorted(self._connection.open(quarantine, self._remote.address).list_refs(EVERYTHING))

    def find_bad(self, refs: Sequence[str], error: Corrupt) -> dict[str, Corrupt]:
        """Return the refs that fail a check, with their errors; `error` is that of fetching all of `refs` at once."""
        if len(refs) < 2 or self._left < 2:
            return dict.fromkeys(refs, error)
        bad: dict[str, Corrupt] = {}
        middle = (len(refs) + 1) // 2
        for half in (refs[:middle], refs[middle:]):
            self._left -= 1
            try:
                with quarantine_of(self._repository, knows_remotes=False) as quarantine:
                    bad.update(self.fetch(quarantine, list(map(refspec_of_ref, half))).refused)
            except Corrupt as reason:
                bad.update(self.find_bad(half, reason))
        return bad

    def fetch(self, quarantine: Quarantine, refspecs: Sequence[str]) -> Incoming:
        """Fetch refs and check all received objects.

        Raises:
            Corrupt: an object fails a check, and it is not known to which conversation it belongs.
        """
        transport = self._connection.open(quarantine, self._remote.address)
        specs = [*refspecs, *self._sources.list_refspecs(refspecs, transport), *self._others]
        tracked = self._repository.list_refs(f"{REMOTES}{self._remote.name}/")  # sooner done than one by one
        incoming = fetch_refs(self._repository, self._remote, transport, quarantine, specs)
        lists, mark, sources = take_lists(incoming), take_mark(incoming), take_sources(incoming)
        found = {ON_REMOTE + ref.removeprefix(INCOMING): oid for ref, oid in incoming.items()}
        if transport.changes_checks():
            check_packs(quarantine, self._connection.limits)
        received = ReceivedObjects(self._repository, quarantine)
        check_sizes(received)
        check = FormatCheck(self._repository, received, self._remote, takes_purged=self._takes_purged)
        wanted: dict[str, WantedConversation] = {}
        unchanged: list[RemoteName] = []
        refused: dict[str, Corrupt] = {}
        several = {root for root, number in Counter(ref.rpartition("/")[2] for ref in found).items() if number > 1}
        for ref, oid in sorted(found.items()):
            try:
                name = parse_remote_ref(ref)
            except Corrupt as error:
                refused[ref] = error
                continue
            known = None if name.root in self._again else tracked.get(tracking_ref(self._remote.name, name.root))
            if (
                known == oid
                and ref.rpartition("/")[2] in several
                and find_own_name(self._repository, name.root) != name
            ):
                refused[ref] = Corrupt(f"the root of the conversation does not belong to the ref {ref}", hint=_HINT)
            elif known == oid:
                unchanged.append(name)
            else:
                wanted[ref] = WantedConversation(name, oid, None if known is None else Oid(known))
        parts = work_in_parts(self._repository, check.check_all, [*wanted.values()], objects=len(received.new))
        results = [each for part in parts for each in part.results]
        refused |= {ref: each for ref, each in zip(wanted, results, strict=True) if isinstance(each, Corrupt)}
        checked = [each for each in results if not isinstance(each, Corrupt)]
        linked = {name: each for part in parts for name, each in part.linked.items()}
        refused |= check.refuse_derived(checked, linked)
        checked = [each for each in checked if each.name.ref not in refused]
        for part in parts:
            check.visit(part.objects)
        good = self._check_lists(check, received, lists, refused)
        closed = mark is not None and self._check_mark(check, mark, refused)
        names = [*(each.name for each in checked), *unchanged]
        with_sources = self._sources.check(check, received, sources, names, refused)
        if not refused:
            check.check_nothing_else()
        return Incoming(checked, unchanged, refused, good, closed, with_sources, check.made_from_parts)

    def _check_mark(self, check: FormatCheck, mark: Oid, refused: dict[str, Corrupt]) -> bool:
        """Return True if the repository is closed; a mark that is bad is not fetched again."""
        try:
            check.visit(check_mark(self._remote.address, mark))
        except Corrupt as error:
            self._others.remove(MARK)
            self.has_left_out = True
            refused[CLOSED] = error
            return False
        return True

    def _check_lists(
        self, check: FormatCheck, received: ReceivedObjects, lists: Mapping[str, Oid], refused: dict[str, Corrupt]
    ) -> dict[str, Oid]:
        """Return the lists that are acceptable, by machine; only they are fetched again if one is bad."""
        known = {machine: self._repository.find_ref(offer_ref(self._remote.name, machine)) for machine in lists}
        found = check_lists(received, lists, known)
        check.visit(found.objects)
        refused |= {f"{PURGED_ON_REMOTE}{machine}": error for machine, error in found.refused.items()}
        good = {machine: oid for machine, oid in lists.items() if machine not in found.refused}
        if found.refused:
            self._others = [*map(refspec_of_list, good), *(spec for spec in self._others if spec == MARK)]
            self.has_left_out = True
        return good
