"""Read a file of a commit of the user's own repository; nothing of that repository is executed."""

from __future__ import annotations

from scopes.errors import Corrupt, Inaccessible, NotFound
from scopes.store.libgit2 import pygit2

_MAX_BYTES = 1 << 20


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

    def read(self, path: str, max_bytes: int = _MAX_BYTES) -> bytes | None:
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
