"""Which commits git rewrote as others, by the reflogs of HEAD: for those that no hook of scopes saw.

Git writes there that it amended a commit, and what an interactive rebase joined or worded anew. The reflogs of all
worktrees are read, because a commit may have been amended in another one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from scopes.code_links.commit_record import is_rewritten_head
from scopes.code_links.link import CommitId
from scopes.code_links.reflog import read_tail
from scopes.store.projects import Worktree

MAX_WORKTREES: Final = 100


def read_rewrites(worktree: Worktree) -> dict[CommitId, list[CommitId]]:
    """Return the commits that HEAD was before git rewrote them, by the new ones."""
    found: dict[CommitId, list[CommitId]] = {}
    for each in _list_worktrees(worktree):
        tail = read_tail(each)
        for move in () if tail is None else tail.moves:
            if is_rewritten_head(move.action) and move.old != move.new and move.old.strip("0"):
                found.setdefault(CommitId(move.new), []).append(CommitId(move.old))
    return found


def _list_worktrees(worktree: Worktree) -> Iterator[Worktree]:
    """Yield a worktree, the main one and the others of its repository, by their git directories."""
    yield worktree
    folder = os.path.join(worktree.shared, "worktrees")
    try:
        names = sorted(os.listdir(folder))[:MAX_WORKTREES]
    except OSError:
        names = []
    for directory in (worktree.shared, *(os.path.join(folder, name) for name in names)):
        if directory != worktree.git_directory:
            yield Worktree(directory, directory, worktree.shared)
