"""What the hooks of git leave for scopes: a small file for each commit, in the git directory of the project.

A hook may not delay a commit, and it may run in a sandbox that cannot write the store, or be killed with its agent. So
it writes one file and starts scopes in the background; what is not recorded then is recorded after the next commit.
A file is complete when its last line is there.

The git directory may come from somebody else: a link in place of one of the folders is not followed, because files in
the folder are deleted.

    scopes 1             scopes 1
    commit <id>          rewrite amend|rebase
    CODEX_THREAD_ID=...  <old> <new>
    end                  end
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from scopes.code_links.agent_environment import VARIABLES, AgentSession, find_sessions
from scopes.code_links.commit_record import is_commit_id
from scopes.code_links.link import CommitId
from scopes.store.projects import Worktree

DIRECTORY: Final = "scopes-hooks"
PENDING: Final = "pending"
STARTING: Final = "starting"  # the number of the process that a hook has started last, and that has not begun to work
HEADING: Final = "scopes 1"
END: Final = "end"
MAX_FILES: Final = 5000
_MAX_BYTES = 4 << 20  # a rebase of 50,000 commits
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # flags
_STALE = 3600 * 1_000_000_000  # nanoseconds after which an incomplete file is that of a hook that was killed


class PendingCommit(NamedTuple):
    """A commit that was made in the shell of agents, or that others were rewritten as; `at` is in nanoseconds."""

    name: str
    at: int
    commit: CommitId | None = None
    sessions: tuple[AgentSession, ...] = ()
    rewritten: tuple[tuple[CommitId, CommitId], ...] = ()
    is_complete: bool = True


def pending_directory(worktree: Worktree) -> str:
    """Return where the hooks of a project leave their files; it exists if hooks were installed."""
    return os.path.join(worktree.shared, DIRECTORY, PENDING)


def list_pending(worktree: Worktree) -> list[PendingCommit]:
    """Return what hooks have left, the oldest first; also files that are not theirs, as incomplete ones."""
    try:
        with _open_folder(worktree) as folder:
            found = [_read(name, folder) for name in sorted(os.listdir(folder))[:MAX_FILES]]
    except OSError:
        return []
    return sorted((each for each in found if each is not None), key=lambda each: (each.at, bool(each.rewritten)))


def remove_pending(worktree: Worktree, pending: list[PendingCommit], now: int) -> None:
    """Delete what was recorded, and the unfinished files of hooks that were killed."""
    with suppress(OSError), _open_folder(worktree) as folder:
        for each in pending:
            if each.is_complete or each.at < now - _STALE:
                with suppress(OSError):
                    os.unlink(each.name, dir_fd=folder)


def begin_taking(worktree: Worktree) -> None:
    """Let hooks start another process from now on: what they leave later may not be seen by this one."""
    with suppress(OSError), _open_top(worktree) as top:
        if stat.S_ISREG(os.stat(STARTING, dir_fd=top, follow_symlinks=False).st_mode):
            os.unlink(STARTING, dir_fd=top)


@contextmanager
def _open_top(worktree: Worktree) -> Iterator[int]:
    """Open the folder of scopes in a git directory; raises OSError as `_open_folder` does."""
    top = os.open(os.path.join(worktree.shared, DIRECTORY), _FOLDER)
    try:
        yield top
    finally:
        os.close(top)


@contextmanager
def _open_folder(worktree: Worktree) -> Iterator[int]:
    """Open the folder with the files of the hooks.

    Raises:
        OSError: it is not there, or it is a link, or in one.
    """
    with _open_top(worktree) as top:
        folder = os.open(PENDING, _FOLDER, dir_fd=top)
    try:
        yield folder
    finally:
        os.close(folder)


def _read(name: str, folder: int) -> PendingCommit | None:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:
        data = file.read(_MAX_BYTES + 1)
    lines = data.decode("utf-8", "replace").split("\n")
    at = status.st_mtime_ns
    if len(data) > _MAX_BYTES or lines[0] != HEADING or lines[-2:] != [END, ""] or len(lines) < 4:
        return PendingCommit(name, at, is_complete=False)
    word, _, value = lines[1].partition(" ")
    if word == "commit" and is_commit_id(value):
        return PendingCommit(name, at, CommitId(value), tuple(find_sessions(dict(_variables(lines[2:-2])))))
    if word == "rewrite":
        return PendingCommit(name, at, rewritten=tuple(_pairs(lines[2:-2])))
    return PendingCommit(name, at)


def _variables(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        name, equals, value = line.partition("=")
        if equals and name in VARIABLES:
            yield name, value


def _pairs(lines: list[str]) -> Iterator[tuple[CommitId, CommitId]]:
    for line in lines:
        old, _, rest = line.partition(" ")
        new = rest.partition(" ")[0]
        if is_commit_id(old) and is_commit_id(new) and old != new:
            yield CommitId(old), CommitId(new)
