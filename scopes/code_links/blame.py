"""Ask `git blame` which commit a line is from, in which file and at which place it was there.

Moved and copied lines are followed, changes of white space are not counted (`-w -M -C`), and the commits in the file
that `blame.ignoreRevsFile` names are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from scopes.code_links.link import CommitId
from scopes.code_links.project_commits import unquote_path
from scopes.code_links.project_git import ProjectGit, ProjectGitFailed, read_setting
from scopes.regular_file import UnusableFile, check_regular

_OPTIONS: Final = ("blame", "-w", "-M", "-C", "--porcelain")
_MAX_IGNORED: Final = 1 << 20  # bytes of the file with commits to skip


class BlamedLine(NamedTuple):
    """A line of a file, and where its commit has it; numbers begin with 1."""

    number: int
    commit: CommitId
    path: str
    origin: int


def blame(git: ProjectGit, revision: str, path: str, lines: tuple[int, int] | None = None) -> list[BlamedLine]:
    """Return where lines of a file are from, in order; all lines without `lines`, which are the first and the last.

    Raises:
        ProjectGitFailed: the revision has no such file, or not so many lines.
    """
    place = () if lines is None else ("-L", f"{lines[0]},{lines[1]}")
    rest = (*place, revision, "--", path)
    ignored = _find_ignored(git)
    if ignored is not None:
        with suppress(ProjectGitFailed):  # it names a commit that is not here
            return list(_parse(git.run(*_OPTIONS, "--ignore-revs-file", ignored, *rest).splitlines()))
    return list(_parse(git.run(*_OPTIONS, *rest).splitlines()))


def _find_ignored(git: ProjectGit) -> str | None:
    """Return the file with commits to skip that the repository's configuration names; None if there is none."""
    name = read_setting(git.repository, "blame", "ignoreRevsFile")
    if not name:
        return None
    path = os.path.join(git.repository.top or git.repository.shared, name)
    try:
        check_regular(path, _MAX_IGNORED)
    except (UnusableFile, OSError):
        return None
    return path if os.path.exists(path) else None


def _parse(lines: Iterable[bytes]) -> Iterator[BlamedLine]:
    """Yield the lines of `git blame --porcelain`: a heading, fields of the commit, a tab and the line."""
    paths: dict[str, str] = {}
    commit, origin, number = "", 0, 0
    for line in lines:
        if line.startswith(b"\t"):
            yield BlamedLine(number, CommitId(commit), paths[commit], origin)
        elif line.startswith(b"filename "):
            paths[commit] = unquote_path(line.removeprefix(b"filename "))
        else:
            words = line.split(b" ")
            if len(words) in {3, 4} and len(words[0]) in {40, 64} and words[1].isdigit():
                commit, origin, number = words[0].decode("ascii"), int(words[1]), int(words[2])
