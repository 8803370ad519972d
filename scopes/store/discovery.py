"""Find the store that a command means, and list its conversations and branches, with `os` alone.

Completion uses this module and has five milliseconds: nothing is opened or checked, and what cannot be read is treated
as empty. `repository` reads the same refs with checks.
"""

from __future__ import annotations

import os

from scopes.store.packed_refs import parse_packed_refs, read_packed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_HEADS = "refs/heads/"
_TAIL_BYTES = 16_384


def choose_store(*, explicit: str | None, environment: str | None, cwd: str, data_home: str) -> str:
    """Return the path of the store to use: from `--store`, SCOPES_STORE, the project or the user, in this order.

    The path need not exist. The project's store is `<git common dir>/scopes` of the enclosing repository, if
    `scopes init` created one there.
    """
    for path in (explicit, environment):
        if path:
            return os.path.abspath(os.path.join(cwd, os.path.expanduser(path)))
    project = find_project_store(cwd)
    if project is not None and os.path.isdir(os.path.join(project, "objects")):
        return project
    return os.path.join(data_home, "scopes", "store.git")


def find_project_store(cwd: str) -> str | None:
    """Return the path of the store of the enclosing git repository, existing or not; None outside a repository."""
    directory = os.path.abspath(cwd)
    while True:
        dot_git = os.path.join(directory, ".git")
        if os.path.isdir(dot_git):
            return os.path.join(dot_git, "scopes")
        if os.path.isfile(dot_git):
            return os.path.join(_common_directory(dot_git), "scopes")
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent


def _common_directory(dot_git: str) -> str:
    """Follow the `.git` file of a worktree or submodule to the directory that all worktrees share."""
    git_directory = os.path.join(os.path.dirname(dot_git), _first_line(dot_git).removeprefix("gitdir:").strip())
    common = os.path.join(git_directory, "commondir")
    if os.path.isfile(common):
        git_directory = os.path.join(git_directory, _first_line(common))
    return os.path.normpath(git_directory)


def _first_line(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.readline().strip()


def data_home(environ: Mapping[str, str]) -> str:
    """Return the user's data directory; a relative XDG_DATA_HOME counts as unset (XDG base directories)."""
    path = environ.get("XDG_DATA_HOME", "")
    return path if os.path.isabs(path) else os.path.expanduser("~/.local/share")


def cache_home(environ: Mapping[str, str]) -> str:
    """Return the user's cache directory; a relative XDG_CACHE_HOME counts as unset."""
    path = environ.get("XDG_CACHE_HOME", "")
    return path if os.path.isabs(path) else os.path.expanduser("~/.cache")


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
