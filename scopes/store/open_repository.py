"""Open a store: check its files first, and say why one cannot be opened."""

from __future__ import annotations

import os
from collections.abc import Mapping

from scopes.errors import Corrupt, Inaccessible, NotFound, Refused
from scopes.store.config import Config, Setting
from scopes.store.containment import check_self_contained
from scopes.store.error_translation import refusal
from scopes.store.file_checks import check_store_files
from scopes.store.init import FORMAT_VERSION, is_store
from scopes.store.libgit2 import OPEN_EXACTLY_HERE, pygit2, skip_unreadable_home
from scopes.store.repository import Caller, Repository


def open_repository(
    path: str, overrides: Mapping[str, Setting] | None = None, caller: Caller | None = None
) -> Repository:
    """Open a store; `overrides` are settings from environment variables and flags.

    Raises:
        NotFound: there is no store at `path`.
        Corrupt: `path` is not a store, or a kind of repository that libgit2 cannot read, or one of its files is not a
            regular file.
        Inaccessible: permission denied, or the store belongs to another user.
        Refused: the store reaches outside itself, or an earlier version of scopes wrote it.
    """
    if not is_store(path):
        if os.path.lexists(path) and not (os.path.isdir(path) and not os.listdir(path)):
            if is_store(path):  # another process has created it since the first look
                return open_repository(path, overrides, caller)
            raise Corrupt(
                f"{path} is not a scopes store", hint="choose the store with --store, or create one: scopes init"
            )
        raise NotFound(f"there is no store at {path} yet", hint="create one: scopes import, or: scopes new")
    check_self_contained(path)
    return open_unchecked(path, overrides, caller)


def open_unchecked(
    path: str, overrides: Mapping[str, Setting] | None = None, caller: Caller | None = None
) -> Repository:
    """Open a store that consists of links to an open one; raises as `open_repository` does."""
    skip_unreadable_home()
    try:
        check_store_files(path)
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


def _cannot_open(path: str, error: Exception) -> Exception:
    text = str(error).replace(path, "").lower()
    if "owner" in text or "owned" in text:
        hint = f"if you trust it: git config --global --add safe.directory {path}"
        return Inaccessible(f"the store {path} belongs to another user", hint=hint)
    if any(word in text for word in ("extension", "objectformat", "refstorage", "sha256", "repositoryformatversion")):
        hint = "SHA-256, reftable and partial-clone repositories are not supported"
        return Corrupt(f"the store {path} is a kind of git repository that cannot be opened", hint=hint)
    return refusal(f"open the store {path}", path, error)
