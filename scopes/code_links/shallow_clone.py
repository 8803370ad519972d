"""Shallow clones, which end before the first commit: what their first commits have added is not known.

Git shows all files of such a boundary commit as added by it, and blame gives it all lines that are older.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from scopes.code_links.commit_record import is_commit_id
from scopes.code_links.link import CommitId
from scopes.code_links.project_commits import ProjectCommit
from scopes.code_links.project_git import ProjectRepository
from scopes.regular_file import UnusableFile, read_regular
from scopes.result import Note

_MAX_BYTES: Final = 16 << 20
WHOLE: Final = "fetch the whole history: git fetch --unshallow"


def read_boundary(repository: ProjectRepository) -> frozenset[CommitId]:
    """Return the commits whose parents a clone lacks; none of a whole repository."""
    try:
        lines = read_regular(os.path.join(repository.shared, "shallow"), _MAX_BYTES).decode("ascii", "replace").split()
    except (OSError, UnusableFile):
        return frozenset()
    return frozenset(CommitId(line) for line in lines if is_commit_id(line))


def without_lines(commit: ProjectCommit) -> ProjectCommit:
    """Return a boundary commit without the lines that git shows as added by it."""
    return replace(commit, added=[], renamed={}, created=set())


def note_boundary(commits: Iterable[CommitId], boundary: frozenset[CommitId]) -> tuple[Note, ...]:
    """Return the note that the history ends at a commit; nothing if none of the commits is at the boundary."""
    ends = [commit for commit in dict.fromkeys(commits) if commit in boundary]
    if not ends:
        return ()
    return (Note(f"the clone is shallow: its history ends at {ends[0][:7]}, which has all older lines", WHOLE),)
