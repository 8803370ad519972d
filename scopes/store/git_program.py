"""Run the git program for what libgit2 cannot do, without the configuration and hooks of the store.

Git runs programs that a repository's configuration and hooks name, and new versions add new keys. So git never reads
the store's configuration: it runs in a private directory in the store with a configuration written here. For packing
that has the objects, refs and reflogs of the store. For what comes from a remote it is a quarantine: new packs go
there, and the objects of the store are there to read (`info/alternates`). A quarantine is locked as long as its process
or a git that it started lives; `gc` and the next one remove those of dead processes.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from typing import Final

from scopes.errors import Corrupt, Inaccessible
from scopes.ids import Oid
from scopes.regular_file import sync
from scopes.store.locks import unwound
from scopes.store.objects import KINDS, ObjectsInMemory, pygit2, translated
from scopes.store.repository import HEAD, Prunes, Repository

PRIVATE_PREFIX: Final = "scopes-git-"
QUARANTINE_PREFIX: Final = "scopes-incoming-"
_DIRECTORIES = ("objects", "refs", "logs")
_PACKED_REFS = "packed-refs"
_PACKED_HEADER: Final = "# pack-refs with: peeled fully-peeled sorted \n"
_LOCK: Final = "lock"
_UNREADABLE: Final = (KeyError, ValueError, pygit2.GitError)
_OPEN: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_CONFIG = """\
[core]
	repositoryFormatVersion = 0
	bare = true
	logAllRefUpdates = always
	hooksPath = /dev/null
	attributesFile = /dev/null
	fsmonitor = false
	# By default git does not sync packed-refs, but removes the loose refs that it wrote there.
	fsync = all
	fsyncMethod = fsync
[gc]
	auto = 0
	writeCommitGraph = false
[maintenance]
	auto = false
"""
_NO_TRANSPORT = "[protocol]\n\tallow = never\n"


def find_git() -> str | None:
    """Return the path of the git program, or None.

    Only absolute directories of PATH are searched: the current one may be a project that somebody else wrote.
    """
    directories = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))
    return shutil.which("git", path=os.pathsep.join(directories))


def run_git(
    store: str,
    *arguments: str,
    settings: Sequence[str] = (),
    lock: int | None = None,
    check: bool = True,
    reads: bool = False,
    stdin: str = "",
    actor: tuple[str | None, str | None] = (None, None),
) -> str:
    """Run git on a store and return its output; `settings` are `key=value` pairs for this run.

    `actor` are name and address for the reflogs. `lock` is the descriptor of the held lock. Git inherits it: if this
    process is killed, the store stays locked until git has ended.

    `reads` leaves the store as it is, which may be on a full or read-only disk. Without `check` the output includes
    what git reports on standard error, and git may fail.

    Raises:
        Inaccessible: the git program is not installed, or it failed.
    """
    program = find_git()
    if program is None:
        raise Inaccessible("the git program is not installed", hint="install git; it is needed for gc")
    options = [word for setting in settings for word in ("-c", setting)]
    with private_directory(store, in_store=not reads) as directory:
        done = subprocess.run(
            [program, "--no-pager", *options, *arguments],
            cwd=directory,
            env=git_environment(directory) | _identity(actor),
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            pass_fds=() if lock is None else (lock,),
        )
    if not check:
        return done.stdout + done.stderr
    if done.returncode != 0:
        last_line = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Inaccessible(f"git {arguments[0]} failed: {last_line}", hint="check the disk's space; nothing was lost")
    return done.stdout


def _identity(actor: tuple[str | None, str | None]) -> dict[str, str]:
    name, address = actor
    return {"GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": address} if name and address else {}


def git_environment(directory: str) -> dict[str, str]:
    """Return the environment in which git reads no other configuration than that in its private directory."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return environment | {
        "GIT_DIR": directory,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",  # a ref below refs/replace may make git read another object
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "LC_ALL": "C",
    }


@contextmanager
def private_directory(store: str, *, in_store: bool = True) -> Iterator[str]:
    """Create a git directory that has the objects, refs and reflogs of a store, and not its configuration or hooks.

    It is in the store, so that the next gc finds it if this process is killed, or among the temporary files.

    Raises:
        Inaccessible: it cannot be created.
    """
    with translated("prepare a directory for git", store):
        if in_store:
            with suppress(FileExistsError):
                os.mkdir(os.path.join(store, "logs"), 0o700)
        from tempfile import mkdtemp

        path: str = mkdtemp(prefix=PRIVATE_PREFIX, dir=store if in_store else None)
    try:
        with translated("prepare a directory for git", store):
            _write(os.path.join(path, "config"), _CONFIG + _NO_TRANSPORT)
            _write(os.path.join(path, "HEAD"), HEAD)
            for name in (*_DIRECTORIES, _PACKED_REFS):
                os.symlink(os.path.join(os.path.abspath(store), name), os.path.join(path, name))
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _write(path: str, text: str) -> None:
    with open(path, "x", encoding="utf-8") as file:
        file.write(text)


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
    _write(os.path.join(path, "HEAD"), HEAD)


def _write_refs(path: str, known: Mapping[str, Oid]) -> None:
    lines = (f"{known[name]} {name}\n" for name in sorted(known))
    _write(os.path.join(path, _PACKED_REFS), _PACKED_HEADER + "".join(lines))


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


class ReceivedObjects(ObjectsInMemory):
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
        except _UNREADABLE as error:
            raise _damaged(oid) from error
        return KINDS[code], data

    def read_header(self, oid: Oid) -> tuple[str, int]:
        """Return kind and size of a new object, which is not inflated for that, or raise Corrupt."""
        try:
            code, size = self._read_header(oid)
        except _UNREADABLE as error:
            raise _damaged(oid) from error
        return KINDS[code], size


def _damaged(oid: Oid) -> Corrupt:
    return Corrupt(f"object {oid} from the remote cannot be read", hint="it may be hostile")
