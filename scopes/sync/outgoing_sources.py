"""Decide which original files of a conversation a push sends, and search them for secrets like everything that is sent.

Agents' programs wrote them, with system prompts and outputs of tools. So they are sent only on request.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from scopes.errors import Refused
from scopes.history.sources import (
    CHUNKS,
    SEGMENTS,
    SET_FILE,
    SET_SUBJECT,
    SOURCES,
    Purged,
    SourceInSet,
    SourceRecord,
    choose_newest,
    read_source_record,
    walk_set,
)
from scopes.ids import Oid
from scopes.model import canonical_json
from scopes.model.message import MAX_MESSAGE_BYTES
from scopes.purge.offers import read_undecided
from scopes.purge.rewrite_source import walk_records
from scopes.secret_scan.clearance import Cleared, Gate
from scopes.secrets.gates import gate_of
from scopes.store.objects import (
    COMMIT,
    Identity,
    Objects,
    ObjectsInMemory,
    format_commit,
    object_id,
    read_blob,
    read_commit,
    update_tree,
    walk_blobs,
)
from scopes.store.refs import FETCHED_SOURCES
from scopes.store.repository import Repository
from scopes.sync.local_conversations import list_roots
from scopes.sync.names import sources_tracking_ref, tracking_ref
from scopes.sync.purge_notes import HELD

if TYPE_CHECKING:
    from scopes.secrets.scan import SecretRow

_SHOWN: Final = 60  # characters of the name of a source
_BETWEEN: Final = b" \t\r\n,"  # records of a file that is one JSON document
_AROUND: Final = _BETWEEN + b"[]"


class OutgoingSources(NamedTuple):
    """The original files of a conversation that a remote should have after the push.

    oid: the commit; None if there are no such files
    files: how many
    left_out: names of files that also belong to another conversation, which the remote does not have
    """

    oid: Oid | None
    files: int = 0
    encoded: bytes = b""
    sources: tuple[SourceInSet, ...] = ()
    left_out: tuple[str, ...] = ()

    def write(self, objects: Objects, cleared: Cleared) -> Oid:
        """Write the commit, which a gate has cleared together with all that it reaches, and return it.

        Raises:
            ValueError: another one was cleared.
        """
        if cleared.data != self.encoded:
            raise ValueError("these original files were not cleared")
        return objects.write(COMMIT, cleared.data)


class SourcePlans:
    """Plans which original files to send to one repository of a remote, or (None) to a receiver that has nothing.

    included: the roots of conversations that are sent, too; family: the names of all repositories of the remote
    """

    def __init__(
        self,
        repository: Repository,
        remote: str | None,
        included: frozenset[Oid] = frozenset(),
        family: Collection[str] = (),
    ) -> None:
        self._repository = repository
        self._remote = remote
        self._included = included
        self._family = family

    @cached_property
    def _own(self) -> dict[Oid, list[SourceInSet]]:
        """The sources that were imported here, by the root commits of the conversations."""
        found: dict[Oid, list[SourceInSet]] = {}
        for _, value in sorted(self._repository.list_refs(SOURCES).items()):
            record = read_source_record(self._repository, Oid(value))
            for root in dict.fromkeys((record.root, *record.more_roots)):
                found.setdefault(root, []).append(SourceInSet(Oid(value), record))
        return found

    def plan(self, objects: Objects, root: Oid) -> OutgoingSources:
        """Return the files that are here joined with those of the remote; write their commits into `objects`.

        Raises:
            Corrupt, NotFound: something is damaged.
            Refused: a file has what was purged elsewhere, and nothing was decided about that here.
        """
        own = [*self._own.get(root, ()), *self._walk_set(f"{FETCHED_SOURCES}{root}")]
        if any(self._has_offered(objects, each) for each in own):
            raise Refused(HELD)
        there = [] if self._remote is None else self._walk_set(sources_tracking_ref(self._remote, root))
        chosen = choose_newest(own, there)
        sources = [each for each in chosen.values() if self._may_leave(each, root)]
        left_out = tuple(name_source(each) for each in chosen.values() if not self._may_leave(each, root))
        if not sources:
            return OutgoingSources(None, left_out=left_out)
        alone = {each.key: write_alone(objects, each) for each in sources}
        encoded = encode_set(objects, root, alone)
        kept = tuple(each._replace(commit=alone[each.key]) for each in sources)
        return OutgoingSources(object_id(COMMIT, encoded), len(kept), encoded, kept, left_out)

    @cached_property
    def _undecided(self) -> Purged:
        return read_undecided(self._repository)

    def _has_offered(self, objects: Objects, source: SourceInSet) -> bool:
        """Return True if a file has the record of a message that was purged elsewhere; an import may bring it back."""
        if not self._undecided.messages:
            return False
        records = walk_records(objects, read_commit(objects, source.commit).tree)
        return any(each.message is not None and self._undecided.has_message(each.message) for each in records)

    def _walk_set(self, ref: str) -> Iterator[SourceInSet]:
        value = self._repository.find_ref(ref)
        if value is not None:
            yield from walk_set(self._repository, Oid(value))

    def _may_leave(self, source: SourceInSet, root: Oid) -> bool:
        """Return True if the other conversations of a file are on the remote, too, in any of its repositories."""
        others = {source.record.root, *source.record.more_roots} - {root} - self._included
        return all(any(self._is_there(name, other) for name in self._family) for other in others)

    def _is_there(self, remote: str, root: Oid) -> bool:
        return self._repository.find_ref(tracking_ref(remote, root)) is not None


def clear_sources(objects: Objects, outgoing: OutgoingSources, known: Oid | None, gate: Gate) -> Cleared:
    """Search the original files that the receiver does not have, and return the cleared commit.

    known: the commit of the files that the receiver has

    Raises:
        SecretsFound: there may be a secret.
        Refused: a record of a file is too large to be received.
    """
    there = set() if known is None else {each.commit for each in walk_set(objects, known)}
    for source in outgoing.sources:
        if source.commit not in there:
            _inspect(objects, source, gate)
    return gate.clear_inspected(outgoing.encoded)


def find_source_secrets(repository: Repository) -> list[SecretRow]:
    """Return the secrets in original files that are not allowed; a push refuses these, a scan does not read them."""
    from scopes.secrets.scan import SecretRow

    rows: list[SecretRow] = []
    objects = ObjectsInMemory(repository)
    roots = list_roots(repository)
    plans = SourcePlans(repository, None, frozenset(roots))
    for root, conversation in roots.items():
        gate = gate_of(repository, "refuse")
        for source in plans.plan(objects, root).sources:
            _inspect(objects, source, gate)
        rows += [
            SecretRow(leak.id, leak.rule, conversation, None, leak.place, leak.line, allowed=False)
            for leak in gate.leaks
        ]
    return rows


def _inspect(objects: Objects, source: SourceInSet, gate: Gate) -> None:
    place = f"the original file {name_source(source)}"
    from scopes.importers.archive import walk_segments

    starts = sorted({segment.span.offset for segment in walk_segments(objects, source.commit)})
    position = 0
    gate.inspect_text(read_commit(objects, source.commit).subject, place)
    for path, oid in walk_blobs(objects, read_commit(objects, source.commit).tree):
        data = read_blob(objects, oid)
        if len(data) > MAX_MESSAGE_BYTES:
            size = f"{len(data) >> 20} MiB; the limit is {MAX_MESSAGE_BYTES >> 20} MiB"
            raise Refused(f"a record of {name_source(source)} has {size}", hint="push without --originals")
        if path.startswith(CHUNKS):
            _inspect_chunk(data, [start - position for start in starts if start > position], place, gate)
            position += len(data)
        else:
            for line in data.splitlines() if path.startswith(SEGMENTS) else [data]:
                gate.inspect(line, place)


def _split(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    """Yield a chunk record by record; a chunk ends at the end of a record."""
    start = 0
    for cut in cuts:
        if cut >= len(data):
            break
        yield data[start:cut]
        start = cut
    yield data[start:]


def _inspect_chunk(data: bytes, cuts: list[int], place: str, gate: Gate) -> None:
    """Search a chunk line by line, each as JSON if it is; then record by record, since one may have several lines."""
    found = [gate.inspect(line.strip(_BETWEEN), place) for line in data.splitlines()]
    for record in () if any(found) else _split(data, cuts):
        whole, bare = record.strip(_BETWEEN), record.strip(_AROUND)
        if not gate.inspect(whole, place) and bare != whole:
            gate.inspect(bare, place)


def name_source(source: SourceInSet) -> str:
    """Return the name of a source for people: its native id, and the name of the sub file."""
    part = "" if source.record.part is None else f"/{source.record.part}"
    return f"{source.record.native_id}{part}"[:_SHOWN]


_AUTHOR: Final = Identity("scopes", "scopes@systems.scopes")


def describe_set(root: str) -> bytes:
    """Return the only file of a set: it names the root of the conversation."""
    return canonical_json.dump({"v": 1, "root": root})


def format_set(tree: Oid, parents: Iterable[Oid], time: int) -> bytes:
    """Return the commit of a set, of sources that are sorted by key."""
    return format_commit(tree=tree, parents=parents, author=_AUTHOR, time=time, subject=SET_SUBJECT)


def encode_set(objects: Objects, root: Oid, sources: Mapping[str, Oid]) -> bytes:
    """Return the commit of the set of some sources by key, and write its tree; its time is that of the newest."""
    parents = [sources[key] for key in sorted(sources)]
    time = max(read_commit(objects, oid).time for oid in parents)
    return format_set(update_tree(objects, None, {SET_FILE: describe_set(root)}), parents, time)


def format_source(tree: Oid, record: SourceRecord, time: int, subject: str | None = None) -> bytes:
    """Return the commit of a source in a set, which has no earlier versions."""
    subject = subject or f"{record.format} {record.native_id}: {record.size} bytes"
    return format_commit(tree=tree, parents=(), author=_AUTHOR, time=time, subject=subject)


def write_alone(objects: Objects, source: SourceInSet) -> Oid:
    """Write a stored source without its earlier versions, and return it."""
    commit = read_commit(objects, source.commit)
    if not commit.parents:
        return commit.oid
    return objects.write(COMMIT, format_source(commit.tree, source.record, commit.time, commit.subject))
