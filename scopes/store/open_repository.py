"""Open a store: it must belong to this user, as git demands (`safe.directory`); say why one cannot be opened.

What another person made comes in by `fetch`, `clone` or a bundle. What is in a store of this user was written by scopes
or by this user, and is trusted.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Container, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryDirectory, gettempdir

from scopes.errors import Corrupt, Inaccessible, NotFound, Refused
from scopes.store.config import Config, Setting
from scopes.store.init import FORMAT_VERSION, create_store, is_config_damaged, is_store
from scopes.store.libgit2 import OPEN_EXACTLY_HERE, REPAIR, pygit2, refusal, skip_unreadable_home, translated
from scopes.store.locks import LOCK_FILE, TURNSTILE_FILE
from scopes.store.repository import Caller, RecentObjects, Repository


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
        if os.path.lexists(path) and not (os.path.isdir(path) and not os.listdir(path)):
            if is_store(path):  # another process has created it since the first look
                return open_repository(path, overrides, caller)
            if is_config_damaged(path):
                raise Corrupt(f"the configuration of the store {path} is damaged", hint=REPAIR)
            raise Corrupt(
                f"{path} is not a scopes store", hint="choose the store with --store, or create one: scopes init"
            )
        raise NotFound(f"there is no store at {path} yet", hint="create one: scopes import, or: scopes new")
    check_owner(path)
    return open_unchecked(path, overrides, caller)


def open_unchecked(
    path: str, overrides: Mapping[str, Setting] | None = None, caller: Caller | None = None
) -> Repository:
    """Open a store that consists of links to an open one; raises as `open_repository` does."""
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

    Raises:
        Inaccessible: it belongs to another user; this holds for the superuser too.
    """
    if os.stat(path).st_uid != os.geteuid() and not _is_trusted(path):
        raise _foreign(path)


def _is_trusted(path: str) -> bool:
    """Return True if `safe.directory` of the user's or the system's git names a directory."""
    try:
        trusted = set(pygit2.config.DefaultConfig().get_multivar("safe.directory"))
    except (pygit2.GitError, OSError, ValueError):
        return False
    return not trusted.isdisjoint({"*", path, os.path.realpath(path)})


def _foreign(path: str) -> Inaccessible:
    hint = f"if you trust it: git config --global --add safe.directory {shlex.quote(path)}"
    return Inaccessible(f"the store {path} belongs to another user", hint=hint)


def _cannot_open(path: str, error: Exception) -> Exception:
    if not os.path.isfile(os.path.join(path, "HEAD")):
        return Corrupt(f"the file HEAD of the store {path} is missing", hint=REPAIR)
    text = str(error).replace(path, "").lower()
    if "owner" in text or "owned" in text:
        return _foreign(path)
    if any(word in text for word in ("extension", "objectformat", "refstorage", "sha256", "repositoryformatversion")):
        hint = "SHA-256, reftable and partial-clone repositories are not supported"
        return Corrupt(f"the store {path} is a kind of git repository that cannot be opened", hint=hint)
    return refusal(f"open the store {path}", path, error)


_PACKS = ("objects", "pack")
_NOT_SYNCED = {"scopes.durability": Setting("scopes.durability", "fast", "flag")}
_MEMORY_BYTES = 32 << 20  # what is imported into an empty store is read next
_NOT_LINKED = {"objects", LOCK_FILE, TURNSTILE_FILE}


@contextmanager
def overlay_of(repository: Repository) -> Iterator[Repository]:
    """Open an overlay over a store for the duration of a block; the store itself may be read-only.

    Raises:
        Inaccessible: temporary files cannot be written.
    """
    with ExitStack() as stack:
        with translated("make a temporary store", gettempdir()):
            path = stack.enter_context(TemporaryDirectory(prefix="scopes-"))
            os.makedirs(os.path.join(path, *_PACKS))
            _link_entries(repository.path, path, _NOT_LINKED)
            _link_entries(os.path.join(repository.path, _PACKS[0]), os.path.join(path, _PACKS[0]), {_PACKS[1]})
            _link_entries(os.path.join(repository.path, *_PACKS), os.path.join(path, *_PACKS))
        overlay = open_unchecked(path)
        overlay.caller = repository.caller
        yield overlay


@contextmanager
def empty_store() -> Iterator[Repository]:
    """Open an empty temporary store for the duration of a block: the preview of a command whose store does not exist.

    Nothing in it is synced to the disk, because it is deleted anyway.

    Raises:
        Inaccessible: temporary files cannot be written.
    """
    with TemporaryDirectory(prefix="scopes-") as directory:
        path = os.path.join(directory, "store")
        create_store(path, durable=False)
        try:
            repository = open_repository(path, _NOT_SYNCED)
            repository.recent = RecentObjects(_MEMORY_BYTES, keeps_packed=True)
            yield repository
        finally:
            pygit2.settings.enable_fsync_gitdir(True)  # the setting belongs to the process


def _link_entries(source: str, target: str, excluded: Container[str] = ()) -> None:
    for name in os.listdir(source):
        if name not in excluded:
            os.symlink(os.path.join(os.path.abspath(source), name), os.path.join(target, name))
