"""The small objects that a repository read or wrote last, so that a tree or commit is read from disk once.

An object never changes, so that a copy in memory is as good as the one on disk; `verify` and `repair` read the disk.
The cache of `packs/writer` differs: it has objects that are not in the store yet, of any size, and drops blobs first.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from scopes.errors import Busy, Corrupt, NotFound, Refused, ScopesError, TooNew
from scopes.ids import ConversationId, Oid, OperationId, is_oid
from scopes.model.operation import Operation, decode_operation
from scopes.store import refs
from scopes.store.config import Config
from scopes.store.init import FORMAT_VERSION
from scopes.store.libgit2 import OPEN_EXACTLY_HERE, is_missing, pygit2, refusal, translated
from scopes.store.locks import DEFAULT_TIMEOUT_SECONDS, StoreLock
from scopes.store.loose import CODES, LooseReader, find_loose, write_large
from scopes.store.objects import BLOB, COMMIT, TREE, Commit, CommitStub, TreeEntry, parse_commit, parse_tip, parse_tree
from scopes.store.projects import Project
from scopes.store.ref_files import RefFiles, RefReader, list_ref_names, read_ref_files

if TYPE_CHECKING:
    from scopes.store.ref_files import ListedRefs


MAX_OBJECT_BYTES = 16 * 1024
MAX_BYTES = 4 * 1024 * 1024
_OVERHEAD_BYTES = 300  # of the id, the tuple and the entry of the dict


class RecentObjects:
    """Kind and bytes of objects by id; when there are more than `max_bytes`, the older half is dropped.

    `find` returns kind and bytes of an object, None if it is not in memory; it is a method of a dict, because every
    read of an object calls it. With `keeps_packed` objects that are written into packs are kept too.
    """

    find: Callable[[Oid], tuple[str, bytes] | None]

    def __init__(self, max_bytes: int = MAX_BYTES, *, keeps_packed: bool = False) -> None:
        self.keeps_packed = keeps_packed
        self._max_bytes = self._bytes_left = max_bytes
        self._objects: dict[Oid, tuple[str, bytes]] = {}
        self.find = self._objects.get

    def clear(self) -> None:
        """Drop all objects."""
        self._objects.clear()
        self._bytes_left = self._max_bytes

    def add(self, oid: Oid, found: tuple[str, bytes]) -> None:
        """Keep an object unless it is large."""
        size = len(found[1])
        if size > MAX_OBJECT_BYTES or oid in self._objects:
            return
        self._objects[oid] = found
        self._bytes_left -= size + _OVERHEAD_BYTES
        if self._bytes_left < 0:
            self._drop_older_half()

    def _drop_older_half(self) -> None:
        """Drop objects until half of the bytes are left; one by one would be slow, with a dict's deleted entries."""
        objects = self._objects
        for oid in list(objects):
            self._bytes_left += len(objects.pop(oid)[1]) + _OVERHEAD_BYTES
            if self._bytes_left >= self._max_bytes // 2:
                break


Done = TypeVar("Done")

FILE: Final = "scopes.prunes"


def count_prunes(store: str) -> int:
    """Return how often objects were deleted that nothing reached."""
    try:
        return os.stat(f"{store}/{FILE}").st_size
    except OSError:
        return 0


def note_prune(store: str) -> None:
    """Record that objects will be deleted now; call it under the exclusive lock.

    Raises:
        Inaccessible: the disk is full, or not writable; nothing may be deleted.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with translated("prepare to delete objects", store):
        descriptor = os.open(os.path.join(store, FILE), flags, 0o600)
        try:
            os.write(descriptor, b"\n")
        finally:
            os.close(descriptor)


class Prunes:
    """What was deleted since this was made."""

    def __init__(self, store: str) -> None:
        self._store = store
        self._before = count_prunes(store)

    def have_run(self) -> bool:
        """Return True if objects may have been deleted; certain for those that were there while a lock was held."""
        return count_prunes(self._store) != self._before

    def require_none(self) -> None:
        """Raise Busy if objects may have been deleted; call it under the lock, before a ref moves."""
        if self.have_run():
            raise _busy()


@contextmanager
def without_prunes(store: str) -> Iterator[Prunes]:
    """Run a block that needs objects which no ref of the store reaches; blame a purge for errors if one has run.

    Raises:
        Busy: the block failed, and a purge has run meanwhile.
    """
    prunes = Prunes(store)
    try:
        yield prunes
    except ScopesError as error:
        if prunes.have_run():
            raise _busy() from error
        raise


def again_after_prunes(store: str, work: Callable[[], Done], tries: int = 3) -> Done:
    """Return what a piece of work comes to; it is done again if it failed, and objects were deleted meanwhile.

    Raises:
        ScopesError: that of the work, of the last time.
    """
    for _ in range(tries - 1):
        prunes = Prunes(store)
        try:
            return work()
        except ScopesError:
            if not prunes.have_run():
                raise
    return work()


def _busy() -> Busy:
    return Busy("scopes purge has deleted objects of the store meanwhile", hint="try again")


KINDS = {code: kind for kind, code in CODES.items()}
OPERATION_FILE = "operation.json"
_OID_LENGTH = 40
_PRIORITY_ABOVE_LIBGIT2 = 3
_TRIES = 5  # to write an object
_Value = TypeVar("_Value")
_Stamp: TypeAlias = tuple[str | None, str | None, tuple[int, int] | None]


class Caller(NamedTuple):
    """Who calls: actor and command of the log, full names of branches, project, missing names, who signs commits."""

    actor: str = "unknown"
    command: str = ""
    full_branch_names: bool = False
    find_project: Callable[[], Project | None] = lambda: None
    find_missing: Callable[[str], ConversationId | None] = lambda _name: None  # may get it from a remote
    sign: Callable[[bytes], bytes] = bytes


class Objects(Protocol):
    """An object database: the store itself, or a pack that is being written."""

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound."""

    def write(self, kind: str, data: bytes) -> Oid:
        """Store an object and return its id."""


class Repository:
    """One open store.

    `clear_message` is what makes of stored messages what is read of them; `secrets.gates.redacting` sets it while text
    leaves the store with secrets redacted. `index_directory` is where what was derived from the store is kept.
    `committed` describes the last commit, for the message after an interrupt. `command_operations` are those of the
    present command that the next one belongs to; `history.transaction.same_command` sets them. `prunes` knows what was
    deleted since the store was opened; `store.transactions` opens it again then.
    """

    def __init__(self, path: str, git: pygit2.Repository, config: Config, caller: Caller) -> None:
        self.path, self.caller, self.git, self.config = path, caller, git, config
        unreadable = 0 if config.find("scopes.formatVersion") is None else FORMAT_VERSION + 1
        self.format_version = config.find_integer("scopes.formatVersion", unreadable)
        self.prunes = Prunes(path)
        self.ref_reader = RefReader(path, git)
        self.lock = StoreLock(path, config.find_integer("scopes.lockTimeout", DEFAULT_TIMEOUT_SECONDS))
        self.durable = config.find("scopes.durability") != "fast"
        self.committed: str | None = None
        self.command_operations: list[OperationId] = []
        self._odb = git.odb
        self._objects = os.path.join(path, "objects")
        self.packs = _open_packs(self._objects)
        self.recent = RecentObjects()
        self.clear_message: Callable[[bytes], bytes] | None = None
        self.index_directory: str | None = None
        self._last_was_packed = True
        self._last_stamp: _Stamp | None = None
        self.listed: ListedRefs | None = None  # answers in place of the files

    def close(self) -> None:
        """Close the files of the store; they are opened again when the repository is used.

        libgit2 shares open packs between all its handles, so every old handle is dropped before a new one is made.
        """
        self.__dict__.pop("walker", None)
        del self._odb, self.packs
        self.recent.clear()
        self.git.free()
        self._odb = self.git.odb
        self.packs = _open_packs(self._objects)

    @cached_property
    def walker(self) -> pygit2.Repository:
        """A handle for libgit2's walks over history, with `LooseReader`: libgit2's own reader may never return."""
        git = pygit2.Repository(self.path, OPEN_EXACTLY_HERE)
        git.odb.add_backend(LooseReader(self._objects), _PRIORITY_ABOVE_LIBGIT2)
        return git

    def forget_pruned(self) -> None:
        """Open the store again if objects were deleted: libgit2 goes on finding those of a pack that is gone.

        An object that is found is not written again.
        """
        if self.prunes.have_run():
            self.prunes = Prunes(self.path)
            self.close()

    def require_writable(self) -> None:
        """Raise an error if the store cannot be written.

        Raises:
            TooNew: the format of the store is newer than this version of scopes.
            Refused: the repository shows an earlier state.
        """
        if self.is_past:
            raise Refused(
                "an earlier state of the store can only be read",
                hint="leave out --at-operation; to go back to that state: scopes undo",
            )
        if self.format_version > FORMAT_VERSION:
            raise TooNew(
                f"the store has format {self.format_version}, this scopes writes format {FORMAT_VERSION}",
                hint="update scopes; reading still works as far as this version knows the format",
            )

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object; small trees and commits are kept in memory, which are read again.

        Raises:
            NotFound: the store has no such object.
            Corrupt: the object is damaged.
        """
        found = self.recent.find(oid)
        if found is None:
            found = self._read_from_disk(oid)
            if found[0] != BLOB:
                self.recent.add(oid, found)
        return found

    def _read_from_disk(self, oid: Oid) -> tuple[str, bytes]:
        try:
            found = self.find_packed(oid) if self._last_was_packed else None
            if found is None:
                found = self._find_unpacked(oid)
        except (pygit2.GitError, ValueError) as error:
            raise _damage(oid) from error
        except OSError as error:
            raise refusal(f"read object {oid}", self.path, error) from error
        if found is None:
            raise NotFound(f"object {oid} is not in the store", hint="see: scopes verify")
        return found

    def _find_unpacked(self, oid: Oid) -> tuple[str, bytes] | None:
        """Find an object among loose objects, then in packs: it may have been packed a moment ago.

        Packs are tried before if the previous object was packed, since a miss is slow.
        """
        if not is_oid(oid):
            raise _damage(oid)
        found = find_loose(self._objects, oid)
        self._last_was_packed = found is None
        return found or self.find_packed(oid)

    def find_packed(self, oid: Oid) -> tuple[str, bytes] | None:
        """Return kind and bytes of an object in a pack, None if no pack has it; raises errors of libgit2."""
        if len(oid) != _OID_LENGTH:
            return None  # libgit2 takes a shorter id as a prefix
        try:
            code, data = self.packs.read(oid)
        except KeyError:
            return None
        return KINDS[code], data

    @contextlib.contextmanager
    def from_disk(self) -> Iterator[None]:
        """Read every object from disk, for commands that verify the store; the copies in memory are dropped."""
        self.recent = RecentObjects(0)
        try:
            yield
        finally:
            self.recent = RecentObjects()

    def has(self, oid: Oid) -> bool:
        """Return True if the object is in the store."""
        return self._odb.exists(oid)

    def write(self, kind: str, data: bytes) -> Oid:
        """Store one loose object and return its id; raise Inaccessible if the disk is full or cannot be written."""
        for tries_left in reversed(range(_TRIES)):
            try:
                oid = write_large(self._objects, kind, data, is_known=self.has, durable=self.durable)
                oid = oid or Oid(str(self.git.write(CODES[kind], data)))
            except (pygit2.GitError, OSError, ValueError) as error:
                # a git command that repacks at the same time may remove a directory between two steps of libgit2
                if not (tries_left and is_missing(error)):
                    raise refusal("write to the store", self.path, error, writing=True) from error
            else:
                self.recent.add(oid, (kind, data))
                return oid
        raise AssertionError  # not reached: the last try returns or raises

    def override_refs(self, values: Mapping[str, str]) -> None:
        """Show these refs from now on, instead of those of the store, and refuse to write."""
        from scopes.store.ref_files import ListedRefs

        self.listed = ListedRefs(values, is_past=True)

    @property
    def is_past(self) -> bool:
        """Whether the repository shows an earlier state of the store."""
        return self.listed is not None and self.listed.is_past

    def find_ref(self, name: str) -> str | None:
        """Return the value of a ref (`ref: <name>` if symbolic); None if it does not exist."""
        if self.listed is not None:
            return self.listed.find(name)
        value, pending = self._read_consistently(lambda: self.raw_ref(name))
        return pending.get(name, value)

    def find_symbolic(self, name: str) -> tuple[str | None, str | None]:
        """Return the value of a symbolic ref and that of the branch ref that it names, as they are at one moment."""

        def follow(find: Callable[[str], str | None]) -> tuple[str | None, str | None]:
            value = find(name)
            target = (value or "").removeprefix(refs.SYMBOLIC)
            return value, find(target) if target.startswith(refs.HEADS) else None

        if self.listed is None:
            found, pending = self._read_consistently(lambda: follow(self.raw_ref))
            if not pending:
                return found
        return follow(self.find_ref)

    def list_refs(self, *prefixes: str) -> dict[str, str]:
        """Return the values of all refs with one of the prefixes, or of all refs without a prefix, sorted by name."""
        if self.listed is not None:
            return self.listed.list_refs(prefixes)
        values, pending = self._read_consistently(lambda: self._raw_refs(prefixes))
        values.pop(refs.PENDING, None)
        return _with_pending(values, pending, prefixes) if pending else values

    def list_ref_names(self, *prefixes: str) -> set[str]:
        """Return the names of all refs with one of the prefixes; unlike `list_refs`, also of damaged refs."""
        if self.is_past:
            return {*self.list_refs(*prefixes)}
        names, pending = self._read_consistently(lambda: self._raw_ref_names(prefixes))
        names.update(name for name in pending if name.startswith(prefixes))
        return names - {refs.PENDING, *(name for name, value in pending.items() if value is None)}

    def read_refs(self, *prefixes: str) -> tuple[RefFiles, dict[str, str]]:
        """Read the ref files with these prefixes once; return them and the values that `list_refs` returns.

        They agree unless an operation is pending.
        """
        if self.is_past:
            past = self.list_refs(*prefixes)
            return RefFiles({**past}, b""), past
        files, pending = self._read_consistently(lambda: self.ref_files(*prefixes))
        values = files.list_refs(prefixes)
        values.pop(refs.PENDING, None)
        return files, _with_pending(values, pending, prefixes) if pending else values

    def raw_ref(self, name: str) -> str | None:
        """Return the value of a ref on disk, without the values of a pending operation.

        Raises:
            Corrupt: the ref is damaged, or one of its files is not a regular file.
        """
        if self.listed is not None and self.listed.is_past:
            return self.listed.find(name)
        return self.ref_reader.read(name)

    def ref_files(self, *prefixes: str) -> RefFiles:
        """Read the ref files with these prefixes, without the values of a pending operation."""
        with translated("read the refs", self.path):
            return read_ref_files(self.path, prefixes)

    def _raw_refs(self, prefixes: tuple[str, ...]) -> dict[str, str]:
        prefixes = prefixes or ("refs/",)
        return self.ref_files(*prefixes).list_refs(prefixes)

    def _raw_ref_names(self, prefixes: tuple[str, ...]) -> set[str]:
        with translated("read the refs", self.path):
            return list_ref_names(self.path, prefixes)

    def _read_consistently(self, read: Callable[[], _Value]) -> tuple[_Value, dict[str, str | None]]:
        """Call `read` until no operation ran at the same time; return also the new values of a pending operation.

        The last stamp of an earlier call is the first one of this call: if it is the same, nothing has moved since.
        """
        before = self._last_stamp or self._read_stamp()
        while True:
            value = read()
            after = self._last_stamp = self._read_stamp()
            if after == before:
                pending = self.find_pending(*before[:2])
                return value, {} if pending is None else _values_after(*pending)
            before = after

    def _read_stamp(self) -> _Stamp:
        """Return a stamp that changes whenever several refs may have moved.

        The marker is read before the operation log: an operation that began and ended between two stamps leaves no
        marker, but it moves the log before it deletes the marker. The stamp includes `packed-refs`, because packing
        moves refs there, and a reader that listed loose refs before and reads `packed-refs` after would miss changes.
        """
        marker, operations = self.raw_ref(refs.PENDING), None
        with contextlib.suppress(Corrupt):  # a reader does without the log; `repair` restores it
            operations = self.raw_ref(refs.OPERATIONS)
        try:
            status = os.stat(os.path.join(self.path, "packed-refs"))
        except OSError:
            return marker, operations, None
        return marker, operations, (status.st_ino, status.st_mtime_ns)

    def find_pending(self, marker: str | None, operations: str | None) -> tuple[Oid, Operation] | None:
        """Return the operation whose refs are not all moved yet, given the values of marker and operation log.

        If the log contains the operation of the marker, it is finished, and the marker is stale: a power cut or a
        `git pack-refs` at the same time restored it.
        """
        if marker is None or marker == operations:
            return None
        operation = read_operation(self, read_commit(self, Oid(marker)))
        with contextlib.suppress(pygit2.GitError, OSError, Corrupt):  # the log is damaged: trust the marker
            if operations and self.walker.descendant_of(pygit2.Oid(hex=operations), pygit2.Oid(hex=marker)):
                return None
        return Oid(marker), operation


def _open_packs(directory: str) -> pygit2.Odb:
    """Open the packs without libgit2's loose backend, which would be asked for every packed object."""
    packs = pygit2.Odb()
    packs.add_backend(pygit2.OdbBackendPack(directory), 1)
    return packs


def read_data(objects: Objects, oid: Oid, kind: str) -> bytes:
    """Return the bytes of an object of this kind, or raise NotFound or Corrupt."""
    found, data = objects.read(oid)
    if found != kind:
        raise Corrupt(f"object {oid} is not a {kind}", hint="see: scopes verify")
    return data


def read_commit(objects: Objects, oid: Oid) -> Commit:
    """Read a commit, or raise NotFound or Corrupt."""
    return parse_commit(oid, read_data(objects, oid, COMMIT))


def read_commit_stub(objects: Objects, oid: Oid) -> CommitStub:
    """Read only the tree, the time and the author's address of a commit, or raise NotFound or Corrupt."""
    return parse_tip(oid, read_data(objects, oid, COMMIT))


def read_tree(objects: Objects, oid: Oid) -> dict[str, TreeEntry]:
    """Read a tree's entries by name, or raise NotFound or Corrupt."""
    return parse_tree(read_data(objects, oid, TREE))


def read_operation(objects: Objects, commit: Commit) -> Operation:
    """Read the record of an operation from its commit, or raise NotFound or Corrupt."""
    entry = read_tree(objects, commit.tree).get(OPERATION_FILE)
    if entry is None:
        raise Corrupt(f"commit {commit.oid} is not an operation", hint="see: scopes verify")
    return decode_operation(read_data(objects, entry.oid, BLOB))


def _damage(oid: Oid) -> Corrupt:
    what = f"object {oid} is damaged" if is_oid(oid) else f"{oid!a} is not an object id"
    return Corrupt(what, hint="see: scopes verify")


def _values_after(commit: Oid, operation: Operation) -> dict[str, str | None]:
    return {refs.OPERATIONS: commit} | {change.ref: change.new for change in operation.changes}


def _with_pending(values: dict[str, str], new: dict[str, str | None], prefixes: tuple[str, ...]) -> dict[str, str]:
    merged: dict[str, str | None] = {**values, **{k: v for k, v in new.items() if k.startswith(prefixes or ("refs/",))}}
    return {name: value for name, value in sorted(merged.items()) if value is not None}
