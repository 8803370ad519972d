"""One open store: objects, refs as a reader sees them, its lock and its settings; how a store is opened and created.

A store of another user is refused, as git does (`safe.directory`). What another person made comes in by `fetch`,
`clone` or a bundle; what is in a store of this user was written by scopes or by this user, and is trusted.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from scopes.errors import Busy, Corrupt, Inaccessible, Invalid, MissingObject, NotFound, Refused, ScopesError, TooNew
from scopes.ids import Oid, OperationId, is_oid
from scopes.model.operation import Operation, decode_operation
from scopes.regular_file import MAX_CONFIG_BYTES, read_regular, sync
from scopes.store import refs
from scopes.store.config import Config, Setting
from scopes.store.locks import DEFAULT_TIMEOUT_SECONDS, StoreLock
from scopes.store.objects import (
    BLOB,
    CODES,
    KINDS,
    OPEN_EXACTLY_HERE,
    REPAIR,
    Commit,
    CommitChunks,
    LooseReader,
    Objects,
    find_loose,
    is_missing,
    pygit2,
    read_commit,
    read_data,
    read_tree,
    refusal,
    skip_unreadable_home,
    translated,
)
from scopes.store.refs import (
    META,
    ListedRefs,
    RefFiles,
    find_packed_ref,
    list_ref_names,
    parse_packed_refs,
    read_loose_ref,
    read_packed_refs,
    read_ref_files,
)

if TYPE_CHECKING:
    from scopes.store.projects import Project

FORMAT_VERSION = 2
HEAD = "ref: refs/heads/scopes-none\n"  # no branch: scopes has none of its own
INITIAL_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
_NEEDED = {  # without these files, as git writes them, no store can be opened
    "HEAD": re.compile(rb"(?:ref: refs/[\x21-\x7e\x80-\xff]+|[0-9a-f]{40})\n?"),
    "config": re.compile(rb"[^\0]*\[core\][^\0]*"),
}
OPERATION_FILE = "operation.json"
_STORE_CONFIG: dict[str, int | str] = {
    "core.logAllRefUpdates": "always",  # appends are recorded in the reflog
    "gc.auto": 0,  # scopes packs the store itself, under its lock
    "scopes.formatVersion": FORMAT_VERSION,
}
_UNFINISHED = ".new-"
_PRUNES_FILE = "scopes.prunes"
_NOT_SYNCED = {"scopes.durability": Setting("scopes.durability", "fast", "flag")}
_PRIORITY_ABOVE_LIBGIT2 = 3
_TRIES = 5  # to write an object
_MAX_RECENT, _MAX_RECENT_BYTES = 8192, 16 * 1024  # trees and commits in memory: how many, and of which size
_Value = TypeVar("_Value")
_FileStamp: TypeAlias = tuple[int, int, int]
_Stamp: TypeAlias = tuple[str | None, str | None, _FileStamp | None]


class Caller(NamedTuple):
    """Who calls, and what is known to a caller but not to a store.

    actor, command: for the log; full_branch_names: whether names of branches must not be shortened
    sign: signs the bytes of a commit
    on_wait: gets a text if the lock is not free; on_commit: gets a text for each change, when it is recorded
    command_operations: what the present command has recorded until now: `undo` takes all of it back in one step; None
        if each operation is a step of its own
    clear_message: makes of a stored message what is read of it, while text leaves the store with secrets redacted
    index_directory: where what was derived from the store is kept
    open_commit_chunks: opens the chunks of commits that long walks read
    """

    actor: str = "unknown"
    command: str = ""
    full_branch_names: bool = False
    find_project: Callable[[], Project | None] = lambda: None
    sign: Callable[[bytes], bytes] = bytes
    on_wait: Callable[[str], object] = len
    on_commit: Callable[[str], object] = len
    command_operations: list[OperationId] | None = None
    clear_message: Callable[[bytes], bytes] | None = None
    index_directory: str | None = None
    open_commit_chunks: Callable[[], CommitChunks] | None = None


class Prunes:
    """What `scopes purge` has deleted of a store since this was made: a file has a byte for each time."""

    def __init__(self, store: str) -> None:
        self._store = store
        self._before = self._count()

    def _count(self) -> int:
        try:
            return os.stat(f"{self._store}/{_PRUNES_FILE}").st_size
        except OSError:
            return 0

    def have_run(self) -> bool:
        """Return True if objects may have been deleted; certain for those that were there while a lock was held."""
        return self._count() != self._before

    def require_none(self) -> None:
        """Raise Busy if objects may have been deleted; call it under the lock, before a ref moves."""
        if self.have_run():
            raise Busy("scopes purge has deleted objects of the store meanwhile", hint="try again")


def note_prune(store: str) -> None:
    """Record that objects will be deleted now; call it under the exclusive lock.

    Raises:
        Inaccessible: the disk is full, or not writable; nothing may be deleted.
    """
    with translated("prepare to delete objects", store), open(os.path.join(store, _PRUNES_FILE), "ab") as file:
        file.write(b"\n")


def again_after_prunes(store: str, work: Callable[[], _Value]) -> _Value:
    """Return the result of some work; it is done again, twice, if it failed and objects were deleted meanwhile."""
    for _ in range(2):
        prunes = Prunes(store)
        try:
            return work()
        except ScopesError:
            if not prunes.have_run():
                raise
    return work()


class Repository:
    """One open store; `prunes` knows what was deleted since it was opened."""

    def __init__(self, path: str, git: pygit2.Repository, config: Config, caller: Caller) -> None:
        self.path, self.caller, self.git, self.config = path, caller, git, config
        unreadable = 0 if config.find("scopes.formatVersion") is None else FORMAT_VERSION + 1
        self.format_version = config.find_integer("scopes.formatVersion", unreadable)
        self.prunes = Prunes(path)
        self._packed_refs: tuple[_FileStamp | None, bytes] = None, b""
        self.lock = StoreLock(path, config.find_integer("scopes.lockTimeout", DEFAULT_TIMEOUT_SECONDS))
        self.lock.on_wait = lambda text: self.caller.on_wait(text)  # noqa: PLW0108 - it may be another one by then
        self.durable = config.find("scopes.durability") != "fast"
        self._odb = git.odb
        self._objects = os.path.join(path, "objects")
        self.packs = _open_packs(self._objects)
        self.recent: dict[Oid, tuple[str, bytes]] = {}
        self._last_was_packed = True
        self._last_stamp: _Stamp | None = None
        self.listed: ListedRefs | None = None  # answers in place of the files

    @contextmanager
    def as_caller(self, **changes: Any) -> Iterator[None]:
        """Read and write for another caller in the block: the present one with these changes."""
        before = self.caller
        self.caller = before._replace(**changes)
        try:
            yield
        finally:
            self.caller = before

    @contextmanager
    def one_step(self) -> Iterator[None]:
        """Let `undo` take back all operations in the block together, and with those of the command around it."""
        recorded = self.caller.command_operations
        with self.as_caller(command_operations=[] if recorded is None else recorded):
            yield

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
        """Open the store again if objects were deleted: libgit2 goes on finding them, and does not write them again."""
        if self.prunes.have_run():
            self.prunes = Prunes(self.path)
            self.close()

    def require_writable(self) -> None:
        """Raise TooNew or Refused if the format of the store is newer, or the repository shows an earlier state."""
        if self.is_past and not self.is_dry:
            raise Refused(
                "an earlier state of the store can only be read",
                hint="leave out --at; to go back to that state: scopes undo",
            )
        if self.format_version > FORMAT_VERSION:
            raise TooNew(
                f"the store has format {self.format_version}, this scopes writes format {FORMAT_VERSION}",
                hint="update scopes; reading still works as far as this version knows the format",
            )

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound or Corrupt; small trees and commits stay in memory."""
        found = self.recent.get(oid)
        if found is None:
            found = self._read_from_disk(oid)
            self._remember(oid, found)
        return found

    def _remember(self, oid: Oid, found: tuple[str, bytes]) -> None:
        if found[0] != BLOB and len(found[1]) <= _MAX_RECENT_BYTES:
            if len(self.recent) == _MAX_RECENT:
                self.recent.clear()
            self.recent[oid] = found

    def _read_from_disk(self, oid: Oid) -> tuple[str, bytes]:
        """Read an object from a pack or a loose file; packs are tried first if the previous object was packed."""
        if not is_oid(oid):  # libgit2 takes a shorter id as a prefix
            raise Corrupt(f"{oid!a} is not an object id", hint="see: scopes verify")
        try:
            found = self._find_packed(oid) if self._last_was_packed else None
            if found is None:
                found = find_loose(self._objects, oid)
                self._last_was_packed = found is None
                found = found or self._find_packed(oid)  # it may have been packed a moment ago
        except (pygit2.GitError, ValueError, MemoryError) as error:
            raise Corrupt(f"object {oid} is damaged", hint="see: scopes verify") from error
        except OSError as error:
            raise refusal(f"read object {oid}", self.path, error) from error
        if found is None:
            raise MissingObject(f"object {oid} is not in the store", hint="see: scopes verify")
        return found

    def _find_packed(self, oid: Oid) -> tuple[str, bytes] | None:
        """Return kind and bytes of an object in a pack, None if no pack has it; raises errors of libgit2."""
        try:
            code, data = self.packs.read(oid)
        except KeyError:
            return None
        return KINDS[code], data

    def has(self, oid: Oid) -> bool:
        """Return True if the object is in the store."""
        return self._odb.exists(oid)

    def write(self, kind: str, data: bytes) -> Oid:
        """Store one loose object and return its id; raise Inaccessible if the disk is full or cannot be written."""
        for tries_left in reversed(range(_TRIES)):
            try:
                oid = Oid(str(self.git.write(CODES[kind], data)))
            except (pygit2.GitError, OSError, ValueError) as error:
                # a git command that repacks at the same time may remove a directory between two steps of libgit2
                if not (tries_left and is_missing(error)):
                    raise refusal("write to the store", self.path, error, writing=True) from error
            else:
                self._remember(oid, (kind, data))
                return oid
        raise AssertionError  # not reached: the last try returns or raises

    def override_refs(self, values: Mapping[str, str]) -> None:
        """Show these refs from now on, instead of those of the store, and refuse to write."""
        self.listed = ListedRefs(values, is_past=True)

    def begin_dry_run(self) -> None:
        """Keep what is written from now on in memory, but for objects: refs of the store are not moved."""
        self.listed = ListedRefs(self.list_refs(), is_past=True, is_dry=True)

    @property
    def is_past(self) -> bool:
        """Whether the repository shows another state of the store: an earlier one, or that of a dry run."""
        return self.listed is not None and self.listed.is_past

    @property
    def is_dry(self) -> bool:
        """Whether this is a dry run: operations move no refs of the store."""
        return self.listed is not None and self.listed.is_dry

    def find_ref(self, name: str) -> str | None:
        """Return the value of a ref (`ref: <name>` if symbolic); None if it does not exist."""
        if self.listed is not None:
            return self.listed.find(name)
        value, pending = self._read_consistently(lambda: self.raw_ref(name))
        return pending.get(name, value)

    def find_symbolic(self, name: str) -> tuple[str | None, str | None]:
        """Return the value of a symbolic ref and that of the branch ref that it names, as they are at one moment."""
        while True:
            value = self.find_ref(name)
            target = (value or "").removeprefix(refs.SYMBOLIC)
            tip = self.find_ref(target) if target.startswith(refs.HEADS) else None
            if tip is not None or self.find_ref(name) == value:
                return value, tip

    def list_refs(self, *prefixes: str) -> dict[str, str]:
        """Return the values of all refs with one of the prefixes, or of all refs without a prefix, sorted by name."""
        if self.listed is not None:
            return self.listed.list_refs(prefixes)
        return self.read_refs(*(prefixes or ("refs/",)))[1]

    def list_ref_names(self, *prefixes: str) -> set[str]:
        """Return the names of all refs with one of the prefixes; unlike `list_refs`, also of damaged refs."""
        if self.is_past:
            return {*self.list_refs(*prefixes)}
        with translated("read the refs", self.path):
            names, pending = self._read_consistently(
                lambda: list_ref_names(self.path, prefixes, self._read_packed_refs)
            )
        names.update(name for name in pending if name.startswith(prefixes))
        return names - {refs.PENDING, *(name for name, value in pending.items() if value is None)}

    def read_refs(self, *prefixes: str) -> tuple[RefFiles, dict[str, str]]:
        """Read the ref files with these prefixes once; return them and the values that `list_refs` returns."""
        if self.listed is not None and self.listed.is_past:
            past = self.listed.list_refs(prefixes)
            return RefFiles({**past}, b""), past
        files, pending = self._read_consistently(lambda: self.ref_files(*prefixes))
        values = files.list_refs(prefixes)
        values.pop(refs.PENDING, None)
        new = {name: value for name, value in pending.items() if name.startswith(prefixes)}
        merged = sorted({**values, **new}.items()) if new else values.items()
        return files, {name: value for name, value in merged if value is not None}

    def raw_ref(self, name: str) -> str | None:
        """Return the value of a ref on disk, without the values of a pending operation; or raise Corrupt."""
        if self.listed is not None and self.listed.is_past:
            return self.listed.find(name)
        if "/." in name:
            raise Corrupt(f"{name!a} is not the name of a ref", hint="see: scopes verify")
        try:
            return read_loose_ref(self.path, name) or find_packed_ref(self._read_packed_refs(), name)
        except ValueError as error:
            raise Corrupt(f"the ref {name} is damaged", hint="see: scopes verify") from error
        except OSError as error:
            raise refusal(f"read the ref {name}", self.path, error) from error

    def _read_packed_refs(self) -> bytes:
        """Return the content of `packed-refs`, which is read again when the file was replaced."""
        stamp = self._packed_stamp()
        if stamp != self._packed_refs[0]:
            self._packed_refs = stamp, read_packed_refs(self.path)
        return self._packed_refs[1]

    def _packed_stamp(self) -> _FileStamp | None:
        try:
            status = os.stat(f"{self.path}/packed-refs")
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    def ref_files(self, *prefixes: str) -> RefFiles:
        """Read the ref files with these prefixes, without the values of a pending operation."""
        with translated("read the refs", self.path):
            return read_ref_files(self.path, prefixes, self._read_packed_refs)

    def _read_consistently(self, read: Callable[[], _Value]) -> tuple[_Value, dict[str, str | None]]:
        """Call `read` until no operation ran at the same time; return also the new values of a pending operation."""
        before = self._last_stamp or self._read_stamp()
        while True:
            value = read()
            after = self._last_stamp = self._read_stamp()
            if after == before:
                pending = self.find_pending(*before[:2])
                if pending is None:
                    return value, {}
                return value, {refs.OPERATIONS: pending[0], **{each.ref: each.new for each in pending[1].changes}}
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
        return marker, operations, self._packed_stamp()

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


def read_operation(objects: Objects, commit: Commit) -> Operation:
    """Read the record of an operation from its commit, or raise NotFound or Corrupt."""
    entry = read_tree(objects, commit.tree).get(OPERATION_FILE)
    if entry is None:
        raise Corrupt(f"commit {commit.oid} is not an operation", hint="see: scopes verify")
    return decode_operation(read_data(objects, entry.oid, BLOB))


def open_repository(
    path: str, overrides: Mapping[str, Setting] | None = None, caller: Caller | None = None
) -> Repository:
    """Open a store; `overrides` are settings from environment variables and flags.

    Raises:
        NotFound: there is no store at `path`.
        Corrupt: `path` is not a store, or a kind of repository that libgit2 cannot read.
        Inaccessible: permission denied, or the store belongs to another user.
        Refused: an earlier version of scopes wrote the store.
    """
    if not is_store(path):
        if not os.path.lexists(path) or (os.path.isdir(path) and not os.listdir(path)):
            raise NotFound(f"there is no store at {path} yet", hint="create one: scopes import, or: scopes new")
        if not is_store(path):  # unless another process has created it since the first look
            if "config" in list_damaged_files(path):
                raise Corrupt(f"the configuration of the store {path} is damaged", hint=REPAIR)
            hint = "choose the store with --store, or create one: scopes init"
            raise Corrupt(f"{path} is not a scopes store", hint=hint)
    check_owner(path)
    skip_unreadable_home()
    try:
        git = pygit2.Repository(path, OPEN_EXACTLY_HERE)
    except (pygit2.GitError, OSError) as error:
        raise _cannot_open(path, error) from error
    git.set_ident("scopes", "scopes@systems.scopes")
    repository = Repository(path, git, Config(git.config, overrides or {}, path), caller or Caller())
    if 0 < repository.format_version < FORMAT_VERSION:
        raise Refused(
            f"the store {path} has format {repository.format_version}, this scopes reads format {FORMAT_VERSION}",
            hint="with the scopes that wrote it: scopes export --format jsonl; "
            "then with this one, into another store: scopes import",
        )
    pygit2.settings.enable_fsync_gitdir(repository.durable)
    return repository


def check_owner(path: str) -> None:
    """Refuse a store of another user, before its configuration is read, unless the user's git trusts the directory.

    This holds for the superuser too.
    """
    if os.stat(path).st_uid == os.geteuid():
        return
    trusted: set[str | None] = set()
    with contextlib.suppress(pygit2.GitError, OSError, ValueError):
        trusted.update(pygit2.config.DefaultConfig().get_multivar("safe.directory"))
    if trusted.isdisjoint({"*", path, os.path.realpath(path)}):
        raise _foreign(path)


def _foreign(path: str) -> Inaccessible:
    hint = f"if you trust it: git config --global --add safe.directory {shlex.quote(path)}"
    return Inaccessible(f"the store {path} belongs to another user", hint=hint)


def _cannot_open(path: str, error: Exception) -> Exception:
    if "HEAD" in list_damaged_files(path):
        return Corrupt(f"the file HEAD of the store {path} is missing or damaged", hint=REPAIR)
    text = str(error).replace(path, "").lower()
    if any(word in text for word in ("extension", "objectformat", "refstorage", "sha256", "repositoryformatversion")):
        hint = "SHA-256, reftable and partial-clone repositories are not supported"
        return Corrupt(f"the store {path} is a kind of git repository that cannot be opened", hint=hint)
    return refusal(f"open the store {path}", path, error)


def is_store(path: str) -> bool:
    """Return True if there is a store at `path`, without opening it."""
    try:
        return b"[scopes]" in read_regular(os.path.join(path, "config"), MAX_CONFIG_BYTES)
    except PermissionError as error:
        raise Inaccessible(f"cannot read {path}: permission denied", hint="check who owns it") from error
    except OSError:
        return False


def is_clone(path: str) -> bool:
    """Return True for a bare clone of a store, which has refs that only stores have."""
    try:
        packed = parse_packed_refs(read_packed_refs(path), (META,))
    except OSError:
        packed = {}
    return bool(packed) or os.path.isdir(os.path.join(path, META))


def list_damaged_files(path: str) -> list[str]:
    """Return which files are missing or damaged without which a store, or a clone of one, cannot be opened."""
    found: list[str] = []
    for name, form in _NEEDED.items():
        try:
            is_intact = form.fullmatch(read_regular(os.path.join(path, name), MAX_CONFIG_BYTES)) is not None
        except OSError:
            is_intact = False
        found += [] if is_intact else [name]
    return found if found and (is_store(path) or is_clone(path)) else []


def create_store(path: str, *, durable: bool = True) -> bool:
    """Create an empty store at `path`, readable by its owner alone; return False if there is one already.

    It is created in a temporary sibling directory and renamed, so that no process sees an incomplete store and two
    processes can create it at once. A mirror clone of a store lacks only the settings; it gets them. Without `durable`
    the store may be incomplete after a power cut.

    Raises:
        Invalid: `path` exists and is something else.
        Inaccessible: the store cannot be written there, or belongs to another user.
    """
    if os.path.exists(path):
        check_owner(path)
    if is_store(path):
        return False
    if is_clone(path):
        adopt(path)
        return True
    is_free = not os.path.lexists(path) or (os.path.isdir(path) and not os.listdir(path))
    if not is_free and is_store(path):  # another process has created it since the first look
        return False
    if not is_free:
        raise Invalid(f"{path} exists and is not a scopes store", hint="choose another path with --store")
    unfinished = f"{path}{_UNFINISHED}{os.urandom(4).hex()}"
    mask = os.umask(0o077)
    try:
        with translated(f"create a store at {path}", os.path.dirname(path)):
            try:
                _build(unfinished, durable=durable)
                os.rename(unfinished, path)
            except (pygit2.GitError, OSError):
                if not is_store(path):
                    raise
                return False
            if durable:
                sync(os.path.dirname(path))
    finally:
        os.umask(mask)
        shutil.rmtree(unfinished, ignore_errors=True)
    return True


def _build(path: str, *, durable: bool) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    os.mkdir(path, 0o700)
    repository = pygit2.init_repository(path, bare=True, initial_head="scopes-none")
    for key, value in _STORE_CONFIG.items():
        repository.config[key] = value
    os.chmod(path, 0o700)
    if durable:
        for synced in ("config", "HEAD", ""):  # an empty config after a power cut would hide every message
            sync(os.path.join(path, synced))


def adopt(path: str) -> None:
    """Write the settings that a clone of a store lacks."""
    with translated(f"turn {path} into a store", path):
        config = pygit2.Config(os.path.join(path, "config"))
        for key, value in _STORE_CONFIG.items():
            config[key] = value
        os.chmod(path, 0o700)
        sync(os.path.join(path, "config"))


def remove_unfinished_stores(path: str) -> None:
    """Remove the temporary directories that dead processes left while they created the store at `path`."""
    directory, store = os.path.split(os.path.abspath(path))
    with contextlib.suppress(OSError):
        for name in os.listdir(directory):
            if re.fullmatch(re.escape(store + _UNFINISHED) + "[0-9a-f]{8}", name):
                shutil.rmtree(os.path.join(directory, name))


@contextmanager
def empty_store() -> Iterator[Repository]:
    """Open an empty temporary store for a block: the preview of a command whose store does not exist."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="scopes-") as directory:
        path = os.path.join(directory, "store")
        create_store(path, durable=False)
        try:
            yield open_repository(path, _NOT_SYNCED)
        finally:
            pygit2.settings.enable_fsync_gitdir(True)  # the setting belongs to the process
