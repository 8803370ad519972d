"""Read one ref from its files, and look it up for libgit2, which moves it.

A plain file is read without libgit2, which takes four times as long. The values of a pending operation are those of
`store.repository`.
"""

from __future__ import annotations

import os
import re

from scopes.errors import Corrupt
from scopes.store.error_translation import refusal
from scopes.store.libgit2 import pygit2
from scopes.store.raw_refs import read_loose_ref
from scopes.store.refs import SYMBOLIC

_PLAIN = re.compile(r"refs/[\w./+-]+")


class RefReader:
    """The refs of one store, as they are on disk."""

    def __init__(self, path: str, git: pygit2.Repository) -> None:
        self._path, self._git = path, git
        self._unpacked: set[str] = set()
        self._unpacked_since: tuple[int, int, int] | None = None

    def read(self, name: str) -> str | None:
        """Return the value of a ref (`ref: <name>` if symbolic); None if it does not exist.

        Raises:
            Corrupt: the ref is damaged.
        """
        if _PLAIN.fullmatch(name) and "/." not in name:
            try:
                loose = read_loose_ref(self._path, name)
                if loose is not None or self._is_known_unpacked(name):
                    return loose
            except (OSError, ValueError):
                pass  # the check below, or libgit2, tells what is wrong
        reference = self.find(name)
        if reference is None:
            self._unpacked.add(name)
            return None
        return SYMBOLIC + reference.target if isinstance(reference.target, str) else str(reference.target)

    def _is_known_unpacked(self, name: str) -> bool:
        """Return True if there is no `packed-refs`, or libgit2 did not find the ref since that file was written."""
        try:
            status = os.stat(f"{self._path}/packed-refs")
        except FileNotFoundError:
            return not os.path.lexists(f"{self._path}/packed-refs")
        stamp = status.st_ino, status.st_size, status.st_mtime_ns
        if stamp != self._unpacked_since:
            self._unpacked_since, self._unpacked = stamp, set()
        return name in self._unpacked

    def find(self, name: str) -> pygit2.Reference | None:
        """Return libgit2's object for a ref, None if it does not exist.

        Raises:
            Corrupt: the ref is damaged.
        """
        try:
            return self._git.references.get(name)
        except (pygit2.GitError, ValueError) as error:
            raise Corrupt(f"the ref {name} is damaged", hint="see: scopes verify") from error
        except OSError as error:
            raise refusal(f"read the ref {name}", self._path, error) from error
