"""The original files of a conversation as they go to a remote and come from one: a commit for all of them.

refs/scopes/v1/s/<project>/<yyyymm>/<root>     on a remote, beside the manifest of the conversation
refs/scopes/remote-sources/<remote>/<root>     here: what the remote had when it was last seen
refs/scopes/fetched-sources/<root>             here: what came from remotes, all of it together

The parents of that commit are the sources, sorted by key: each a commit without parents, with the tree of a stored
source. So there are no earlier versions in it, and what reads or purges a stored source does so here.
All of it is a function of the bytes of the files: the same set has the same id on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from scopes.history.sources import SOURCES, SourceRecord, read_source_record, source_key
from scopes.ids import Oid
from scopes.model import encoding
from scopes.store.objects import COMMIT, TREE, Commit, Identity, find_in_tree, format_commit
from scopes.store.refs import FETCHED_SOURCES
from scopes.store.repository import Objects, Repository, read_commit, read_data
from scopes.store.trees import update_tree

SET_FILE: Final = "sources.json"
SUBJECT: Final = "original files"
_AUTHOR: Final = Identity("scopes", "scopes@systems.scopes")


class SourceInSet(NamedTuple):
    """A source: the commit with its bytes, and its description."""

    commit: Oid
    record: SourceRecord

    @property
    def key(self) -> str:
        """The key of the source."""
        return source_key(self.record.format, self.record.native_id, self.record.part)


def describe_set(root: str) -> bytes:
    """Return the only file of a set: it names the root of the conversation."""
    return encoding.dump({"v": 1, "root": root})


def format_set(tree: Oid, parents: Iterable[Oid], time: int) -> bytes:
    """Return the commit of a set, of sources that are sorted by key."""
    return format_commit(tree=tree, parents=parents, author=_AUTHOR, time=time, subject=SUBJECT)


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


def is_set(objects: Objects, commit: Commit) -> bool:
    """Return True for a set of sources."""
    return commit.subject == SUBJECT and find_in_tree(read_data(objects, commit.tree, TREE), SET_FILE) is not None


def walk_set(objects: Objects, commit: Oid) -> Iterator[SourceInSet]:
    """Yield the sources of a set.

    Raises:
        Corrupt, NotFound: one is damaged.
    """
    for parent in read_commit(objects, commit).parents:
        yield SourceInSet(parent, read_source_record(objects, parent))


def choose_newest(*groups: Iterable[SourceInSet]) -> dict[str, SourceInSet]:
    """Return the newest of the sources with the same key: one from which records were purged, else the longest.

    Of two with the same length that differ, every machine takes the same one; of equal ones the first.
    """
    found: dict[str, SourceInSet] = {}
    for group in groups:
        for source in group:
            known = found.get(source.key)
            if known is None or _rank(source.record) > _rank(known.record):
                found[source.key] = source
    return found


def _rank(record: SourceRecord) -> tuple[bool, int, str]:
    return record.purged, record.size, record.digest


def list_stored_sources(repository: Repository) -> list[Oid]:
    """Return the commits of all stored sources, by key: of those that were imported here and fetched, the newest.

    A description is read only where something was fetched.
    """
    own = {ref.removeprefix(SOURCES): Oid(value) for ref, value in repository.list_refs(SOURCES).items()}
    fetched = repository.list_refs(FETCHED_SOURCES)
    if not fetched:
        return [own[key] for key in sorted(own)]
    there = choose_newest(*(walk_set(repository, Oid(value)) for value in fetched.values()))
    for key, source in there.items():
        known = own.get(key)
        if known is None:
            own[key] = source.commit
            continue
        mine = SourceInSet(known, read_source_record(repository, known))
        own[key] = choose_newest([mine], [source])[key].commit
    return [own[key] for key in sorted(own)]
