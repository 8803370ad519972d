"""Files that are whole or absent: an export is written beside its place and moved there when it is complete."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from scopes.clock import new_id
from scopes.errors import Inaccessible, Invalid, NotFound, Refused, ScopesError
from scopes.exporters.export import Exported
from scopes.ids import ConversationId
from scopes.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSaved(Result):
    """Where an export is; `files` are their names below `path` where that is a directory."""

    conversation: ConversationId
    path: str
    format: str
    messages: int | None
    size_bytes: int
    files: tuple[str, ...] = ()


def save(exported: Exported, path: str, *, force: bool = False) -> ExportSaved:
    """Write an export to a file, or into a directory, which several files and a slash at the end of its name make.

    Files get the permissions that the user's umask gives to new ones. A link is followed.

    Raises:
        Refused: there is such a file, and `force` is not given; or there are bytes that may not be exported.
        NotFound, Invalid: there is no such directory, or the place is neither a file nor a directory.
        Inaccessible: the disk is full, or a permission is missing.
    """
    inside = len(exported.files) > 1 or path.endswith(os.sep) or os.path.isdir(path)
    targets = [os.path.join(path, file.name) for file in exported.files] if inside else [path]
    with ExitStack() as undo:
        if inside and not os.path.isdir(path):
            _make_directory(path)
            undo.callback(_remove, os.rmdir, path)
        for target in targets:
            _check(target, force=force)
        for directory in _missing(path, targets) if inside else ():
            _make_directory(directory)
            undo.callback(_remove, os.rmdir, directory)
        size = 0
        for target, file in zip(targets, exported.files, strict=True):
            size += _write(target, file.pieces, force=force)
        undo.pop_all()
    return ExportSaved(
        conversation=exported.conversation,
        path=path,
        format=exported.format,
        messages=exported.messages,
        size_bytes=size,
        files=tuple(file.name for file in exported.files) if inside else (),
    )


def _missing(path: str, targets: Iterable[str]) -> Iterator[str]:
    """Yield the directories below `path` that files need and that are not there, the outer ones first."""
    needed: set[str] = set()
    for target in targets:
        directory = os.path.dirname(target)
        while len(directory) > len(path.rstrip(os.sep)):
            needed.add(directory)
            directory = os.path.dirname(directory)
    yield from (directory for directory in sorted(needed) if not os.path.isdir(directory))


def _check(path: str, *, force: bool) -> None:
    """Refuse a place that an export must not take, before anything is written."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise _refusal(path, error) from error
    if not stat.S_ISREG(mode):
        raise Invalid(f"{path!a} is no regular file", hint="standard output is written without --output, or with: -")
    if not force:
        raise _exists(path)


def _write(path: str, pieces: Iterable[bytes], *, force: bool) -> int:
    """Write a file that is seen once it is complete, and return its size."""
    final = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(final), f".scopes-{new_id()}.part")
    size = 0
    with _translated(path), ExitStack() as cleaning:
        with open(temporary, "xb") as file:
            cleaning.callback(_remove, os.unlink, temporary)
            for piece in pieces:
                size += file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        _place(temporary, final, force=force)
    return size


def _place(temporary: str, final: str, *, force: bool) -> None:
    """Give a complete file its name; without `force` never that of another file, whoever has made it meanwhile."""
    if not force:
        try:
            os.link(temporary, final)
        except FileExistsError as error:
            raise _exists(final) from error
        except OSError:
            if os.path.lexists(final):  # a file system without hard links
                raise _exists(final) from None
        else:
            return
    os.replace(temporary, final)


def _make_directory(path: str) -> None:
    try:
        os.mkdir(path)
    except FileExistsError as error:
        raise Invalid(f"{path!a} is no directory", hint="several files need one; or choose with --source") from error
    except OSError as error:
        raise _refusal(path, error) from error


def _remove(remove: Callable[[str], None], path: str) -> None:
    """Take away what is no use any more; it may be gone, or hold complete files."""
    with suppress(OSError):
        remove(path)


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """Turn a failure of the system into a refusal that names the file."""
    try:
        yield
    except OSError as error:
        raise _refusal(path, error) from error


def _refusal(path: str, error: OSError) -> ScopesError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return NotFound(f"there is no directory {_parent(path)!a}", hint="make it first, or check the path")
    reason = (error.strerror or "unknown reason").lower()
    return Inaccessible(f"cannot write {path!a}: {reason}", hint="nothing was left there")


def _parent(path: str) -> str:
    return os.path.dirname(path.rstrip(os.sep)) or os.curdir


def _exists(path: str) -> Refused:
    return Refused(f"there is a file {path!a} already", hint="overwrite it with --force, or choose another name")
