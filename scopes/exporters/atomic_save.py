"""Write the files of an export atomically: into a temporary file in the same directory, renamed when complete."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from scopes.errors import Inaccessible, Invalid, NotFound, Refused, ScopesError
from scopes.ids import ConversationId
from scopes.part_files import lock_part, part_of, remove_parts
from scopes.result import OMIT_EMPTY, Result, counted, format_size, named
from scopes.secret_scan.clearance import Cleared
from scopes.secrets.gates import redacted_notes
from scopes.store.repository import again_after_prunes

if TYPE_CHECKING:
    from scopes.exporters.export import Exported
    from scopes.store.repository import Repository


_STANDARD_OUTPUT: Final = "standard output is written without --output, or with: -"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSaved(Result):
    """A saved export; if `path` is a directory, `files` are the names in it."""

    kind = "export"

    conversation: ConversationId
    path: str
    format: str
    messages: int | None
    size_bytes: int = field(metadata=named("bytes"))
    files: tuple[str, ...] = field(default=(), metadata=OMIT_EMPTY)

    @property
    def sentence(self) -> str:
        """What was exported and where."""
        content = "its original bytes" if self.format == "original" else "records of its commits"
        if self.messages is not None:
            content = f"{counted(self.messages, 'message')} as {self.format}"
        paths = self.answer.split("\n")
        where = paths[0] if len(paths) == 1 else f"{counted(len(paths), 'file')} in {self.path}"
        return f"wrote {self.conversation} to {where}: {content}, {format_size(self.size_bytes)}"

    @property
    def answer(self) -> str:
        """The paths of the files."""
        return "\n".join([os.path.join(self.path, name) for name in self.files] or [self.path])


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSaved(Result):
    """A saved site: its directory, the number of its conversations and of their messages, and its size."""

    kind = "site"

    path: str
    conversations: int
    messages: int
    size_bytes: int = field(metadata=named("bytes"))

    @property
    def sentence(self) -> str:
        """Where the site is."""
        pages = f"{counted(self.conversations, 'conversation')}, {counted(self.messages, 'message')}"
        return f"wrote a site of {pages}, {format_size(self.size_bytes)}: {self.answer}"

    @property
    def answer(self) -> str:
        """The path of its index."""
        return os.path.join(self.path, "index.html")


def save(exported: Exported, path: str, *, force: bool = False) -> ExportSaved:
    """Write an export to the file `path`, or into the directory `path` if it is one, ends with `/`, or has to be one.

    A missing directory is created. Files get the permissions that the umask gives to new files. Symbolic links to files
    that exist are followed. If a file fails, the directories created for it are removed; files that are complete stay.

    Raises:
        Refused: a file exists and `force` is not given; the path is a symbolic link to a missing file, as `cp` refuses
            it; or the content may not be exported.
        NotFound, Invalid: the parent directory does not exist, or the path is neither a file nor a directory.
        Inaccessible: the disk is full, or a permission is missing.
        Busy: something was purged since the export was begun: it may have that.
    """
    into_directory = len(exported.files) > 1 or path.endswith(os.sep) or os.path.isdir(path)
    targets = [os.path.join(path, file.name) for file in exported.files] if into_directory else [path]
    with ExitStack() as cleanup:
        if into_directory and not os.path.isdir(path):
            _make_directory(path)
            cleanup.callback(_remove, os.rmdir, path)
        for target in targets:
            check_target(target, force=force)
        for directory in _missing_directories(path, targets) if into_directory else ():
            _make_directory(directory)
            cleanup.callback(_remove, os.rmdir, directory)
        size = 0
        for target, file in zip(targets, exported.files, strict=True):
            size += write_file(target, file.pieces, force=force, allowed=exported.unless_purged())
        cleanup.pop_all()
    return ExportSaved(
        conversation=exported.conversation,
        path=path,
        format=exported.format,
        messages=exported.messages,
        size_bytes=size,
        files=tuple(file.name for file in exported.files) if into_directory else (),
        notes=(*exported.notes, *(() if exported.gate is None else redacted_notes(exported.gate.redacted))),
    )


def save_unless_purged(
    repository: Repository, make: Callable[[], Exported], path: str, *, force: bool = False
) -> ExportSaved:
    """Make an export and write it as `save` does; again if something is purged meanwhile, so that no file has that."""

    def write() -> ExportSaved:
        repository.forget_pruned()
        return save(make(), path, force=force)

    return again_after_prunes(repository.path, write)


def _missing_directories(path: str, targets: Iterable[str]) -> Iterator[str]:
    """Yield the directories below `path` that the targets need and that do not exist, outer ones first."""
    needed: set[str] = set()
    for target in targets:
        directory = os.path.dirname(target)
        while len(directory) > len(path.rstrip(os.sep)):
            needed.add(directory)
            directory = os.path.dirname(directory)
    yield from (directory for directory in sorted(needed) if not os.path.isdir(directory))


def check_target(path: str, *, force: bool, hint: str = _STANDARD_OUTPUT) -> None:
    """Refuse a target that is not a regular file or must not be overwritten, before anything is written.

    Raises:
        Refused, Invalid, Inaccessible: as `save`.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        if os.path.islink(path):
            text = f"{path!a} is a symbolic link to {os.readlink(path)!a}, which does not exist"
            raise Refused(text, hint="remove the link, or name its target") from None
        return
    except OSError as error:
        raise _refusal(path, error) from error
    if not stat.S_ISREG(mode):
        raise Invalid(f"{path!a} is not a regular file", hint=hint)
    if not force:
        raise _exists(path)


def write_file(
    path: str, pieces: Iterable[Cleared], *, force: bool, allowed: AbstractContextManager[None] | None = None
) -> int:
    """Write a temporary file, rename it to `path`, and return its size.

    allowed: what the renaming is done in; it may raise, and there is no file then

    Raises:
        Refused: it exists and `force` is not given.
        NotFound, Inaccessible: the directory does not exist, or it cannot be written.
        Invalid: it is a device or a pipe.
    """
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise Invalid(f"{path!a} is not a regular file", hint="a device or a pipe would be replaced: name a file")
    with prepared_file(path, pieces, force=force) as place, allowed or nullcontext():
        return place()


@contextmanager
def prepared_file(
    path: str, pieces: Iterable[Cleared], *, force: bool, mode: int = 0o666
) -> Iterator[Callable[[], int]]:
    """Write a complete file under another name, synced; what the block gets names it `path`, and returns its size.

    If the block does not call that, nothing is left. Raises as `write_file` does.
    """
    final, size = os.path.realpath(path), 0
    remove_leftovers(path)
    temporary = part_of(_part_prefix(path))
    with _translate_errors(path), ExitStack() as cleanup:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            cleanup.callback(_remove, os.unlink, temporary)
            lock_part(file.fileno())
            for piece in pieces:
                size += file.write(piece.data)
            file.flush()
            os.fsync(file.fileno())

        def place() -> int:
            with _translate_errors(path):
                _rename(temporary, final, force=force)
            return size

        yield place


def remove_leftovers(path: str) -> None:
    """Delete what killed processes left where they were writing a file, or another one of its directory."""
    remove_parts(_part_prefix(path))


def _part_prefix(path: str) -> str:
    """Return the beginning of temporary names: not that of the file, which may be as long as a name can be."""
    return os.path.join(os.path.dirname(os.path.realpath(path)), ".scopes")


def _rename(temporary: str, final: str, *, force: bool) -> None:
    """Rename a complete file; without `force` never overwrite another one, even if it was just created."""
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
        raise Invalid(f"{path!a} is not a directory", hint="several files need one; or choose with --source") from error
    except OSError as error:
        raise _refusal(path, error) from error


def _remove(remove: Callable[[str], None], path: str) -> None:
    """Remove a temporary file or a created directory; it may be gone already, or a directory not empty."""
    with suppress(OSError):
        remove(path)


@contextmanager
def _translate_errors(path: str) -> Iterator[None]:
    """Translate OSError into an error that names the file."""
    try:
        yield
    except OSError as error:
        raise _refusal(path, error) from error


def _refusal(path: str, error: OSError) -> ScopesError:
    is_missing = isinstance(error, FileNotFoundError | NotADirectoryError)
    if is_missing and os.path.isdir(_parent(path)):  # such as /proc
        return Inaccessible(f"cannot write {path!a}: its directory takes no new file", hint="choose another directory")
    if is_missing:
        return NotFound(f"directory {_parent(path)!a} not found", hint="create it first, or check the path")
    reason = (error.strerror or "unknown reason").lower()
    return Inaccessible(f"cannot write {path!a}: {reason}", hint="nothing was left there")


def _parent(path: str) -> str:
    return os.path.dirname(path.rstrip(os.sep)) or os.curdir


def _exists(path: str) -> Refused:
    return Refused(f"file {path!a} already exists", hint="overwrite it with --force, or choose another name")
