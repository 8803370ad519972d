"""Choose the store and the cache directory from options and environment, and list conversations, with `os` alone.

The command line and the Python API both choose with these functions.

Completion uses this module and has five milliseconds: nothing is opened or checked, and what cannot be read is treated
as empty. `repository` reads the same refs with checks.
"""

from __future__ import annotations

import os

from scopes.regular_file import read_regular
from scopes.store.packed_refs import parse_packed_refs, read_packed_refs
from scopes.store.projects import find_repository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_HEADS = "refs/heads/"
_TAIL_BYTES = 16_384
_MAX_CONFIGURATION_BYTES = 1 << 20


def choose_store(environ: Mapping[str, str], cwd: str, explicit: str | None = None) -> str:
    """Return the path of the store to use: `explicit`, SCOPES_STORE, the project's or the user's, in this order.

    The path need not exist. The project's store is `<git common dir>/scopes` of the enclosing repository, if
    `scopes init` created one there.
    """
    for path in (explicit, environ.get("SCOPES_STORE")):
        if path:
            return os.path.abspath(os.path.join(cwd, os.path.expanduser(path)))
    project = find_project_store(cwd)
    if project is not None and os.path.isdir(os.path.join(project, "objects")):
        return project
    return os.path.join(data_home(environ), "scopes", "store.git")


def find_project_store(cwd: str) -> str | None:
    """Return the path of the store of the enclosing git repository, existing or not; None outside a repository."""
    found = find_repository(cwd)
    return None if found is None else os.path.join(found[1], "scopes")


def data_home(environ: Mapping[str, str]) -> str:
    """Return the user's data directory; a relative XDG_DATA_HOME counts as unset (XDG base directories)."""
    path = environ.get("XDG_DATA_HOME", "")
    return path if os.path.isabs(path) else os.path.expanduser("~/.local/share")


def cache_directory(environ: Mapping[str, str]) -> str:
    """Return the cache directory of scopes, which may not exist; a relative XDG_CACHE_HOME counts as unset."""
    path = environ.get("XDG_CACHE_HOME", "")
    return os.path.join(path if os.path.isabs(path) else os.path.expanduser("~/.cache"), "scopes")


def index_directory(cache: str, store: str) -> str:
    """Return the directory of a store's index, in the cache directory of scopes."""
    import hashlib

    name = hashlib.sha256(os.path.realpath(store).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return os.path.join(cache, name)


def state_directory(environ: Mapping[str, str]) -> str:
    """Return the directory for logs and crash files, which may not exist; a relative XDG_STATE_HOME counts as unset."""
    path = environ.get("XDG_STATE_HOME", "")
    return os.path.join(path if os.path.isabs(path) else os.path.expanduser("~/.local/state"), "scopes")


def list_conversations(store: str) -> list[str]:
    """List the conversations that have a branch, sorted by name."""
    packed = {name.partition("/")[0] for name in _list_packed(store, _HEADS)}
    return sorted(packed.union(_subdirectories(os.path.join(store, _HEADS))))


def list_branches(store: str, conversation: str) -> list[str]:
    """List the branches of a conversation, sorted by name."""
    branches = set(_list_packed(store, f"{_HEADS}{conversation}/"))
    top = os.path.join(store, _HEADS, conversation)
    for directory, _, files in os.walk(top):
        branches.update(os.path.relpath(os.path.join(directory, f), top) for f in files if not f.endswith(".lock"))
    return sorted(branches)


def list_operations(store: str) -> list[tuple[str, str]]:
    """List the last operations, newest first: id and summary, from the reflog of the operation log."""
    try:
        with open(os.path.join(store, "logs", "refs", "scopes", "operations"), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return []
    found: list[tuple[str, str]] = []
    for line in reversed(lines):
        summary, bracket, name = line.partition("\t")[2].removesuffix("]").rpartition(" [")
        if bracket and name.isalnum():
            found.append((name, summary))
    return found


def may_user_have_set(environ: Mapping[str, str], *texts: bytes) -> bool:
    """Return False if the git configuration of the user and the system has none of some texts in lower case.

    A file that cannot be read or includes others may have them.
    """
    path = environ.get("XDG_CONFIG_HOME", "")
    user = path if os.path.isabs(path) else os.path.expanduser("~/.config")
    for name in ("/etc/gitconfig", os.path.join(user, "git", "config"), os.path.expanduser("~/.gitconfig")):
        try:
            content = read_regular(name, _MAX_CONFIGURATION_BYTES).lower()
        except FileNotFoundError:
            continue
        except OSError:
            return True
        if any(text in content for text in (b"[include", *texts)):
            return True
    return False


def _list_packed(store: str, prefix: str) -> list[str]:
    """Return the names of the refs in `packed-refs` that begin with the prefix, without it."""
    try:
        content = read_packed_refs(store)
    except OSError:
        return []
    return [name[len(prefix) :] for name in parse_packed_refs(content, (prefix,))]


def _subdirectories(path: str) -> list[str]:
    """Return the directories in `path` that are not empty: git leaves empty ones behind."""
    try:
        with os.scandir(path) as entries:
            return [entry.name for entry in entries if entry.is_dir() and os.listdir(entry.path)]
    except OSError:
        return []
