"""What `why` is asked about: `FILE`, `FILE:LINE` or `FILE:FIRST-LAST`, and where the file is in its repository."""

from __future__ import annotations

import os
import re
from typing import Final, NamedTuple

from scopes.code_links.project_git import ProjectRepository, find_project_repository
from scopes.errors import Invalid

_TARGET: Final = re.compile(r"(?s)(?P<file>.+?):(?P<first>\d{1,9})(?:[-,](?P<last>\d{1,9}))?")


class Target(NamedTuple):
    """A file as it was given, and its first and last line; None for the whole file."""

    file: str
    lines: tuple[int, int] | None = None


class ProjectFile(NamedTuple):
    """A file of a repository: its path from the top, with `/`, and the file in the working tree, None without one."""

    repository: ProjectRepository
    path: str
    working: str | None


def parse_target(text: str, cwd: str) -> Target:
    """Read the argument of `why`; a file whose name ends like a line number is meant if it exists.

    Raises:
        Invalid: the argument is empty, or its lines are not in order.
    """
    if not text:
        raise Invalid("no file given", hint="for example: scopes why src/app.py:42")
    found = _TARGET.fullmatch(text)
    if found is None or os.path.lexists(os.path.join(cwd, text)):
        return Target(text)
    first = int(found["first"])
    last = int(found["last"] or first)
    if first < 1 or last < first:
        raise Invalid(
            f"{text!a} names no lines", hint="lines begin with 1, and the first comes before the last: FILE:3-9"
        )
    return Target(found["file"], (first, last))


def find_file(file: str, cwd: str) -> ProjectFile:
    """Return where a file is, given relative to the current directory; it need not exist.

    Raises:
        NotFound: it is not in a git repository.
        Invalid: it is outside of the working tree.
    """
    path = os.path.join(cwd, file)
    directory = os.path.dirname(path)
    repository = find_project_repository(directory if os.path.isdir(directory) else cwd)
    if repository.top is None:
        return ProjectFile(repository, os.path.normpath(file).replace(os.sep, "/"), None)
    real = os.path.join(os.path.realpath(directory), os.path.basename(path))
    relative = os.path.relpath(real, repository.top)
    if relative.startswith(os.pardir):
        raise Invalid(f"{file} is outside of the repository {repository.top}", hint="give a file of the project")
    if os.path.isdir(real):
        raise Invalid(f"{file} is a directory", hint="give a file, or a line of one: FILE:LINE")
    return ProjectFile(repository, relative.replace(os.sep, "/"), real)
