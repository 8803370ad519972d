"""Read a file of the project that a history touched, if it may be shown to a model.

Paths are recorded by others, and the project itself may be hostile: a path, a link, a hard link or a special file must
not lead outside, block, or act. What may be read is decided by its place and its name; then its content passes a gate,
which leaves out a file with a possible secret, or replaces that.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from errno import EFBIG, EINVAL, EMLINK
from typing import NamedTuple

from scopes.characters import IGNORABLE
from scopes.context.file_states import has_hash
from scopes.context.secret_files import may_hold_secrets
from scopes.secret_scan.clearance import Gate

_MAX_BYTES = 4 << 20
OUTSIDE = "outside the project"
_CONTENT_UNKNOWN = "with unknown content at that time"
_PRIVATE = "may hold secrets, by its name"
_RULES_UNKNOWN = "git may ignore it: the rules for that cannot be read"
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DROPPED_BY_DISKS = re.compile(f"[{IGNORABLE}]")  # HFS+ ignores them in names


class TouchedFile(NamedTuple):
    """A file of the history: the turn that touched it last, and its hash after that turn, if recorded.

    `content` is the recorded content at an earlier message; None if the file is to be read from the project.
    """

    path: str
    turn: int
    content_hash: str | None = None
    content: str | None = None


class SkippedFile(NamedTuple):
    """A file that is not part of a context, and why."""

    path: str
    reason: str


class ReadableFolder(NamedTuple):
    """The directory whose files may be read; an empty path allows none.

    With `as_recorded` a file is embedded only with the content that the history recorded, with `include_ignored` also
    if git ignores it. Without a `gate` contents are not looked at.
    """

    directory: str
    as_recorded: bool = False
    include_ignored: bool = False
    gate: Gate | None = None


def read_text(file: TouchedFile, project: ReadableFolder, ignored: AbstractSet[str] | None) -> str | SkippedFile:
    """Return the text of a file, or why it must not or cannot be embedded; `ignored` are the files that git ignores."""
    relative = resolve(file.path, project)
    if file.content is None and project.as_recorded and file.content_hash is None:
        return SkippedFile(file.path, _CONTENT_UNKNOWN)
    if file.content is None and relative is None:
        return SkippedFile(file.path, OUTSIDE)
    if may_hold_secrets(file.path) or may_hold_secrets(relative or ""):
        return SkippedFile(file.path, _PRIVATE)
    text = _read(file, relative or "", project) if file.content is None else file.content
    if isinstance(text, SkippedFile):
        return text
    if relative is not None and not project.include_ignored and (ignored is None or relative in ignored):
        return SkippedFile(file.path, _RULES_UNKNOWN if ignored is None else "ignored by git")
    return SkippedFile(file.path, "binary") if "\0" in text else _cleared(file.path, text, project.gate)


def _cleared(path: str, text: str, gate: Gate | None) -> str | SkippedFile:
    """Return the text as it may be embedded, or that it has a possible secret, and where."""
    if gate is None:
        return text
    if gate.mode == "redact":
        return gate.clear_text(text, f"file {path}")
    leak = gate.first_leak(text, path)
    return text if leak is None else SkippedFile(path, f"has a possible secret: {leak.rule}, line {leak.line}")


def resolve(path: str, project: ReadableFolder) -> str | None:
    """Return the real path of a recorded path within the project; None if it is outside of it or below `.git`."""
    if "\0" in path or not project.directory:
        return None
    top = os.path.realpath(project.directory)
    full_path = os.path.realpath(os.path.join(top, path))
    if not full_path.startswith(os.path.join(top, "")):
        return None
    relative = os.path.relpath(full_path, top)
    return None if any(map(_is_git_directory, relative.split(os.sep))) else relative


def ignore_files(files: list[TouchedFile], project: ReadableFolder) -> list[str]:
    """Return the files with rules that decide which of the touched files git ignores, relative to the project."""
    paths = filter(None, (resolve(file.path, project) for file in files))
    return [] if project.include_ignored else sorted({name for path in paths for name in _rule_files(path)})


def _rule_files(path: str) -> Iterator[str]:
    """Yield the names of all files with rules that can apply to a file; both are relative to the project."""
    yield os.path.join(".git", "info", "exclude")
    parts = path.split(os.sep)
    for depth in range(len(parts)):
        yield os.path.join(*parts[:depth], ".gitignore")


def _is_git_directory(name: str) -> bool:
    """Return True for `.git` as disks may spell it: in other case, with ignored characters, as a short name."""
    return _DROPPED_BY_DISKS.sub("", name).casefold().rstrip(". ") in {".git", "git~1"}


def _read(file: TouchedFile, relative: str, project: ReadableFolder) -> str | SkippedFile:
    try:
        data = _read_regular(os.path.realpath(project.directory), relative)
    except (FileNotFoundError, NotADirectoryError):
        return SkippedFile(file.path, "missing")
    except OSError as error:
        return SkippedFile(file.path, error.strerror or "cannot be read")
    if project.as_recorded and not has_hash(data, file.content_hash):
        return SkippedFile(file.path, _CONTENT_UNKNOWN)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return SkippedFile(file.path, "binary")


def _read_regular(top: str, relative: str) -> bytes:
    """Read a file without following a link in any part of its path, and without opening anything but files."""
    *directories, name = relative.split(os.sep)
    descriptor = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for directory in directories:
            parent = descriptor
            descriptor = os.open(directory, _OPEN | os.O_DIRECTORY, dir_fd=parent)
            os.close(parent)
        _check_status(os.stat(name, dir_fd=descriptor, follow_symlinks=False))  # opening a pipe lets its writer go on
        with open(os.open(name, _OPEN, dir_fd=descriptor), "rb") as stream:
            _check_status(os.fstat(stream.fileno()))
            return stream.read(_MAX_BYTES)
    finally:
        os.close(descriptor)


def _check_status(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(EINVAL, "not a regular file")
    if status.st_nlink > 1:
        raise OSError(EMLINK, "has another hard link, which may be outside the project")
    if status.st_size > _MAX_BYTES:
        raise OSError(EFBIG, f"too large: {status.st_size} bytes")
