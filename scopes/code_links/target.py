"""What `why` is asked about: a file or lines of it, as editors and compilers name them, and where the file is.

`FILE`, `FILE:LINE`, `FILE:FIRST-LAST`, lists of these as `FILE:1-3,5`, `FILE:LINE:COLUMN`, `FILE:12:5-14:2` and
`FILE#L12-L20`, each perhaps with a colon at the end. The name of a file may look like that too: the longest beginning
of the text that is a file is meant.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, NamedTuple, TypeAlias

from scopes.code_links.project_git import ProjectRepository, find_project_repository
from scopes.errors import Invalid

_RANGE: Final = re.compile(r"(\d{1,12})(?:-(\d{1,12}))?", re.ASCII)
_COLUMNS: Final = re.compile(r"\d+(?:-(?:(\d{1,12}):)?\d+)?", re.ASCII)  # of a line; or up to a column of another line
_FRAGMENT: Final = re.compile(r"#L(\d{1,12})(?:C\d+)?(?:-L?(\d{1,12})(?:C\d+)?)?", re.ASCII)
_FORMS: Final = "write FILE:LINE, FILE:FIRST-LAST, FILE:1-3,5, FILE:LINE:COLUMN or FILE#L12-L20"
_PART_BEGINS: Final = re.compile(r":|#(?=L)")

LineRange: TypeAlias = tuple[int, int]


class Target(NamedTuple):
    """A file as it was given, and its lines: the first and the last line of each range; None for the whole file."""

    file: str
    lines: tuple[LineRange, ...] | None = None


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
        Invalid: the argument is empty, no line numbers follow the file, or they are not in order.
    """
    if not text:
        raise Invalid("no file given", hint="for example: scopes why src/app.py:42")
    found = next((split for is_file in are_files for split in _splits(text) if is_file(split[0])), None)
    if found is not None:
        return Target(found[0], _read_lines(text, found[1]))
    for file, rest in reversed(list(_splits(text))):
        if rest.rstrip(":"):
            with suppress(Invalid):
                return Target(file, _read_lines(text, rest))
    return Target(text)


def _splits(text: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to split a text into a file and what follows it, the longest file first."""
    yield text, ""
    for begin in reversed([match.start() for match in _PART_BEGINS.finditer(text)]):
        if begin:
            yield text[:begin], text[begin:]


def _read_lines(text: str, rest: str) -> tuple[LineRange, ...] | None:
    """Return the lines that the text after a file names; None if it names none."""
    rest = rest.removesuffix(":")
    if not rest:
        return None
    if rest.startswith("#"):
        found = [_match(_FRAGMENT, rest, text, "a line number").groups()]
    else:
        lines, _, columns = rest[1:].partition(":")
        found = [_match(_RANGE, each, text, "a line number").groups() for each in lines.split(",")]
        last = None if not columns else _match(_COLUMNS, columns, text, "a column")[1]
        if last is not None:
            found = [(_match(_RANGE, lines, text, "a line number")[1], last)]
    ranges = tuple((int(first), int(last or first)) for first, last in found)
    if any(first < 1 or last < first for first, last in ranges):
        raise Invalid(
            f"{text!a} names no lines", hint="lines begin with 1, and the first comes before the last: FILE:3-9"
        )
    return ranges


def _match(pattern: re.Pattern[str], part: str, text: str, what: str) -> re.Match[str]:
    found = pattern.fullmatch(part)
    if found is None:
        raise Invalid(f"{part!a} in {text!a} is not {what}", hint=_FORMS)
    return found


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


def follow_link(file: ProjectFile) -> ProjectFile:
    """Return the file of the working tree that a symbolic link leads to; the link itself if that is no such file."""
    top = file.repository.top
    if top is None or file.working is None or not os.path.islink(file.working):
        return file
    real = os.path.realpath(file.working)
    relative = os.path.relpath(real, os.path.realpath(top))
    if relative.startswith(os.pardir) or not os.path.isfile(real):
        return file
    return ProjectFile(file.repository, relative.replace(os.sep, "/"), real)
