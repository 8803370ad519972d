"""A private git directory in the store for what comes from a remote, until it was checked.

Git never reads the configuration, hooks or refs of the store: it runs in this directory with a configuration written
here. New packs go here, and the objects of the store are there to read (`info/alternates`). The directory is locked as
long as its process or a git that it started lives; `gc` and the next one remove those of dead processes.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from typing import Final

from scopes.errors import Corrupt
from scopes.ids import Oid
from scopes.regular_file import sync
from scopes.store.libgit2 import pygit2, translated
from scopes.store.locks import unwound
from scopes.store.repository import KINDS, Prunes, Repository
from scopes.store.trees import UnwrittenObjects

QUARANTINE_PREFIX: Final = "scopes-incoming-"
_LOCK: Final = "lock"
_PACKED_REFS: Final = "packed-refs"
_CONFIG: Final = """\
[core]
	repositoryFormatVersion = 0
	bare = true
	hooksPath = /dev/null
	attributesFile = /dev/null
	fsmonitor = false
[gc]
	auto = 0
[maintenance]
	auto = false
"""
_HEADER: Final = "# pack-refs with: peeled fully-peeled sorted \n"
_OPEN: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Quarantine:
    """One quarantine; `lock` is the descriptor that a git process inherits.

    `prunes` knows what was deleted from the store since it was opened, or earlier: what came may need it.
    """

    def __init__(self, path: str, lock: int, prunes: Prunes) -> None:
        self.path = path
        self.lock = lock
        self.prunes = prunes

    @property
    def pack_directory(self) -> str:
        """Where the new packs are."""
        return os.path.join(self.path, "objects", "pack")

    def set_known(self, known: Mapping[str, Oid]) -> None:
        """Replace the refs that git finds, so that what they reach is not sent again, nor a ref made with its value.

        Raises:
            Inaccessible: the disk failed.
        """
        path = os.path.join(self.path, _PACKED_REFS)
        with translated("prepare a directory for git", self.path):
            os.unlink(path)
            _write_refs(self.path, known)

    def list_packs(self) -> list[str]:
        """Return the paths of the new packs, without their ending, sorted."""
        names = sorted(os.listdir(self.pack_directory))
        return [os.path.join(self.pack_directory, name[:-5]) for name in names if name.endswith(".pack")]

    def link_packs(self, store: str, *, durable: bool) -> int:
        """Add the new packs to the store and return their number; call it under the exclusive lock of the store.

        A reader finds a pack by its index, which comes last.

        Raises:
            Inaccessible: the disk failed; what was added is not used by any ref.
        """
        target = os.path.join(store, "objects", "pack")
        packs = self.list_packs()
        with translated("add packs to the store", store):
            for pack in packs:
                for ending in (".pack", ".idx"):
                    if durable:
                        sync(pack + ending)
                    with suppress(FileExistsError):  # the name is the hash of the content
                        os.link(pack + ending, os.path.join(target, os.path.basename(pack) + ending))
            if durable and packs:
                sync(target)
        return len(packs)


@contextmanager
def open_quarantine(store: str, known: Mapping[str, Oid], *, borrows: bool = True) -> Iterator[Quarantine]:
    """Make a quarantine in a store, and remove it at the end of the block, also if SIGTERM ends the process in it.

    known: refs that git finds in it, so that what they reach is not sent again; their names begin with `refs/`
    borrows: whether the objects of the store can be read in it

    Raises:
        Inaccessible: the disk failed.
    """
    prunes = Prunes(store)
    with unwound(), _directory(store) as (path, lock):
        with translated("prepare a directory for git", store):
            _fill(path, known, borrows=borrows)
        yield Quarantine(path, lock, prunes)


@contextmanager
def _directory(store: str) -> Iterator[tuple[str, int]]:
    """Make a directory and lock it, and remove it at the end of the block."""
    mask = os.umask(0o077)
    try:
        with translated("prepare a directory for git", store):
            from tempfile import mkdtemp

            path: str = mkdtemp(prefix=QUARANTINE_PREFIX, dir=store)
            lock = os.open(os.path.join(path, _LOCK), _OPEN, 0o600)
    finally:
        os.umask(mask)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield path, lock
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _fill(path: str, known: Mapping[str, Oid], *, borrows: bool) -> None:
    for name in ("objects/info", "objects/pack", "refs"):
        os.makedirs(os.path.join(path, name), mode=0o700)
    if borrows:
        _write(os.path.join(path, "objects", "info", "alternates"), "../../objects\n")
    _write_refs(path, known)
    _write(os.path.join(path, "config"), _CONFIG)
    _write(os.path.join(path, "HEAD"), "ref: refs/heads/scopes-none\n")


def _write_refs(path: str, known: Mapping[str, Oid]) -> None:
    lines = (f"{known[name]} {name}\n" for name in sorted(known))
    _write(os.path.join(path, _PACKED_REFS), _HEADER + "".join(lines))


def _write(path: str, text: str) -> None:
    with open(path, "x", encoding="utf-8") as file:
        file.write(text)


def list_abandoned(store: str) -> list[str]:
    """Return the names of the quarantines in a store whose processes have ended, sorted."""
    with suppress(OSError):
        names = sorted(name for name in os.listdir(store) if name.startswith(QUARANTINE_PREFIX))
        return [name for name in names if not is_in_use(os.path.join(store, name))]
    return []


def is_in_use(path: str) -> bool:
    """Return True if somebody holds the lock of a quarantine; one that is being made has no lock yet."""
    try:
        descriptor = os.open(os.path.join(path, _LOCK), _OPEN & ~os.O_CREAT)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


_ERRORS: Final = (KeyError, ValueError, pygit2.GitError)


class ReceivedObjects(UnwrittenObjects):
    """Reads objects of a quarantine, else of the store; what is written stays in memory, in `written`.

    Git has checked the packs before.
    """

    def __init__(self, repository: Repository, quarantine: Quarantine) -> None:
        super().__init__(repository)
        with translated("read the new packs", quarantine.path):
            # not through libgit2's object database, which takes half as long again
            packs = pygit2.OdbBackendPack(os.path.join(quarantine.path, "objects"))
        self._read_packed, self._read_header = packs.read, packs.read_header
        self._new = {Oid(str(oid)): None for oid in packs}

    @property
    def new(self) -> AbstractSet[Oid]:
        """The ids of all objects that came from the remote, pack by pack; the store may have some of them, too."""
        return self._new.keys()

    def is_new(self, oid: Oid) -> bool:
        """Return True if an object came from the remote; the store may have it, too."""
        return oid in self._new

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound or Corrupt."""
        if oid not in self._new:
            return super().read(oid)
        try:
            code, data = self._read_packed(oid)
        except _ERRORS as error:
            raise _damaged(oid) from error
        return KINDS[code], data

    def read_header(self, oid: Oid) -> tuple[str, int]:
        """Return kind and size of a new object, which is not inflated for that, or raise Corrupt."""
        try:
            code, size = self._read_header(oid)
        except _ERRORS as error:
            raise _damaged(oid) from error
        return KINDS[code], size


def _damaged(oid: Oid) -> Corrupt:
    return Corrupt(f"object {oid} from the remote cannot be read", hint="it may be hostile")
