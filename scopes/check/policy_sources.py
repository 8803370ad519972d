"""Where a policy and the policies that it extends are read from: files of the working tree, or files of one commit.

All files of a policy come from the same source and from below one directory: an agent that can write to the working
tree must not change what a policy of a commit extends.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable
from typing import Protocol

from scopes.errors import Corrupt, Inaccessible, Invalid, NotFound, ScopesError
from scopes.regular_file import read_regular
from scopes.store.git_program import ask_git, find_git, git_environment
from scopes.store.projects import find_worktree

_MAX_BYTES = 1 << 20
_RULE = "give a path relative to this file, inside the repository"


class PolicySource(Protocol):
    """Files of a policy; `path` is that of the policy itself."""

    path: str

    def locate(self, base: str, written: str) -> str:
        """Return the path of a file as the file `base` writes it; raise Invalid if it is outside the repository."""

    def read(self, path: str) -> str:
        """Return the text of a file; raise Invalid if it is not there or cannot be read."""

    def show(self, path: str) -> str:
        """Return the name of a file for messages."""


class NoFiles:
    """The source of a policy that was not read from a file: it cannot extend another."""

    def __init__(self, path: str) -> None:
        self.path = path

    def locate(self, base: str, written: str) -> str:
        """Raise Invalid."""
        raise Invalid(f"{base} was not read from a file and cannot extend {written!a}")

    def read(self, path: str) -> str:
        """Raise Invalid."""
        raise _missing(path)

    def show(self, path: str) -> str:
        """Return the path."""
        return path


class WorkingTree:
    """The files of the repository around a policy; without a repository those of its directory and below."""

    def __init__(self, path: str) -> None:
        self.path = os.path.normpath(path)
        self._top = find_top(os.path.dirname(os.path.abspath(path)))

    def locate(self, base: str, written: str) -> str:
        """Return the path of a file as another one writes it."""
        path = os.path.normpath(os.path.join(os.path.dirname(base), _require_relative(written)))
        if not _is_below(os.path.abspath(path), self._top):
            raise _outside(written)
        return path

    def read(self, path: str) -> str:
        """Return the text of a file, which no symbolic link may lead out of the repository."""
        real = os.path.realpath(path)
        if not _is_below(real, os.path.realpath(self._top)):
            raise Invalid(f"{path} is a symbolic link out of the repository", hint=_RULE)
        try:
            return _decoded(read_regular(real, _MAX_BYTES), path)
        except FileNotFoundError as error:
            raise _missing(path) from error
        except OSError as error:
            raise Invalid(f"cannot read {path}: {error.strerror}") from error

    def show(self, path: str) -> str:
        """Return the path."""
        return path


class CommittedTree:
    """The files of a commit; `read_file` returns one by its path from the top, None if the commit lacks it."""

    def __init__(self, path: str, revision: str, read_file: Callable[[str], bytes | None]) -> None:
        self.path = posixpath.normpath(path)
        self._revision = revision
        self._read_file = read_file

    def locate(self, base: str, written: str) -> str:
        """Return the path of a file as another one writes it."""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(base), _require_relative(written)))
        if path == ".." or path.startswith("../"):
            raise _outside(written)
        return path

    def read(self, path: str) -> str:
        """Return the text of a file of the commit."""
        try:
            data = self._read_file(path)
        except ScopesError as error:
            raise Invalid(error.message, hint=error.hint) from error
        if data is None:
            raise _missing(self.show(path))
        return _decoded(data, self.show(path))

    def show(self, path: str) -> str:
        """Return the path with the commit in front."""
        return f"{self._revision[:12]}:{path}"


def find_top(directory: str) -> str:
    """Return the innermost directory with a `.git` around a directory; without one the directory itself."""
    folder = directory
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return directory
        folder = parent
    return folder


def _require_relative(written: str) -> str:
    if not written.strip() or not written.isprintable() or "\\" in written or ":" in written:
        raise Invalid(f"extends {written!a} is not the path of a file", hint=_RULE)
    if written.startswith(("/", "~")):
        raise Invalid(f"extends {written!a} is not a relative path", hint=_RULE)
    return written


def _is_below(path: str, top: str) -> bool:
    return path.startswith(top.rstrip("/") + "/")


def _outside(written: str) -> Invalid:
    return Invalid(f"extends {written!a} is outside the repository", hint=_RULE)


def _missing(name: str) -> Invalid:
    return Invalid(f"there is no policy {name}", hint=_RULE)


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid(f"{name} is not valid UTF-8") from error


class CommittedFiles:
    """The files of a commit of the user's own repository, which stays the same when its branch moves on.

    Only objects and refs are read: filters, hooks and attributes of the repository have no effect.

    revision: how it was named; the id of a merge base
    """

    def __init__(self, directory: str, revision: str) -> None:
        """Find the commit.

        Raises:
            NotFound: the directory is in no repository, or the revision does not exist in it.
            Inaccessible: git is not installed.
        """
        worktree = find_worktree(directory)
        if worktree is None:
            raise NotFound(f"{directory!a} is in no git repository", hint="give the policy as a file: --rules FILE")
        self.revision = revision
        self._directory, self._git_directory = directory, worktree.git_directory
        if find_git() is None:
            raise Inaccessible("the git program is not installed", hint="install git; it reads the policy of a commit")
        found = self._ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        if not found:
            hint = "fetch it, in CI with the whole history"
            raise NotFound(f"revision {revision!a} is not in the repository", hint=hint)
        self._commit = found.decode("ascii").strip()

    def find_merge_base(self) -> CommittedFiles | None:
        """Return the merge base of HEAD and this commit; None if it is not there, as in a shallow clone."""
        found = self._ask("merge-base", "HEAD", self._commit)
        return CommittedFiles(self._directory, found.decode("ascii").strip()) if found else None

    def read(self, path: str, max_bytes: int = 1 << 20) -> bytes | None:
        """Return a file, given its path from the top of the repository; None if the commit lacks it.

        Raises:
            Corrupt: the file is not a regular file, or larger than `max_bytes`.
            Inaccessible: the repository cannot be read.
        """
        listed = self._ask("ls-tree", "-lz", "--full-tree", self._commit, "--", path)
        if not listed:
            return None
        mode, kind, oid, size = listed.partition(b"\t")[0].split()
        if kind != b"blob" or mode == b"120000" or int(size) > max_bytes:
            raise Corrupt(f"{path} of {self.revision!a} is not a file of at most {max_bytes >> 20} MiB")
        data = self._ask("cat-file", "blob", oid.decode("ascii"))
        if data is None:
            raise Inaccessible(f"cannot read {self.revision!a} of the repository: object {oid.decode()} is damaged")
        return data

    def _ask(self, *words: str) -> bytes | None:
        environment = git_environment(self._git_directory) | {"GIT_LITERAL_PATHSPECS": "1"}
        return ask_git(words, self._directory, environment)
