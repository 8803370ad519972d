"""`fetch --manifests`: get the list of the conversations of a remote, without their messages.

Git fetches one commit and its tree for each conversation that is new or has changed there, into quarantines that are
removed again. Many are fetched as two halves at the same time: the remote makes one pack while git checks the other.
The manifests are checked and kept in a list; none of their objects are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from shlex import quote
from typing import Final, NamedTuple

from scopes.clock import now_nanoseconds
from scopes.errors import Corrupt, Invalid, NotFound
from scopes.history.sources import Purged, read_purged
from scopes.ids import Oid
from scopes.result import Note, Result, counted, plural
from scopes.store.git_program import ReceivedObjects
from scopes.store.repository import Repository
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.exact_commits import read_exact_manifest
from scopes.sync.family import list_members, list_there
from scopes.sync.git_transport import is_bundle
from scopes.sync.local_conversations import Selection
from scopes.sync.manifest import StoredManifest
from scopes.sync.manifest_list import (
    ListedConversation,
    ManifestList,
    describe_all,
    read_manifest_list,
    write_manifest_list,
)
from scopes.sync.names import RemoteName, find_own_name
from scopes.sync.remote_selection import choose_names, none_of_several
from scopes.sync.remotes import Remote, remote_option
from scopes.sync.second_check import check_packs, check_sizes
from scopes.sync.seen_conversations import list_newer
from scopes.sync.shared_work import work_in_parts

_SECOND: Final = 1_000_000_000
_NEVER_ASK: Final = frozenset({"directory", "git", "http", "https"})  # twice: git keeps the answer of the first time
_READ_EACH: Final = 3  # objects: commit, tree and file
_AT_ONCE: Final = 50_000  # manifests; a request of so many is 2.5 MB
_MANY: Final = 2000  # manifests; fewer are fetched in the time that another connection takes


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestsFetched(Result):
    """The list of a remote after a fetch.

    total: how many conversations; new: how many are new or have changed; refused: why manifests are not acceptable, by
        root
    """

    kind = "manifests"

    remote: str
    address: str
    total: int
    new: int
    refused: Mapping[Oid, str]

    @property
    def sentence(self) -> str:
        """How many conversations the remote has."""
        return f"{self.remote} has {counted(self.total, 'conversation')}; {self.new:,} new or changed"

    @property
    def answer(self) -> str:
        """Their number."""
        return str(self.total)

    @property
    def next_step(self) -> str:
        """How to list them."""
        return f"list them: scopes fetch {quote(self.remote)} --list"

    @property
    def exit_code(self) -> int:
        """The exit code of damage (7) if a manifest failed a check, else 0."""
        return Corrupt.exit_code if self.refused else 0


def fetch_manifests(
    repository: Repository, remote: Remote, selection: Selection, connection: Connection, directory: str
) -> ManifestsFetched:
    """Update the list of the conversations of a remote, by default of all; `directory` is that of the index.

    With a selection, the other entries of the list are not changed. Conversations that were purged here are left out.

    Raises:
        Invalid: the remote is a bundle.
        Inaccessible: the remote does not answer or refuses, or the disk failed.
        Corrupt: what it sent is damaged.
    """
    if is_bundle(remote.address.text):
        hint = f"get them: scopes fetch{remote_option(repository, remote.name)}"
        raise Invalid(f"{remote.name} is a bundle, which has all messages with it", hint=hint)
    members = list_members(repository, remote)
    with quarantine_of(repository, knows_remotes=False) as quarantine:
        there = list_there(repository, members, quarantine, connection)
    done = [
        _fetch_member(repository, member, listed, selection, connection, directory=directory)
        for member, listed in there.items()
    ]
    found = [each for each in done if isinstance(each, _Member)]
    if not found:
        raise none_of_several([each for each in done if isinstance(each, NotFound)])
    refused = {root: reason for each in found for root, reason in each.refused.items()}
    return ManifestsFetched(
        remote=members[0].name,
        address=members[0].address.text,
        total=sum(each.total for each in found),
        new=sum(each.new for each in found),
        refused=refused,
        notes=(
            *_note_purged(sum(each.purged for each in found), remote_option(repository, remote.name)),
            *_notes(refused),
        ),
    )


class _Member(NamedTuple):
    """How many conversations a repository of a remote has and how many are new, and why some are refused.

    purged: how many others were purged here
    """

    total: int
    new: int
    refused: Mapping[Oid, str]
    purged: int


def _fetch_member(
    repository: Repository,
    remote: Remote,
    there: dict[RemoteName, Oid],
    selection: Selection,
    connection: Connection,
    *,
    directory: str,
) -> _Member | NotFound:
    """Update the list of one repository, given what it has; return the error if nothing of it meets the conditions."""
    before, purged = read_manifest_list(directory, remote), read_purged(repository)
    known = {} if before is None else _without(before.conversations, purged)
    try:
        listed = choose_names(repository, remote, selection, connection, there)
    except NotFound as error:
        return error
    count = len(listed)
    listed = {name: oid for name, oid in listed.items() if not purged.has_conversation(name.root)}
    changed = {
        name: oid
        for name, oid in listed.items()
        if name.root not in known or (known[name.root].name, known[name.root].manifest) != (name, oid)
    }
    found, refused = _fetch(repository, remote, changed, connection)
    roots = {name.root for name in listed}
    kept = [known[name.root] for name in listed if name.root in known and name not in changed]
    others = {} if selection.is_everything else {root: each for root, each in known.items() if root not in roots}
    conversations = {**others, **_choose(repository, [*kept, *found])}
    older = list_newer(repository, remote.name, conversations)
    if before is not None and not selection.is_everything:  # what was not asked for is as it was
        older = {root: each for root, each in older.items() if root in roots or before.older.get(root) == each}
    write_manifest_list(directory, remote, ManifestList(now_nanoseconds() // _SECOND, conversations, older))
    new = len({each.name.root for each in found})
    return _Member(len(conversations), new, refused, count - len(listed))


def _without(listed: Mapping[Oid, ListedConversation], purged: Purged) -> dict[Oid, ListedConversation]:
    return {root: each for root, each in listed.items() if not purged.has_conversation(root)}


def _fetch(
    repository: Repository, remote: Remote, changed: Mapping[RemoteName, Oid], connection: Connection
) -> tuple[list[ListedConversation], dict[Oid, str]]:
    """Return the parsed manifests, and the reasons why others failed a check, by the roots of their conversations."""
    wanted = sorted(set(changed.values()))
    lanes = 2 if len(wanted) >= _MANY and not _asks_each_time(remote, connection) else 1
    shares = [wanted[len(wanted) * lane // lanes : len(wanted) * (lane + 1) // lanes] for lane in range(lanes)]
    with ExitStack() as opened:
        quarantines = [opened.enter_context(quarantine_of(repository, knows_remotes=False)) for _ in shares]
        transports = [connection.open(quarantine, remote.address) for quarantine in quarantines]
        for start in range(0, len(shares[-1]), _AT_ONCE):
            with ExitStack() as running:
                started = [
                    running.enter_context(transport.fetching_alone(share[start : start + _AT_ONCE]))
                    for transport, share in zip(transports, shares, strict=True)
                ]
                for finish in started:
                    finish()
        if wanted and transports[0].changes_checks():
            for quarantine in quarantines:
                check_packs(quarantine, connection.limits)
        received = [ReceivedObjects(repository, quarantine) for quarantine in quarantines]
        for each in received:
            check_sizes(each)
        lane_of = {oid: lane for lane, share in enumerate(shares) for oid in share}
        items = [(name, oid, lane_of[oid]) for name, oid in changed.items()]
        parts = work_in_parts(repository, partial(_read_all, received), items, objects=_READ_EACH * len(changed))
    found = [each for part in parts for each in part if isinstance(each, ListedConversation)]
    refused = {each.root: each.reason for part in parts for each in part if isinstance(each, _Refused)}
    return found, refused


def _asks_each_time(remote: Remote, connection: Connection) -> bool:
    """Return True if every connection may ask for a password on the terminal: then only one is opened at a time."""
    return connection.terminal and remote.address.transport not in _NEVER_ASK


def _choose(repository: Repository, listed: Iterable[ListedConversation]) -> dict[Oid, ListedConversation]:
    """Return conversations by root; of several refs with one root, its own if the root is here, else the first."""
    chosen: dict[Oid, ListedConversation] = {}
    for each in listed:
        if each.name.root not in chosen or find_own_name(repository, each.name.root) == each.name:
            chosen[each.name.root] = each
    return chosen


class _Refused(NamedTuple):
    """A conversation whose manifest is not acceptable."""

    root: Oid
    reason: str


def _read_all(
    received: Sequence[ReceivedObjects], manifests: Sequence[tuple[RemoteName, Oid, int]]
) -> list[ListedConversation | _Refused]:
    """Parse manifests, given with their ref, id and the index in `received` of the objects that have them."""
    read = [(name, _read(received[lane], name, oid)) for name, oid, lane in manifests]
    described = describe_all([(name, each) for name, each in read if isinstance(each, StoredManifest)])
    return [*described, *(each for _, each in read if isinstance(each, _Refused))]


def _read(received: ReceivedObjects, name: RemoteName, oid: Oid) -> StoredManifest | _Refused:
    try:
        stored, _ = read_exact_manifest(received, oid)
    except (Corrupt, NotFound) as error:
        return _Refused(name.root, error.message)
    if stored.manifest.project != name.project:
        return _Refused(name.root, "its manifest names another project")
    return stored


def _note_purged(count: int, option: str) -> tuple[Note, ...]:
    """Return a note about manifests that are not fetched, because their conversations were purged here."""
    if not count:
        return ()
    text = f"{count} {plural(count, 'conversation')} there {'was' if count == 1 else 'were'} purged here, and left out"
    return (Note(text, f"delete {'it' if count == 1 else 'them'} there, too: scopes push{option} --purged"),)


def _notes(refused: Mapping[Oid, str]) -> tuple[Note, ...]:
    if not refused:
        return ()
    number = len(refused)
    root, reason = next(iter(refused.items()))
    text = f"{number} {plural(number, 'manifest')} of the remote {'is' if number == 1 else 'are'} not acceptable"
    return (Note(f"{text}: {root[:12]}: {reason}", "see who wrote it to the remote"),)
