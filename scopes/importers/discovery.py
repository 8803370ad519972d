"""Find the transcript files to import: one file, all in a folder, a pipe, or those in the agents' standard folders."""

from __future__ import annotations

import os
import re
import select
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from tempfile import NamedTemporaryFile, gettempdir
from typing import Any, BinaryIO

from scopes.errors import CannotImport, Inaccessible, NotFound, NothingToImport, ScopesError
from scopes.importers.expand import (
    RowSource,
    expand_sources,
    explain_incomplete,
    is_collection,
    is_collection_with,
    make_folder_source,
)
from scopes.importers.formats.base import Format, Source, choose_format
from scopes.importers.formats.collection import SEPARATOR
from scopes.importers.formats.compressed import SUFFIX, plain_size
from scopes.importers.formats.registry import FORMATS
from scopes.importers.results import Skipped, skip_unreadable
from scopes.regular_file import open_regular

PIPE_SECONDS = 10
MIN_FREE_BYTES = 64 << 20  # of the disk with the temporary file; a pipe may never end
_SPOOL_BYTES = 4 << 20
_SESSION = re.compile(r"[0-9A-Za-z_-]{8,64}")  # an id that is no path and no pattern
_MAX_LOOKED_INTO = 10_000  # files of a folder in which none is named like a transcript
_NOT_TRANSCRIPTS = frozenset({"logs.json", "state.json"})  # of Gemini CLI: what was typed; of Kimi: title, directory
_RENDERINGS = f"{os.sep}.specstory{os.sep}history{os.sep}"  # where every Markdown file is a transcript
FILE_SUFFIXES = tuple(dict.fromkeys(suffix for known in FORMATS for suffix in known.file_suffixes))


def find_standard_folders(formats: Sequence[Format], environ: Mapping[str, str], home: str) -> dict[str, list[str]]:
    """Return the existing standard folders of each agent that has any, by the agent's title."""
    found: dict[str, list[str]] = {}
    for standard in (known.standard_folders for known in formats):
        folders = [] if standard is None else [path for path in standard.paths(environ, home) if os.path.exists(path)]
        if standard is not None and folders:
            found[standard.agent.title] = folders
    return found


def list_standard_places(formats: Sequence[Format], environ: Mapping[str, str], home: str) -> list[str]:
    """Return all standard folders, whether they exist or not."""
    known = (each.standard_folders for each in formats)
    return [path for standard in known if standard is not None for path in standard.paths(environ, home)]


def find_session_file(
    formats: Sequence[Format], agent: str, session: str, environ: Mapping[str, str], home: str
) -> str | None:
    """Return the file in which an agent keeps a session, by its standard folders; None if it is not there."""
    if not _SESSION.fullmatch(session):
        return None
    standard = next((known.standard_folders for known in formats if known.name == agent), None)
    if standard is None:
        return None
    found = (standard.find_session(path, session) for path in standard.paths(environ, home))
    return next((path for path in found if path is not None), None)


def find_sources(path: str, skipped: list[Skipped] | None = None) -> list[Source]:
    """Return the source at a path, or the transcripts below a folder, sorted by name.

    Transcripts are found by their names; in a folder without such a name all files are looked into. Links below a
    folder are not followed, and only regular files are opened. A damaged compressed file in a folder gets
    size 0, so that the import skips it. What cannot be read below a folder is added to `skipped`.

    Raises:
        NotFound: the path does not exist.
        CannotImport: it is not a regular file.
        NothingToImport: a folder without transcripts.
        Inaccessible: the path itself cannot be read.
    """
    status = _stat(path)
    if status is None:
        return _sources_named(path)
    if stat.S_ISREG(status.st_mode):
        return [_source_of_named(os.path.abspath(path), status.st_size)]
    if not stat.S_ISDIR(status.st_mode):
        raise CannotImport(f"{path!a} is not a regular file", hint="copy its content to a file first")
    if is_collection(path) is not None:
        return [make_folder_source(os.path.abspath(path), named=True)]
    unreadable: list[Skipped] = []
    collections: list[Source] = []
    sizes = dict(sorted(_walk_transcripts(os.path.abspath(path), unreadable, collections)))
    if skipped is not None:
        skipped += unreadable
    # a compressed file next to its plain form is left out
    names = [name for name in sizes if name.removesuffix(SUFFIX) == name or name.removesuffix(SUFFIX) not in sizes]
    if collections:
        return sorted([*collections, *(_source_in_folder(name, sizes[name]) for name in names)], key=_path_of)
    if not names:
        sizes = dict(sorted(_walk_by_content(os.path.abspath(path))))
        names = list(sizes)
    if not names:
        raise _none_below(path, unreadable)
    return [_source_in_folder(name, sizes[name]) for name in names]


def _none_below(path: str, unreadable: Sequence[Skipped]) -> ScopesError:
    """Return the error of a folder without transcripts: that of the first one that cannot be read, if there is any."""
    if unreadable:
        first = unreadable[0]
        hint = "copy the whole folder, as the agent keeps it, or import another one"
        return first.error or CannotImport(f"{first.path!a} is {first.reason}", hint=hint)
    links = find_outside_links([path])
    if links:
        reason = f"{path!a} contains no transcripts, only links out of it, which are not followed: {len(links)}"
        return NothingToImport(reason, hint=f"import what they point to, such as {os.path.realpath(links[0])}")
    hint = "the transcripts of which agents can be read: scopes help import"
    return NothingToImport(f"{path!a} contains no transcripts", hint=hint)


def _path_of(source: Source) -> str:
    return source.path


def _stat(path: str) -> os.stat_result | None:
    """Return the status of a path; None if it is a conversation in a collection.

    Raises:
        NotFound, Inaccessible: as `find_sources`.
    """
    try:
        return os.stat(path)
    except FileNotFoundError as error:
        if os.path.exists(path.rpartition(SEPARATOR)[0]):
            return None
        raise NotFound(f"file {path!a} not found", hint="name a transcript or a folder of transcripts") from error
    except OSError as error:
        raise _cannot_read(path, error) from error


def _sources_named(path: str) -> list[Source]:
    """Return the conversation in a collection that a path names after the separator.

    Raises:
        NotFound: there is none.
        CannotImport: the collection is damaged.
    """
    collection, _, name = path.rpartition(SEPARATOR)
    skipped: list[Skipped] = []
    sources = expand_sources(find_sources(collection), skipped)
    found = [source for source in sources if isinstance(source, RowSource) and source.name == name]
    errors = [each.error for each in skipped if each.error is not None]
    if not found and errors:
        raise errors[0]
    if not found:
        raise NotFound(f"{collection!a} has no conversation {name!a}", hint="import it without the part after #")
    return [replace(source, named=True) for source in found]


def find_outside_links(paths: Sequence[str]) -> list[str]:
    """Return links below the folders to transcripts or folders outside all of them, which are not imported."""
    folders = [os.path.realpath(path) for path in paths]
    return sorted({entry.path for path in paths for entry in _walk_entries(path, []) if _leads_out(entry, folders)})


@dataclass(frozen=True, slots=True)
class SpooledSource(Source):
    """The content of a pipe, in a temporary file that is deleted with the process."""

    file: Any = field(compare=False, kw_only=True)

    @property
    def stored_at(self) -> str:
        """Path of the temporary file."""
        return str(self.file.name)

    def open(self) -> BinaryIO:
        """Open the temporary file for reading."""
        return open_regular(self.file.name)


def open_pipe(path: str) -> BinaryIO:
    """Open a named pipe, or a pipe of this process such as `/dev/fd/63` (process substitution), for reading.

    Raises:
        Inaccessible: no program opens the named pipe for writing within PIPE_SECONDS, or it cannot be opened (A-10).
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _cannot_read(path, error) from error
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not poll.poll(int(PIPE_SECONDS * 1000)):  # neither data nor a writer that has closed it
        os.close(descriptor)
        text = f"{path!a} is a named pipe, and no program wrote into it for {PIPE_SECONDS} seconds"
        raise Inaccessible(text, hint="start the program that writes into it first, or use standard input: -")
    os.set_blocking(descriptor, True)
    return open(descriptor, "rb")


def spool_stream(stream: BinaryIO, name: str) -> Source:
    """Copy a stream to a temporary file and return it as a source with this name.

    Raises:
        Inaccessible: the stream would leave less than MIN_FREE_BYTES of the disk, or the file cannot be written.
    """
    try:
        file = NamedTemporaryFile(prefix="scopes-")  # noqa: SIM115 - it is closed with the source
    except OSError as error:
        raise _cannot_spool(name, error.strerror) from error
    with ExitStack() as on_error:
        on_error.enter_context(closing(file))
        try:
            while piece := stream.read(_SPOOL_BYTES):
                disk = os.statvfs(file.name)
                if disk.f_bavail * disk.f_frsize < MIN_FREE_BYTES + len(piece):
                    raise _cannot_spool(name, f"less than {MIN_FREE_BYTES >> 20} MiB would stay free")
                file.write(piece)
            file.flush()
        except OSError as error:
            raise _cannot_spool(name, error.strerror) from error
        on_error.pop_all()
    return SpooledSource(name, file.tell(), named=True, file=file)


def _cannot_spool(name: str, reason: str | None) -> Inaccessible:
    text = f"cannot copy the input {name!a} to {gettempdir()}: {reason}"
    return Inaccessible(text, hint="free some space, set TMPDIR, or import it from a file")


def _source_at(path: str, size: int) -> Source:
    return Source(path, plain_size(path, size) if path.endswith(SUFFIX) else size)


def _source_of_named(path: str, size: int) -> Source:
    try:
        with open_regular(path):
            return replace(_source_at(path, size), named=True)
    except OSError as error:
        raise _cannot_read(path, error) from error


def _source_in_folder(path: str, size: int) -> Source:
    try:
        return _source_at(path, size)
    except (CannotImport, OSError):
        return Source(path, 0)


def _cannot_read(path: str, error: OSError) -> Inaccessible:
    return Inaccessible(f"cannot read {path!a}: {error.strerror}", hint="check its permissions")


def _leads_out(entry: os.DirEntry[str], folders: list[str]) -> bool:
    try:
        target = os.path.realpath(entry.path) if entry.is_symlink() else None
    except OSError:  # it vanished, or belongs to a process that has ended
        return False
    if target is None or any(os.path.commonpath([folder, target]) == folder for folder in folders):
        return False
    return os.path.isdir(target) or (target.endswith(FILE_SUFFIXES) and os.path.isfile(target))


def _walk_transcripts(folder: str, unreadable: list[Skipped], collections: list[Source]) -> Iterator[tuple[str, int]]:
    """Yield path and size of the files below a folder that have a transcript's suffix; collections are added."""
    for entry in _walk_entries(folder, unreadable, collections):
        if entry.name in _NOT_TRANSCRIPTS or not _is_named_like_one(entry.path):
            continue
        if entry.is_file(follow_symlinks=False):
            try:
                yield entry.path, entry.stat(follow_symlinks=False).st_size
            except OSError as error:
                unreadable.append(skip_unreadable(entry.path, error))


def _walk_by_content(folder: str) -> Iterator[tuple[str, int]]:
    """Yield path and size of the first files below a folder whose content is that of a transcript."""
    for entry in islice(_walk_entries(folder, []), _MAX_LOOKED_INTO):
        with suppress(CannotImport, OSError):
            if entry.is_file(follow_symlinks=False):
                source = Source(entry.path, entry.stat(follow_symlinks=False).st_size)
                choose_format(FORMATS, source)
                yield source.path, source.size


def _is_named_like_one(path: str) -> bool:
    return path.endswith(FILE_SUFFIXES) or (path.endswith(".md") and _RENDERINGS in path)


def _walk_entries(
    folder: str, unreadable: list[Skipped], collections: list[Source] | None = None
) -> Iterator[os.DirEntry[str]]:
    """Yield files and links below a folder without following links; unreadable folders are added to the list.

    Of a folder that is a collection, no file is yielded; it is added to `collections`, or if it lacks something, to
    the unreadable ones.
    """
    pending = [folder]
    while pending:
        below = pending.pop()
        try:
            entries = list(os.scandir(below))
        except OSError as error:
            unreadable.append(skip_unreadable(below, error))
            continue
        if is_collection_with(below, {entry.name for entry in entries}):
            if collections is not None:
                collections.append(make_folder_source(below))
            continue
        incomplete = explain_incomplete(below)
        if incomplete is not None:
            unreadable.append(Skipped(path=below, reason=incomplete))
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            else:
                yield entry
