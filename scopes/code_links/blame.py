"""Ask `git blame` which commit a line is from, in which file and at which place it was there.

Moved and copied lines are followed, changes of white space are not counted (`-w -M -C`), and the commits in the file
that `blame.ignoreRevsFile` names are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from scopes.code_links.link import CommitId
from scopes.code_links.project_commits import read_seconds, unquote_path
from scopes.code_links.project_git import ProjectGit, ProjectGitFailed, read_setting
from scopes.regular_file import UnusableFile, check_regular

_OPTIONS: Final = ("blame", "-w", "-M", "-C", "--porcelain")
_FIELDS: Final = (b"filename", b"author", b"author-time", b"committer-time", b"summary")
_MAX_IGNORED: Final = 1 << 20  # bytes of the file with commits to skip


class BlamedLine(NamedTuple):
    """A line of a file, where its commit has it, and what is known about the commit; numbers begin with 1."""

    number: int
    commit: CommitId
    path: str
    origin: int
    author: str = ""
    author_time: float = 0.0
    commit_time: float = 0.0
    subject: str = ""


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
            return list(_parse(git.run(*_OPTIONS, "--ignore-revs-file", ignored, *rest)))
    return list(_parse(git.run(*_OPTIONS, *rest)))


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


def _parse(output: bytes) -> Iterator[BlamedLine]:
    """Yield the lines of `git blame --porcelain`: a heading, fields of the commit, a tab and the line.

    Only line feeds separate lines: a carriage return may be part of a line of the file or of a name. The fields of a
    commit come with its first line; the path comes again whenever it changes.
    """
    fields: dict[str, dict[bytes, bytes]] = {}
    commit, origin, number = "", 0, 0
    for line in output.split(b"\n"):
        name, _, value = line.partition(b" ")
        if line.startswith(b"\t"):
            yield _blamed(number, commit, origin, fields[commit])
        elif name in _FIELDS:
            fields.setdefault(commit, {})[name] = value
        elif len(name) in {40, 64} and value[:1].isdigit():
            places = value.split(b" ")
            commit, origin, number = name.decode("ascii"), int(places[0]), int(places[1])


def _blamed(number: int, commit: str, origin: int, fields: Mapping[bytes, bytes]) -> BlamedLine:
    author, time, commit_time, subject = (fields.get(name, b"").decode("utf-8", "replace") for name in _FIELDS[1:])
    times = read_seconds(time), read_seconds(commit_time)
    return BlamedLine(number, CommitId(commit), unquote_path(fields[b"filename"]), origin, author, *times, subject)
