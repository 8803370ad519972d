"""`import --list`: what each agent has in its standard folders, and how much of it an import would read.

Nothing is imported, and of each file only the beginning is read, which tells its format.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from scopes.clock import format_seconds, parse_time
from scopes.errors import CannotImport, NotFound, ScopesError
from scopes.history.sources import find_source_record
from scopes.ids import Oid
from scopes.importers.discovery import find_sources, find_standard_folders, list_standard_places
from scopes.importers.expand import FolderSource
from scopes.importers.formats.base import DATABASE_HEADER, Format, Source, choose_format
from scopes.importers.formats.collection import SEPARATOR
from scopes.importers.results import Skipped
from scopes.model import canonical_json
from scopes.result import OMIT_EMPTY, Column, Result, counted, named
from scopes.store import refs
from scopes.store.objects import read_blob, read_commit, walk_blobs
from scopes.store.operations import walk_operations
from scopes.store.repository import Repository

_IMPORT = "import"
_SECOND = 1_000_000_000  # nanoseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAgent:
    """The transcripts of one agent.

    new: files that are not in the store as they are now; a database counts as one, by when it was changed
    unknown: files of no known format, which an import skips; they are in no other count
    problems: what cannot be read
    """

    agent: str
    folders: tuple[str, ...]
    files: int = 0
    size: int = field(default=0, metadata=named("size_bytes"))
    new: int = 0
    newest: str | None = None
    unknown: int = field(default=0, metadata=OMIT_EMPTY)
    problems: tuple[str, ...] = field(default=(), metadata=OMIT_EMPTY)

    @property
    def folder(self) -> str:
        """The folders in one text."""
        return ", ".join(self.folders)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTranscripts(Result):
    """What the agents have, in the order of their formats."""

    kind = "transcripts"
    rows_in = "agents"
    is_one_row = True
    columns = (
        Column("agent", form="agent"),
        Column("files", form="count"),
        Column("size_bytes", "Size", "size"),
        Column("new", form="count"),
        Column("newest", on="pipe"),
        Column("newest", form="time", on="terminal"),
        Column("folder", on="pipe"),
        Column("folders", "Folder", "path", on="terminal"),
    )

    agents: tuple[FoundAgent, ...]

    @property
    def sentence(self) -> list[str]:
        """What cannot be read, and files of no known format."""
        unknown = [
            f"{each.agent}: {counted(each.unknown, 'other file')} of no known format"
            for each in self.agents
            if each.unknown
        ]
        return [*self.remark, *unknown]

    @property
    def remark(self) -> list[str]:
        """What cannot be read."""
        return [f"{each.agent}: {problem}" for each in self.agents for problem in each.problems]

    @property
    def next_step(self) -> str:
        """How to import."""
        return "import what is new: scopes import" if any(each.new for each in self.agents) else ""


@dataclass(slots=True)
class _Known:
    """What the store has: the size of each imported file by its path, and when the last import was."""

    sizes: dict[str, int] = field(default_factory=dict)
    databases: set[str] = field(default_factory=set)
    last_import: int = 0  # nanoseconds since 1970

    def has(self, source: Source, changed: int) -> bool:
        """Return True if a source is in the store as it is now; `changed` is its time, in nanoseconds since 1970."""
        if source.path in self.databases:
            return changed <= self.last_import
        return self.sizes.get(source.path) == source.size


def list_transcripts(
    repository: Repository | None,
    formats: Sequence[Format],
    environ: Mapping[str, str],
    home: str,
    *,
    on_progress: Callable[[int], None] = lambda _: None,
) -> FoundTranscripts:
    """Return what the agents have in their standard folders. `on_progress` is called with 1 for each file.

    Raises:
        NotFound: no agent has a transcript.
    """
    known = _Known() if repository is None else _read_known(repository)
    standard = find_standard_folders(formats, environ, home)
    agents = [_look_at(agent, folders, formats, known, on_progress) for agent, folders in standard.items()]
    found = tuple(each for each in agents if each.files or each.unknown or each.problems)
    if not found:
        raise nothing_found(formats, environ, home)
    return FoundTranscripts(agents=found)


def nothing_found(formats: Sequence[Format], environ: Mapping[str, str], home: str) -> NotFound:
    """Return the error that no agent has transcripts, with the places that were looked at."""
    places = ", ".join(_shorten(path, home) for path in list_standard_places(formats, environ, home))
    text = "no agent has transcripts in its standard folders"
    return NotFound(text, hint=f"give a file or a folder; these were looked at: {places}")


def _shorten(path: str, home: str) -> str:
    return f"~{path[len(home) :]}" if path.startswith(os.path.join(home, "")) else path


def _look_at(
    agent: str,
    folders: Sequence[str],
    formats: Sequence[Format],
    known: _Known,
    on_progress: Callable[[int], None],
) -> FoundAgent:
    sources: list[Source] = []
    problems: list[str] = []
    for folder in folders:
        skipped: list[Skipped] = []
        try:
            sources += find_sources(folder, skipped)
        except CannotImport:  # it has no transcript
            continue
        except ScopesError as error:
            problems.append(error.message)
        problems += [f"{found.path}: {found.reason}" for found in skipped]
    files = size = new = unknown = newest = 0
    for source in sources:
        on_progress(1)
        try:
            is_transcript, changed = _is_transcript(source, formats), _time_of(source)
        except (CannotImport, OSError) as error:
            problems.append(str(error))
            continue
        if not is_transcript:
            unknown += 1
            continue
        files, size, newest = files + 1, size + source.size, max(newest, changed)
        new += not known.has(source, changed)
    return FoundAgent(
        agent=agent,
        folders=tuple(folders),
        files=files,
        size=size,
        newest=format_seconds(newest // _SECOND) if newest else None,
        new=new,
        unknown=unknown,
        problems=tuple(problems),
    )


def _is_transcript(source: Source, formats: Sequence[Format]) -> bool:
    """Return True if a source is of a known format; a database is taken for one of its agent."""
    if isinstance(source, FolderSource):
        return True
    with source.open() as stream:
        if stream.read(len(DATABASE_HEADER)) == DATABASE_HEADER:
            return True
    try:
        choose_format(formats, source)
    except CannotImport:
        return False
    return True


def _time_of(source: Source) -> int:
    """Return when the content of a source was changed last."""
    return max((os.stat(path).st_mtime_ns for path in source.signed_files()), default=0)


def _read_known(repository: Repository) -> _Known:
    known = _Known(last_import=_time_of_last_import(repository))
    for key, path in walk_source_paths(repository):
        record = find_source_record(repository, key)
        if record is None:
            continue
        collection, separator, _ = path.rpartition(SEPARATOR)
        if separator and not os.path.exists(path):
            known.databases.add(collection)
        else:
            known.sizes[path] = record.size
    return known


def _time_of_last_import(repository: Repository) -> int:
    operations = (operation for _, operation in walk_operations(repository))
    imports = (operation.time for operation in operations if operation.kind == _IMPORT)
    return parse_time(next(imports, "")) or 0


def walk_source_paths(repository: Repository) -> Iterator[tuple[str, str]]:
    """Yield the key of each source that was imported here, with the path where its file was last."""
    commit = repository.find_ref(refs.SOURCE_PATHS)
    if commit is None:
        return
    for file, oid in walk_blobs(repository, read_commit(repository, Oid(commit)).tree):
        match canonical_json.load(read_blob(repository, oid)):
            case {"path": str(path)}:
                yield file.replace("/", ""), path
