"""Storage of the records of commits: a ref of its own, with a tree that is read by commit, session or identity.

    refs/scopes/commits    commits/<2 hex>/<commit>/<hash>=       a record; the hash is that of who recorded what
                           rewritten/<2 hex>/<new>/<old>=         git rewrote the commit <old> as <new>
                           sessions/<session key>/<commit>=       the commits of a session
                           identities/<2 hex>/<identity>/<commit>=    the commits with one author, time and subject

The history can be read with plain git. Every change is an operation, so undo works, file by file. What is damaged is
left out; `notes` counts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

from scopes.code_links.commit_record import CommitRecord, decode_record, encode_record, is_commit_id, is_identity
from scopes.code_links.link import CommitId
from scopes.errors import Corrupt, Invalid
from scopes.history.metadata import write_metadata
from scopes.history.transaction import RefTransaction
from scopes.ids import Oid, OperationId
from scopes.model.canonical_json import decode_component, encode_component
from scopes.result import Note
from scopes.store.objects import BlobChange, find_entry, read_blob, read_commit, read_tree
from scopes.store.refs import COMMITS
from scopes.store.repository import Repository

KIND = "commits"
MAX_STEPS = 50  # rewrites of one commit that are followed
_MAX_SAME = 50  # commits of one identity that are read
_LEAF = "="


class CommitRecords:
    """The records at one commit of the ref; each file is read when it is needed."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        value = repository.find_ref(COMMITS)
        self.head = None if value is None else Oid(value)
        self._tree = None if self.head is None else read_commit(repository, self.head).tree
        self._damaged = 0

    @property
    def notes(self) -> tuple[Note, ...]:
        """A note if something that was read is damaged."""
        if not self._damaged:
            return ()
        count = "a record" if self._damaged == 1 else f"{self._damaged} records"
        return (Note(f"{count} of commits cannot be read", "see: scopes verify"),)

    def find(self, commit: CommitId) -> list[CommitRecord]:
        """Return the records of a commit itself."""
        found = []
        for _, oid in self._entries(f"commits/{commit[:2]}/{commit}"):
            try:
                record = decode_record(read_blob(self._repository, oid))
            except Corrupt:
                self._damaged += 1
            else:
                if record.commit == commit:
                    found.append(record)
        return sorted(found, key=lambda record: (record.at, record.session or "", record.message or ""))

    def holds(self, record: CommitRecord) -> bool:
        """Return True if the same session is recorded for the commit in the same way."""
        return self._tree is not None and find_entry(self._repository, self._tree, _path_of(record)) is not None

    def list_earlier(self, commit: CommitId) -> list[CommitId]:
        """Return the commits that git rewrote as this one, the nearest first; not itself."""
        found: dict[CommitId, None] = {}
        new = [commit]
        while new and len(found) < MAX_STEPS:
            old = [CommitId(name) for each in new for name in self._names(f"rewritten/{each[:2]}/{each}")]
            new = [each for each in dict.fromkeys(old) if is_commit_id(each) and each not in found and each != commit]
            found |= dict.fromkeys(new)
        return list(found)

    def list_same(self, identity: str) -> list[CommitId]:
        """Return the recorded commits with this author, time and subject."""
        names = self._names(f"identities/{identity[:2]}/{identity}") if is_identity(identity) else ()
        return [CommitId(name) for name in names if is_commit_id(name)][:_MAX_SAME]

    def session_keys(self) -> list[str]:
        """Return the keys of the sessions that have records."""
        return list(self._names("sessions"))

    def commits_of(self, session_key: str) -> list[CommitId]:
        """Return the recorded commits of a session."""
        names = self._names(f"sessions/{encode_component(session_key)}")
        return [CommitId(name) for name in names if is_commit_id(name)]

    def _names(self, directory: str) -> Iterator[str]:
        for name, _ in self._entries(directory, trees=directory == "sessions"):
            try:
                yield decode_component(name.removesuffix(_LEAF))
            except Invalid:
                self._damaged += 1

    def _entries(self, directory: str, *, trees: bool = False) -> Iterator[tuple[str, Oid]]:
        entry = None if self._tree is None else find_entry(self._repository, self._tree, directory)
        for each in read_tree(self._repository, entry.oid).values() if entry is not None and entry.is_tree else ():
            if each.is_tree == trees:
                yield each.name, each.oid


def record_changes(record: CommitRecord) -> dict[str, BlobChange]:
    """Return the changes that store a record, and what it is found by."""
    commit = record.commit
    changes: dict[str, BlobChange] = {_path_of(record): encode_record(record)}
    if record.session_key is not None:
        changes[f"sessions/{encode_component(record.session_key)}/{commit}{_LEAF}"] = b""
    if record.identity is not None:
        changes[f"identities/{record.identity[:2]}/{record.identity}/{commit}{_LEAF}"] = b""
    return changes


def _path_of(record: CommitRecord) -> str:
    """Return where a record is: one for each way in which a session was recorded as the one that made a commit."""
    names = (record.recorded_by, record.tool or "", record.session or "", record.conversation or "")
    name = sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"commits/{record.commit[:2]}/{record.commit}/{name}{_LEAF}"


def rewrite_changes(old: CommitId, new: CommitId) -> dict[str, BlobChange]:
    """Return the change that stores that git rewrote a commit as another one."""
    return {f"rewritten/{new[:2]}/{new}/{old}{_LEAF}": b""}


def store_records(
    repository: Repository, records: CommitRecords, changes: Mapping[str, BlobChange], summary: str
) -> OperationId | None:
    """Store changes and record the operation; None if all is there already. Requires `exclusive_write`."""
    commit = write_metadata(repository, records.head, changes, summary)
    head = None if records.head is None else read_commit(repository, records.head)
    if head is not None and read_commit(repository, commit).tree == head.tree:
        return None
    transaction = RefTransaction(repository)
    transaction.move_ref(COMMITS, records.head, commit)
    return transaction.commit(KIND, summary).id


def summary_of(commits: Iterable[CommitId]) -> str:
    """Return the summary of an operation that records commits."""
    names = [commit[:8] for commit in dict.fromkeys(commits)]
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return f"record commit{'' if len(names) == 1 else 's'} {shown}"
