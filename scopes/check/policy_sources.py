"""Where a policy and the policies that it extends are read from: files of the working tree, or files of one commit.

All files of a policy come from the same source and from below one directory: an agent that can write to the working
tree must not change what a policy of a commit extends.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable
from typing import Protocol

from scopes.errors import Invalid, ScopesError
from scopes.regular_file import read_regular

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
