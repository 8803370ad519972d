"""Which store is meant and which names are in it, read with `os` alone, for completion, which has five milliseconds.

Nothing is opened or checked here; what cannot be read has no names. `repository` is the careful reader.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_HEADS = "refs/heads/"


def choose_store(*, explicit: str | None, environment: str | None, cwd: str, data_home: str) -> str:
    """Return the path of the store that is meant: `--store`, then SCOPES_STORE, then the project's, then the user's.

    The path need not exist. The project's store is `<git common dir>/scopes` of the enclosing repository, where
    `scopes init` made one.
    """
    for named in (explicit, environment):
        if named:
            return os.path.abspath(os.path.join(cwd, os.path.expanduser(named)))
    project = find_project_store(cwd)
    if project is not None and os.path.isdir(os.path.join(project, "objects")):
        return project
    return os.path.join(data_home, "scopes", "store.git")


def find_project_store(cwd: str) -> str | None:
    """Return where the enclosing git repository keeps, or would keep, a store; None outside a repository."""
    directory = os.path.abspath(cwd)
    while True:
        marker = os.path.join(directory, ".git")
        if os.path.isdir(marker):
            return os.path.join(marker, "scopes")
        if os.path.isfile(marker):
            return os.path.join(_common_directory(marker), "scopes")
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent


def _common_directory(marker: str) -> str:
    """Follow a worktree's or submodule's `.git` file to the directory that all worktrees share."""
    here = os.path.dirname(marker)
    git_directory = os.path.join(here, _first_line(marker).removeprefix("gitdir:").strip())
    pointer = os.path.join(git_directory, "commondir")
    if os.path.isfile(pointer):
        git_directory = os.path.join(git_directory, _first_line(pointer))
    return os.path.normpath(git_directory)


def _first_line(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.readline().strip()


def data_home(environ: Mapping[str, str]) -> str:
    """Return the user's data directory; a relative XDG_DATA_HOME counts as unset (XDG base directories)."""
    named = environ.get("XDG_DATA_HOME", "")
    return named if os.path.isabs(named) else os.path.expanduser("~/.local/share")


def cache_home(environ: Mapping[str, str]) -> str:
    """Return the user's cache directory, by the same rule."""
    named = environ.get("XDG_CACHE_HOME", "")
    return named if os.path.isabs(named) else os.path.expanduser("~/.cache")


def list_conversations(store: str) -> list[str]:
    """List the conversations that have a branch, sorted by name."""
    found = {name.partition("/")[0] for name in _packed(store)}
    return sorted(found.union(_subdirectories(os.path.join(store, _HEADS))))


def list_branches(store: str, conversation: str) -> list[str]:
    """List the branches of a conversation, sorted by name."""
    prefix = conversation + "/"
    found = {name[len(prefix) :] for name in _packed(store) if name.startswith(prefix)}
    top = os.path.join(store, _HEADS, conversation)
    for directory, _, files in os.walk(top):
        found.update(os.path.relpath(os.path.join(directory, f), top) for f in files if not f.endswith(".lock"))
    return sorted(found)


def _packed(store: str) -> list[str]:
    """Return the branch names of `packed-refs`, without `refs/heads/`."""
    try:
        with open(os.path.join(store, "packed-refs"), encoding="utf-8", errors="replace") as file:
            words = [line.rstrip("\n").partition(" ")[2] for line in file]
    except OSError:
        return []
    return [word[len(_HEADS) :] for word in words if word.startswith(_HEADS)]


def _subdirectories(path: str) -> list[str]:
    """Return the directories in `path` that are not empty: git leaves empty ones behind."""
    try:
        with os.scandir(path) as entries:
            return [entry.name for entry in entries if entry.is_dir() and os.listdir(entry.path)]
    except OSError:
        return []
