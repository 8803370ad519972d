"""What `why` is asked about: a file or lines of it, as editors and compilers name them, and where the file is.

`FILE`, `FILE:LINE`, `FILE:FIRST-LAST` and `FILE:LINE:COLUMN`, each perhaps with a colon at the end. The name of a file
may have colons too: the longest beginning of the text that is a file is meant.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from scopes.code_links.project_git import ProjectRepository, find_project_repository
from scopes.errors import Invalid

_LINES: Final = re.compile(r"(\d{1,12})(?:[-,](\d{1,12}))?", re.ASCII)
_COLUMN: Final = re.compile(r"\d+", re.ASCII)
_FORMS: Final = "write FILE:LINE, FILE:FIRST-LAST or FILE:LINE:COLUMN"


class Target(NamedTuple):
    """A file as it was given, and its first and last line; None for the whole file."""

    file: str
    lines: tuple[int, int] | None = None


class ProjectFile(NamedTuple):
    """A file of a repository: its path from the top, with `/`, and the file in the working tree, None without one."""

    repository: ProjectRepository
    path: str
    working: str | None


def parse_target(text: str, *are_files: Callable[[str], bool]) -> Target:
    """Read the argument of `why`; the column is not used.

    are_files: tell whether there is a file with a name, each asked only if the one before it knows none

    If no beginning of the text is a file, it is that before what looks like lines, so that an error can name it.

    Raises:
        Invalid: the argument is empty, what follows the file is no line, or its lines are not in order.
    """
    if not text:
        raise Invalid("no file given", hint="for example: scopes why src/app.py:42")
    found = next((split for is_file in are_files for split in _splits(text) if is_file(split[0])), None)
    if found is not None:
        return Target(found[0], _read_lines(text, found[1]))
    for file, parts in reversed(list(_splits(text))):
        if parts and _LINES.fullmatch(parts[0]) and all(map(_COLUMN.fullmatch, parts[1:])):
            return Target(file, _read_lines(text, parts))
    return Target(text)


def _splits(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the ways to split a text into a file and the parts between colons after it, the longest file first."""
    yield text, []
    pieces = text.removesuffix(":").split(":")
    for count in range(len(pieces), 0, -1):
        file = ":".join(pieces[:count])
        if file and file != text:
            yield file, pieces[count:]


def _read_lines(text: str, parts: list[str]) -> tuple[int, int] | None:
    """Return the first and the last line that the parts after a file name; None if there are none."""
    if not parts:
        return None
    found = _LINES.fullmatch(parts[0])
    if found is None:
        raise Invalid(f"{parts[0]!a} in {text!a} is not a line", hint=_FORMS)
    wrong = next((part for part in parts[1:2] if not _COLUMN.fullmatch(part)), None)
    if wrong is not None or len(parts) > 2:
        raise Invalid(f"{':'.join(parts[1:])!a} in {text!a} is not a column", hint=_FORMS)
    first = int(found[1])
    last = int(found[2] or first)
    if first < 1 or last < first:
        raise Invalid(
            f"{text!a} names no lines", hint="lines begin with 1, and the first comes before the last: FILE:3-9"
        )
    return first, last


def find_directory(text: str, cwd: str) -> str:
    """Return the directory by which the repository of the argument of `why` is found."""
    directory = os.path.dirname(os.path.join(cwd, text))
    return directory if os.path.isdir(directory) else cwd


def find_file(file: str, cwd: str) -> ProjectFile:
    """Return where a file is, given relative to the current directory; it need not exist.

    Raises:
        NotFound: it is not in a git repository.
        Invalid: it is outside of the working tree.
    """
    path = os.path.join(cwd, file)
    directory = os.path.dirname(path)
    repository = find_project_repository(find_directory(file, cwd))
    if repository.top is None:
        return ProjectFile(repository, os.path.normpath(file).replace(os.sep, "/"), None)
    real = os.path.join(os.path.realpath(directory), os.path.basename(path))
    relative = os.path.relpath(real, repository.top)
    if relative.startswith(os.pardir):
        raise Invalid(f"{file} is outside of the repository {repository.top}", hint="give a file of the project")
    if os.path.isdir(real):
        raise Invalid(f"{file} is a directory", hint="give a file, or a line of one: FILE:LINE")
    return ProjectFile(repository, relative.replace(os.sep, "/"), real)
