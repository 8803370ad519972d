"""Which files an import means: one, all below a folder, or the histories that agents keep in their standard places."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO

from scopes.errors import CannotImport, Inaccessible, NotFound
from scopes.importers.formats.base import Source
from scopes.importers.formats.compressed import SUFFIX, plain_size
from scopes.importers.results import Skipped, skip_unreadable

TRANSCRIPT_ENDINGS = (".jsonl", ".json", ".jsonl.zst")


def find_standard_folders(environ: Mapping[str, str], home: str) -> dict[str, list[str]]:
    """Return where agents keep their histories, by agent, as far as the folders exist."""
    claude = environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    codex = environ.get("CODEX_HOME") or os.path.join(home, ".codex")
    places = {
        "Claude Code": [os.path.join(claude, "projects")],
        "Codex": [os.path.join(codex, "sessions"), os.path.join(codex, "archived_sessions")],
    }
    found = {agent: [folder for folder in folders if os.path.isdir(folder)] for agent, folders in places.items()}
    return {agent: folders for agent, folders in found.items() if folders}


def find_sources(path: str, skipped: list[Skipped] | None = None) -> list[Source]:
    """Return the sources that a path means, sorted by name; of a folder those whose names end as transcripts' do.

    No link in a folder is followed, and nothing but regular files is ever opened. A compressed file that is damaged
    counts as empty among others, so that the import passes it over. What cannot be read below a folder is added to
    `skipped`.

    Raises:
        NotFound: there is no such path.
        CannotImport: it is no regular file, or a folder without transcripts.
        Inaccessible: the path itself cannot be read.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {path!a}", hint="name a transcript or a folder of them") from error
    except OSError as error:
        raise _cannot_read(path, error) from error
    if stat.S_ISREG(status.st_mode):
        return [_named_source(os.path.abspath(path), status.st_size)]
    if not stat.S_ISDIR(status.st_mode):
        raise CannotImport(f"{path!a} is no regular file", hint="save it to a file first")
    missed: list[Skipped] = []
    sizes = dict(sorted(_walk_folder(os.path.abspath(path), missed)))
    if skipped is not None:
        skipped += missed
    plain = [name for name in sizes if name.removesuffix(SUFFIX) == name or name.removesuffix(SUFFIX) not in sizes]
    if not plain and missed and missed[0].trouble is not None:
        raise missed[0].trouble
    if not plain:
        raise CannotImport(f"{path!a} holds no transcripts", hint=f"files named *{', *'.join(TRANSCRIPT_ENDINGS)}")
    return [_source_of_many(name, sizes[name]) for name in plain]


def find_outside_links(paths: Sequence[str]) -> list[str]:
    """Return the links below folders that lead to transcripts, or to folders, outside of all: they are not followed."""
    folders = [os.path.realpath(path) for path in paths]
    return sorted({entry.path for path in paths for entry in _walk_entries(path, []) if _leads_out(entry, folders)})


def _leads_out(entry: os.DirEntry[str], folders: list[str]) -> bool:
    target = os.path.realpath(entry.path) if entry.is_symlink() else None
    if target is None or any(os.path.commonpath([folder, target]) == folder for folder in folders):
        return False
    return os.path.isdir(target) or (target.endswith(TRANSCRIPT_ENDINGS) and os.path.isfile(target))


def _source(path: str, size: int) -> Source:
    """Describe a file as what it holds, where it is compressed."""
    return Source(path, plain_size(path, size) if path.endswith(SUFFIX) else size)


def _named_source(path: str, size: int) -> Source:
    try:
        with open(path, "rb"):
            return replace(_source(path, size), named=True)
    except OSError as error:
        raise _cannot_read(path, error) from error


def _cannot_read(path: str, error: OSError) -> Inaccessible:
    return Inaccessible(f"cannot read {path!a}: {error.strerror}", hint="check who owns it")


def _source_of_many(path: str, size: int) -> Source:
    try:
        return _source(path, size)
    except (CannotImport, OSError):
        return Source(path, 0)


def _walk_folder(folder: str, missed: list[Skipped]) -> Iterator[tuple[str, int]]:
    """Yield path and size of what may be a transcript."""
    for entry in _walk_entries(folder, missed):
        if entry.name.endswith(TRANSCRIPT_ENDINGS) and entry.is_file(follow_symlinks=False):
            try:
                yield entry.path, entry.stat(follow_symlinks=False).st_size
            except OSError as error:
                missed.append(skip_unreadable(entry.path, error))


def _walk_entries(folder: str, missed: list[Skipped]) -> Iterator[os.DirEntry[str]]:
    """Yield what is below a folder but for folders, without following links; what cannot be read is `missed`."""
    pending = [folder]
    while pending:
        below = pending.pop()
        try:
            entries = list(os.scandir(below))
        except OSError as error:
            missed.append(skip_unreadable(below, error))
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            else:
                yield entry


@dataclass(frozen=True, slots=True)
class SpooledSource(Source):
    """What came through a pipe, in a file that goes away with the process."""

    file: Any = field(compare=False, kw_only=True)

    def open(self) -> BinaryIO:
        """Open it for reading from its beginning."""
        return open(self.file.name, "rb")


def spool_stream(stream: BinaryIO, name: str) -> Source:
    """Read a stream to its end, on disk, and return it as a source that was asked for."""
    file = NamedTemporaryFile(prefix="scopes-")  # noqa: SIM115 - it lives as long as the source
    shutil.copyfileobj(stream, file)
    file.flush()
    return SpooledSource(name, file.tell(), named=True, file=file)
