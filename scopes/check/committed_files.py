"""The files of a commit of the user's own repository: policies that an agent in the working tree cannot change."""

from __future__ import annotations

from scopes.errors import Corrupt, Inaccessible, NotFound
from scopes.store.git_program import ask_git, find_git, git_environment
from scopes.store.projects import find_worktree


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
