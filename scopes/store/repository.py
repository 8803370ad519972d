"""An open store: reading and writing objects and seeing its refs. Moving refs is `transaction`'s business alone.

Readers take no lock. While an operation is between its commit point and its last ref, the marker ref names it, and
every reader sees the operation's new values instead of what the ref files say.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import NamedTuple, Protocol, TypeVar

from scopes.errors import Corrupt, Inaccessible, NotFound, TooNew
from scopes.ids import Oid, is_oid
from scopes.model.operation import Operation, decode_operation
from scopes.store import refs as names
from scopes.store.config import Config, Setting
from scopes.store.error_translation import is_missing, refusal
from scopes.store.init import FORMAT_VERSION, is_store
from scopes.store.libgit2 import pygit2
from scopes.store.lock import DEFAULT_TIMEOUT_SECONDS, StoreLock
from scopes.store.loose import CODES, LooseReader, find_loose
from scopes.store.objects import COMMIT, TREE, Commit, Entry, Tip, parse_commit, parse_tip, parse_tree
from scopes.store.raw_refs import RefFiles, read_ref_files

KINDS = {code: kind for kind, code in CODES.items()}
OPERATION_FILE = "operation.json"
_OID_LENGTH = 40
_TRIES = 5
_BEFORE_LIBGIT2S_OWN = 3
_MALFORMED_CONFIGURATION = re.compile(r"failed to parse config file: .*\(in (.*):([0-9]+)\)")
_Seen = TypeVar("_Seen")


class Caller(NamedTuple):
    """Who uses the store, and with which command line: what the operation log keeps."""

    actor: str = "unknown"
    command: str = ""


class Objects(Protocol):
    """Where objects are read from and written to: the store itself, or a pack in the making."""

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound."""

    def write(self, kind: str, data: bytes) -> Oid:
        """Store an object and return its id."""


class Repository:
    """One store, open for reading; `committed` says what was done since the last reply, for an interrupt's message."""

    def __init__(self, path: str, git: pygit2.Repository, config: Config, caller: Caller) -> None:
        self.path = path
        self.caller = caller
        self.git = git
        self.config = config
        unreadable = 0 if config.find("scopes.formatVersion") is None else FORMAT_VERSION + 1
        self.format_version = config.find_integer("scopes.formatVersion", unreadable)
        self.lock = StoreLock(path, config.find_integer("scopes.lockTimeout", DEFAULT_TIMEOUT_SECONDS))
        self.durable = config.find("scopes.durability") != "fast"
        self.committed: str | None = None
        self._odb = git.odb
        self._objects = os.path.join(path, "objects")
        self._packs = pygit2.Odb()  # libgit2's own reader of loose objects would be asked for every packed one
        self._packs.add_backend(pygit2.OdbBackendPack(self._objects), 1)
        self._last_was_packed = True

    @cached_property
    def walker(self) -> pygit2.Repository:
        """A handle for libgit2's own walks over history, which its own reader of loose objects may never end."""
        git = pygit2.Repository(self.path, pygit2.enums.RepositoryOpenFlag.NO_SEARCH)
        git.odb.add_backend(LooseReader(self._objects), _BEFORE_LIBGIT2S_OWN)
        return git

    def require_writable(self) -> None:
        """Refuse to write into a store of a newer format.

        Raises:
            TooNew: always in such a store.
        """
        if self.format_version > FORMAT_VERSION:
            raise TooNew(
                f"the store has format {self.format_version}, this scopes writes format {FORMAT_VERSION}",
                hint="update scopes; reading what this version understands still works",
            )

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object.

        Raises:
            NotFound: the store has no such object.
            Corrupt: the object is there and damaged.
        """
        try:
            found = self._find(oid)
        except (pygit2.GitError, ValueError) as error:
            raise _damage(oid) from error
        except OSError as error:
            raise refusal(f"read object {oid}", self.path, error) from error
        if found is None:
            raise NotFound(f"object {oid} is not in the store", hint="see: scopes verify")
        return found

    def _find(self, oid: Oid) -> tuple[str, bytes] | None:
        """Look among the packs first where the object before was there: neighbours lie together, and a miss is dear.

        The packs also come last, since what was loose a moment ago may be packed by now.
        """
        found = self._find_packed(oid) if self._last_was_packed else None
        if found is None:
            if not is_oid(oid):
                raise _damage(oid)
            found = find_loose(self._objects, oid)
            self._last_was_packed = found is None
        return found or self._find_packed(oid)

    def _find_packed(self, oid: Oid) -> tuple[str, bytes] | None:
        if len(oid) != _OID_LENGTH:
            return None  # to libgit2 a shorter one is the beginning of some object's
        try:
            code, data = self._packs.read(oid)
        except KeyError:
            return None
        return KINDS[code], data

    def has(self, oid: Oid) -> bool:
        """Tell whether the object is in the store."""
        return self._odb.exists(oid)

    def write(self, kind: str, data: bytes) -> Oid:
        """Store one loose object and return its id.

        Raises:
            Inaccessible: disk full, read-only, permission.
        """
        for tries_left in reversed(range(_TRIES)):
            try:
                return Oid(str(self.git.write(CODES[kind], data)))
            except (pygit2.GitError, OSError, ValueError) as error:
                # A plain git that repacks beside us takes a directory away between two steps of ours.
                if not (tries_left and is_missing(error)):
                    raise refusal("write to the store", self.path, error, writing=True) from error
        raise AssertionError  # the last try has returned or raised

    def find_ref(self, name: str) -> str | None:
        """Return what a ref points at (`ref: <name>` when symbolic), or None."""
        value, pending = self._consistently(lambda: self.raw_ref(name))
        return pending.get(name, value)

    def list_refs(self, *prefixes: str) -> dict[str, str]:
        """Return every ref below the prefixes (all of them when none is given) with its value, sorted by name."""
        seen, pending = self._consistently(lambda: self._raw_refs(prefixes))
        seen.pop(names.PENDING, None)
        return _overlaid(seen, pending, prefixes) if pending else seen

    def raw_ref(self, name: str) -> str | None:
        """Return a ref's value on disk, without looking at the marker."""
        try:
            reference = self.git.references.get(name)
        except (pygit2.GitError, ValueError) as error:
            raise Corrupt(f"the ref {name} is damaged", hint="see: scopes verify") from error
        except OSError as error:
            raise refusal(f"read the ref {name}", self.path, error) from error
        return None if reference is None else _value(reference)

    def ref_files(self, *prefixes: str) -> RefFiles:
        """Return what the files of refs say, without looking at the marker."""
        try:
            return read_ref_files(self.path, prefixes)
        except OSError as error:
            raise refusal("read the refs", self.path, error) from error

    def _raw_refs(self, prefixes: tuple[str, ...]) -> dict[str, str]:
        prefixes = prefixes or ("refs/",)
        return self.ref_files(*prefixes).list_refs(prefixes)

    def _consistently(self, look: Callable[[], _Seen]) -> tuple[_Seen, dict[str, str | None]]:
        """Look until nothing moved several refs meanwhile; return also what a pending operation says."""
        while True:
            before = self._standing()
            seen = look()
            if self._standing() == before:
                pending = self.find_pending(*before[:2])
                return seen, {} if pending is None else _values_after(*pending)

    def _standing(self) -> tuple[str | None, str | None, tuple[int, int] | None]:
        """Return what differs once refs may have moved under a reader.

        The marker comes first and the operation log second: an operation that began and ended between two looks has
        left no marker, but has advanced the log before it took the marker away. Packing moves refs from their files
        into `packed-refs`, so a reader that has listed one before and reads the other after misses them.
        """
        marker, operations = self.raw_ref(names.PENDING), self.raw_ref(names.OPERATIONS)
        try:
            status = os.stat(os.path.join(self.path, "packed-refs"))
        except OSError:
            return marker, operations, None
        return marker, operations, (status.st_ino, status.st_mtime_ns)

    def find_pending(self, marker: str | None, operations: str | None) -> tuple[Oid, Operation] | None:
        """Return the operation whose refs still have to move, given the marker and the log's tip.

        A marker whose operation the log holds came back from the dead (a power cut, or a plain `git pack-refs` beside
        us): the operation was finished long ago.
        """
        if marker is None or marker == operations:
            return None
        operation = read_operation(self, Oid(marker))
        with contextlib.suppress(pygit2.GitError, Corrupt):  # damage further down the log: what the marker says holds
            if operations and self.walker.descendant_of(pygit2.Oid(hex=operations), pygit2.Oid(hex=marker)):
                return None
        return Oid(marker), operation


def open_repository(
    path: str, overrides: Mapping[str, Setting] | None = None, caller: Caller | None = None
) -> Repository:
    """Open a store; `overrides` are the settings of the environment and the flags.

    Raises:
        NotFound: there is none at `path`.
        Corrupt: it is something else, or a kind of repository that libgit2 cannot read.
        Inaccessible: permission, or another user's store.
    """
    if not is_store(path):
        if os.path.lexists(path) and not (os.path.isdir(path) and not os.listdir(path)):
            raise Corrupt(f"{path} is no scopes store", hint="name the store with --store, or make one: scopes init")
        raise NotFound(f"there is no store at {path} yet", hint="make one: scopes init, or: scopes conversations new")
    _shield_from_unreadable_home()
    try:
        git = pygit2.Repository(path, pygit2.enums.RepositoryOpenFlag.NO_SEARCH)
    except (pygit2.GitError, OSError) as error:
        raise _cannot_open(path, error) from error
    git.set_ident("scopes", "scopes@systems.scopes")
    repository = Repository(path, git, Config(git.config, overrides or {}, path), caller or Caller())
    pygit2.settings.enable_fsync_gitdir(repository.durable)
    return repository


def _cannot_open(path: str, error: Exception) -> Exception:
    text = str(error).replace(path, "").lower()
    if "owner" in text or "owned" in text:
        hint = f"if you trust it: git config --global --add safe.directory {path}"
        return Inaccessible(f"the store {path} belongs to another user", hint=hint)
    if any(word in text for word in ("extension", "objectformat", "refstorage", "sha256", "repositoryformatversion")):
        hint = "SHA-256, reftable and partial-clone repositories are not supported"
        return Corrupt(f"the store {path} is a kind of git repository that cannot be opened", hint=hint)
    malformed = _MALFORMED_CONFIGURATION.search(str(error))
    if malformed is not None:
        file, line = malformed.groups()
        hint = f"correct it: git config --file {file} --edit"
        return Corrupt(f"the configuration file {file} is malformed in line {line}", hint=hint)
    return refusal(f"open the store {path}", path, error)


def _shield_from_unreadable_home() -> None:
    """Keep libgit2 from failing on a home directory that this process may not read."""
    level = pygit2.enums.ConfigLevel.GLOBAL
    home = pygit2.settings.search_path[level]
    if any(part and os.path.isdir(part) and not os.access(part, os.X_OK) for part in home.split(os.pathsep)):
        pygit2.settings.search_path[level] = ""


def read_data(objects: Objects, oid: Oid, kind: str) -> bytes:
    """Read an object of a kind, or raise NotFound or Corrupt."""
    found, data = objects.read(oid)
    if found != kind:
        raise Corrupt(f"object {oid} should be a {kind}", hint="see: scopes verify")
    return data


def read_commit(objects: Objects, oid: Oid) -> Commit:
    """Read a commit, or raise NotFound or Corrupt."""
    return parse_commit(oid, read_data(objects, oid, COMMIT))


def read_tip(objects: Objects, oid: Oid) -> Tip:
    """Read of a commit only its tree and time, or raise NotFound or Corrupt."""
    return parse_tip(oid, read_data(objects, oid, COMMIT))


def read_tree(objects: Objects, oid: Oid) -> dict[str, Entry]:
    """Read a tree's entries by name, or raise NotFound or Corrupt."""
    return parse_tree(read_data(objects, oid, TREE))


def read_operation(objects: Objects, commit: Oid) -> Operation:
    """Read the record of an operation, or raise NotFound or Corrupt."""
    entry = read_tree(objects, read_commit(objects, commit).tree).get(OPERATION_FILE)
    if entry is None:
        raise Corrupt(f"commit {commit} should be an operation", hint="see: scopes verify")
    return decode_operation(objects.read(entry.oid)[1])


def _damage(oid: Oid) -> Corrupt:
    what = f"object {oid} is damaged" if is_oid(oid) else f"{oid!a} should be the id of an object"
    return Corrupt(what, hint="see: scopes verify")


def _values_after(commit: Oid, operation: Operation) -> dict[str, str | None]:
    return {names.OPERATIONS: commit} | {change.ref: change.new for change in operation.changes}


def _value(reference: pygit2.Reference) -> str:
    target = reference.target
    return names.SYMBOLIC + target if isinstance(target, str) else str(target)


def _overlaid(seen: dict[str, str], new: dict[str, str | None], prefixes: tuple[str, ...]) -> dict[str, str]:
    merged: dict[str, str | None] = {**seen, **{k: v for k, v in new.items() if k.startswith(prefixes or ("refs/",))}}
    return {name: value for name, value in sorted(merged.items()) if value is not None}


def library_versions() -> str:
    """Name the versions of pygit2 and libgit2."""
    return f"pygit2 on libgit2 {pygit2.LIBGIT2_VERSION}"
