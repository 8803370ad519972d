"""Import pygit2 without `ssl`: loading all certificates of the system takes 18 ms of each command.

scopes uses no network through libgit2. While pygit2 is imported, a stub of `ssl` answers the one question that pygit2
asks, where the certificates are, with a directory that is read only when needed. Every module of this package imports
pygit2 from here; a test checks in a fresh process that `ssl` is not imported.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import NamedTuple

__all__ = [
    "OPEN_EXACTLY_HERE",
    "library_versions",
    "limit_mapped_packs",
    "limit_memory",
    "pygit2",
    "skip_unreadable_home",
]
_WINDOW_BYTES = 1 << 20
_MAPPED_BYTES = 8 << 20


class DefaultVerifyPaths(NamedTuple):
    """The two fields of `ssl.DefaultVerifyPaths` that pygit2 reads."""

    cafile: str | None = None
    capath: str | None = "/etc/ssl/certs"


class _Stub(ModuleType):
    DefaultVerifyPaths = DefaultVerifyPaths
    get_default_verify_paths = DefaultVerifyPaths


_ssl = sys.modules.setdefault("ssl", _Stub("ssl"))
try:
    import pygit2
finally:
    if isinstance(_ssl, _Stub):
        del sys.modules["ssl"]

# Otherwise libgit2 prefers a repository `.git` inside the store.
OPEN_EXACTLY_HERE = pygit2.enums.RepositoryOpenFlag.NO_SEARCH | pygit2.enums.RepositoryOpenFlag.NO_DOTGIT


def skip_unreadable_home() -> None:
    """Keep libgit2 from failing if this process may not read the home directory."""
    level = pygit2.enums.ConfigLevel.GLOBAL
    home = pygit2.settings.search_path[level]
    if any(part and os.path.isdir(part) and not os.access(part, os.X_OK) for part in home.split(os.pathsep)):
        pygit2.settings.search_path[level] = ""


def limit_mapped_packs() -> None:
    """Limit how much of each pack libgit2 maps into the memory of this process from now on: by default whole packs."""
    pygit2.settings.mwindow_size, pygit2.settings.mwindow_mapped_limit = _WINDOW_BYTES, _MAPPED_BYTES


def limit_memory() -> None:
    """Limit the memory of libgit2 for a command that reads the whole store, once: no copies of commits and trees."""
    limit_mapped_packs()
    pygit2.settings.enable_caching(False)


def library_versions() -> str:
    """Return the names and versions of the git libraries."""
    return f"pygit2 on libgit2 {pygit2.LIBGIT2_VERSION}"
