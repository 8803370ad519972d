"""Read a project that is not trusted: which of its files git ignores, and a file as a commit has it.

The rules are those of the project's `.gitignore` files and `.git/info/exclude`. Its git configuration is not read, no
hook, filter or program runs, and the files with rules must be regular, small and simple: libgit2 matches a pattern with
several `**` in exponential time. The project's index is not read either: a tracked file that a pattern matches counts
as ignored.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from tempfile import TemporaryDirectory
from typing import Self

from scopes.errors import Corrupt, Inaccessible, NotFound
from scopes.store.objects import pygit2

IGNORE_FILE = ".gitignore"
_EXCLUDE = os.path.join(".git", "info", "exclude")
_MAX_BYTES = 128 << 10
_MAX_PARTS = 64  # of a path
_MAX_DOUBLE_STARS, _MAX_ALL_DOUBLE_STARS = 2, 500  # in one pattern, in one file
_MAX_SECONDS = 5.0  # for all files together
_MAX_BYTES_COMMITTED_FILE = 1 << 20


class IgnoreRules:
    """The rules of one project; use it as a context manager."""

    def __init__(self, directory: str) -> None:
        """Prepare for the files of a directory; without a `.git` in it, git ignores none of them."""
        self._directory = directory
        self._has_git = os.path.lexists(os.path.join(directory, ".git"))
        self._simple: dict[str, bool] = {}
        self._deadline = time.monotonic() + _MAX_SECONDS
        self._repository: pygit2.Repository | None = None
        self._scratch: TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        """Return the rules."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Delete the empty repository."""
        if self._scratch is not None:
            self._scratch.cleanup()

    def is_ignored(self, path: str) -> bool | None:
        """Return True if git ignores a file, given relative to the project; None if that cannot be found out."""
        if not self._has_git:
            return False
        is_deep = path.count(os.sep) >= _MAX_PARTS
        if is_deep or time.monotonic() > self._deadline or not all(map(self._is_simple, rule_files(path))):
            return None
        return bool(self._open().path_is_ignored(path))

    def _open(self) -> pygit2.Repository:
        """Return an empty repository with the project as its working tree and the project's exclude file."""
        if self._repository is None:
            data = _read_rules(os.path.join(self._directory, _EXCLUDE)) or b""
            if any(line and not line.startswith(b"#") for line in data.splitlines()):
                self._scratch = TemporaryDirectory(prefix="scopes-")
                repository = pygit2.init_repository(self._scratch.name, bare=True)
                with open(os.path.join(self._scratch.name, "info", "exclude"), "wb") as file:
                    file.write(data)
            else:
                repository = pygit2.Repository()  # in memory
            repository.workdir = self._directory
            self._repository = repository
        return self._repository

    def _is_simple(self, name: str) -> bool:
        """Return True if a file with rules may be given to libgit2, or is missing."""
        if name not in self._simple:
            self._simple[name] = _read_rules(os.path.join(self._directory, name)) is not None
        return self._simple[name]


def rule_files(path: str) -> Iterator[str]:
    """Yield the names of all files with rules that can apply to a file; both are relative to the project."""
    yield _EXCLUDE
    parts = path.split(os.sep)
    for depth in range(len(parts)):
        yield os.path.join(*parts[:depth], IGNORE_FILE)


def _read_rules(path: str) -> bytes | None:
    """Return the rules in a file, nothing if it is missing; None if it is not regular, too large or too complex."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError:
        return None
    is_complex = data.count(b"**") > _MAX_ALL_DOUBLE_STARS or any(
        line.count(b"**") > _MAX_DOUBLE_STARS for line in data.split(b"\n")
    )
    return None if is_complex or len(data) > _MAX_BYTES else data


class Commit:
    """A commit of the user's own repository; it stays the same when its branch moves on.

    revision: how it was named; the id of a merge base
    """

    def __init__(self, directory: str, revision: str, *, repository: pygit2.Repository | None = None) -> None:
        """Find the commit.

        Raises:
            NotFound: the directory is in no repository, or the revision does not exist in it.
            Inaccessible: the repository cannot be read.
        """
        self.revision = revision
        self._directory = directory
        try:
            self._repository = repository or _open(directory)
            self._commit = self._repository.revparse_single(revision).peel(pygit2.Commit)
        except KeyError as error:
            raise NotFound(
                f"revision {revision!a} is not in the repository", hint="fetch it, in CI with the whole history"
            ) from error
        except (pygit2.GitError, ValueError) as error:
            raise self._unreadable(error) from error

    def find_merge_base(self) -> Commit | None:
        """Return the merge base of HEAD and this commit; None if it is not there, as in a shallow clone."""
        try:
            head = self._repository.revparse_single("HEAD").peel(pygit2.Commit)
            found = self._repository.merge_base(head.id, self._commit.id)
            return Commit(self._directory, str(found), repository=self._repository) if found else None
        except (KeyError, NotFound, pygit2.GitError, ValueError):
            return None

    def read(self, path: str, max_bytes: int = _MAX_BYTES_COMMITTED_FILE) -> bytes | None:
        """Return a file, given its path from the top of the repository; None if the commit lacks it.

        Only objects and refs are read: filters, hooks and attributes of the repository have no effect.

        Raises:
            Corrupt: the file is not a regular file, or larger than `max_bytes`.
            Inaccessible: the repository cannot be read.
        """
        try:
            entry = _find_entry(self._commit.tree, path)
            if entry is None:
                return None
            is_link = entry.filemode == pygit2.enums.FileMode.LINK
            if is_link or not isinstance(entry, pygit2.Blob) or entry.size > max_bytes:
                raise Corrupt(f"{path} of {self.revision!a} is not a file of at most {max_bytes >> 20} MiB")
            return bytes(entry.data)
        except (pygit2.GitError, ValueError) as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> Inaccessible:
        return Inaccessible(f"cannot read {self.revision!a} of the repository: {error}")


def _find_entry(tree: pygit2.Tree, path: str) -> pygit2.Object | None:
    try:
        return tree[path]
    except KeyError:
        return None


def _open(directory: str) -> pygit2.Repository:
    found = pygit2.discover_repository(directory)
    if found is None:
        raise NotFound(f"{directory!a} is in no git repository", hint="give the policy as a file: --rules FILE")
    return pygit2.Repository(found)
