"""Fetch, check and store the original files of conversations from a remote.

They are requested by patterns, because most conversations have none. If files fail a check, none of them are stored;
the conversation still is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import Final

from scopes.errors import Corrupt
from scopes.history.transaction import RefTransaction
from scopes.ids import ConversationId, Oid
from scopes.purge.on_remotes import SOURCES_THERE
from scopes.result import Note, first_few, plural
from scopes.store.git_program import ReceivedObjects
from scopes.store.objects import COMMIT, Objects
from scopes.store.refs import FETCHED_SOURCES
from scopes.store.repository import Repository
from scopes.sync.format_check import FormatCheck
from scopes.sync.git_transport import INCOMING, GitTransport
from scopes.sync.names import ON_REMOTE, RemoteName, sources_tracking_ref

EVERY_SOURCE: Final = f"{SOURCES_THERE}*"
_HERE: Final = f"{INCOMING}sources/"
_FEW: Final = 100  # patterns; git compares each with all refs of the remote
_HINT: Final = "nothing of them was taken; see who wrote them to the remote"


def is_of_sources(ref: str) -> bool:
    """Return True for the name of original files on a remote."""
    return ref.startswith(SOURCES_THERE)


def take_sources(incoming: dict[str, Oid]) -> dict[str, Oid]:
    """Remove the original files from the fetched refs, and return their commits by their refs on the remote."""
    found = [ref for ref in sorted(incoming) if ref.startswith(_HERE)]
    return {SOURCES_THERE + ref.removeprefix(_HERE): incoming.pop(ref) for ref in found}


class IncomingSources:
    """Chooses which original files to fetch from a remote, and checks them."""

    def __init__(self, repository: Repository, remote: str) -> None:
        self._repository = repository
        self._remote = remote
        self._is_left = False
        self._bad: set[str] = set()

    def leave(self, transport: GitTransport, error: Corrupt, refused: dict[str, Corrupt]) -> bool:
        """Stop fetching original files, because a bad object may be part of them; return False if there were none."""
        if self._is_left or not transport.list_refs(EVERY_SOURCE):
            return False
        self._is_left = True
        refused[EVERY_SOURCE] = error
        return True

    def list_refspecs(self, refspecs: Sequence[str], transport: GitTransport) -> list[str]:
        """Return the refspecs of the original files of conversations, given those of these."""
        if self._is_left:
            return []
        wanted = [spec.partition(":")[0].removeprefix(ON_REMOTE) for spec in refspecs]
        wanted = [name for name in wanted if SOURCES_THERE + name not in self._bad]
        if len(wanted) > _FEW:
            there = {ref.removeprefix(SOURCES_THERE) for ref in transport.list_refs(EVERY_SOURCE)}
            patterns = [name for name in wanted if name in there]
        else:
            patterns = [f"{name.removesuffix('*')}*" for name in wanted]
        return [f"{SOURCES_THERE}{each}:{_HERE}{each}" for each in patterns]

    def check(
        self,
        check: FormatCheck,
        received: ReceivedObjects,
        sources: Mapping[str, Oid],
        names: Iterable[RemoteName],
        refused: dict[str, Corrupt],
    ) -> dict[RemoteName, Oid]:
        """Return the new original files that pass the checks; add the errors of the others to `refused`.

        Files of conversations that were not fetched are refused.
        """
        wanted = {name.sources_ref: name for name in names}
        good: dict[RemoteName, Oid] = {}
        for ref, oid in sources.items():
            root = Oid(ref.rpartition("/")[2])
            known = self._repository.find_ref(sources_tracking_ref(self._remote, root))
            if oid == known and not received.is_new(oid):  # it was checked when it came
                continue
            from scopes.sync.source_check import SourceCheck

            one = SourceCheck(received, check.purged, check.cures.replace)
            try:
                one.check(oid, root, has_conversation=ref in wanted)
            except Corrupt as error:
                self._bad.add(ref)
                if ref in wanted or ON_REMOTE + ref.removeprefix(SOURCES_THERE) not in refused:
                    refused[ref] = error
                continue
            check.visit(one.visited)
            if oid != known:
                good[wanted[ref]] = oid
        return good


def accept_sources(
    repository: Repository, objects: Objects, tx: RefTransaction, remote: str, sources: Mapping[RemoteName, Oid]
) -> None:
    """Add the ref changes for fetched original files to `tx`; they are joined with those that are here."""
    for name, oid in sources.items():
        tracking, ref = sources_tracking_ref(remote, name.root), f"{FETCHED_SOURCES}{name.root}"
        tx.move_ref(tracking, repository.find_ref(tracking), oid)
        before = repository.find_ref(ref)
        tx.move_ref(ref, before, oid if before is None else _join(repository, objects, name.root, Oid(before), oid))


def _join(repository: Repository, objects: Objects, root: Oid, ours: Oid, theirs: Oid) -> Oid:
    from scopes.history.sources import choose_newest, walk_set

    chosen = choose_newest(walk_set(repository, ours), walk_set(repository, theirs))
    from scopes.sync.outgoing_sources import encode_set

    encoded = encode_set(objects, root, {key: source.commit for key, source in chosen.items()})
    return objects.write(COMMIT, encoded)


def note_sources(conversations: Collection[ConversationId | None]) -> Iterator[Note]:
    """Yield a note about conversations whose original files were fetched, too."""
    named = [each for each in conversations if each is not None]
    if named:
        text = f"original files of {len(named)} {plural(len(named), 'conversation')} came, too: {first_few(named)}"
        yield Note(text, f"write them: scopes export {quote(named[0])} --format original --output DIRECTORY")


def note_refused_sources(refused: Mapping[str, Corrupt]) -> Iterator[Note]:
    """Yield a note for each error of original files: those of one conversation, or of all."""
    for ref in sorted(filter(is_of_sources, refused))[:5]:
        yield Note(refused[ref].message, _HINT)
