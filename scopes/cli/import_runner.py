"""What `import` does around its one operation: finding the sources, saying what was found, showing how far it is."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from scopes.cli.invocation import Invocation
from scopes.errors import CannotImport, Inaccessible, NotFound
from scopes.importers.discovery import find_outside_links, find_sources, find_standard_folders, spool_stream
from scopes.importers.formats.base import Source
from scopes.importers.formats.registry import FORMATS
from scopes.importers.results import Imported, Skipped
from scopes.importers.run import ImportOptions, import_sources
from scopes.importers.work_queue import open_sources
from scopes.render.progress import progress
from scopes.render.text.phrases import counted
from scopes.result import Note
from scopes.store.overlay import empty_store
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True)
class Collected:
    """The sources to import, and what is to be said of where they were looked for."""

    sources: list[Source]
    skipped: tuple[Skipped, ...]
    notes: tuple[Note, ...]


def collect_sources(invocation: Invocation, paths: Sequence[str]) -> Collected:
    """Return the sources that were named, or those in the agents' standard places, after saying what was found.

    Raises:
        NotFound: there is no such path, or no agent has a history here.
        CannotImport: a path holds no transcripts.
        Inaccessible: a path cannot be read.
    """
    skipped: list[Skipped] = []
    places = {} if paths else find_standard_folders(invocation.environ, invocation.home)
    found = [source for path in paths for source in _gather_named(invocation, path, skipped)]
    if not paths:
        found = _gather_histories(invocation, places, skipped)
    folders = [path for path in paths if os.path.isdir(path)]
    folders += [folder for each in places.values() for folder in each]
    hint = "name the file or folder it leads to"
    notes = tuple(
        Note(f"{link} leads out of the folder and was not followed", hint) for link in find_outside_links(folders)
    )
    found.sort(key=lambda source: source.named)  # of one that is also in a folder it counts that it was named
    unique = list({source.path: source for source in found}.values())
    return Collected(unique, tuple(skipped), notes)


def _gather_named(invocation: Invocation, path: str, skipped: list[Skipped]) -> list[Source]:
    """Return what a path means: `-` is standard input, and a pipe with a name is read like it."""
    if path == "-":
        return [spool_stream(invocation.stdin.buffer, path)]
    if os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode):
        with open(path, "rb") as stream:
            return [spool_stream(stream, path)]
    return find_sources(path, skipped)


def _gather_histories(invocation: Invocation, places: Mapping[str, list[str]], skipped: list[Skipped]) -> list[Source]:
    found: list[Source] = []
    for agent, folders in places.items():
        sources = [source for folder in folders for source in _gather_or_none(folder, skipped)]
        size = sum(source.size for source in sources) / 1e6
        invocation.output().say(
            f"{agent}: {counted(len(sources), 'transcript')}, {size:.1f} MB, in {', '.join(folders)}"
        )
        found += sources
    if not found:
        hint = "name a file or a folder, or set CLAUDE_CONFIG_DIR or CODEX_HOME"
        raise NotFound("no agent has a history in its standard place here", hint=hint)
    return found


def _gather_or_none(folder: str, skipped: list[Skipped]) -> list[Source]:
    try:
        return find_sources(folder, skipped)
    except (CannotImport, Inaccessible):
        return []


def import_all(invocation: Invocation, collected: Collected, wishes: ImportOptions) -> Imported:
    """Import with a progress bar at a terminal; raises as the operation does.

    Where there is no store yet, one is made only once it is certain that something comes in.
    """
    repository = invocation.find_repository()
    if repository is None and (wishes.dry_run or wishes.strict or wishes.title is not None):
        with empty_store() as store:
            rehearsed = _import_into(invocation, store, collected, replace(wishes, dry_run=True))
        if wishes.dry_run:
            return rehearsed
    elif repository is None:
        open_sources(collected.sources, FORMATS, list(collected.skipped))
    return _import_into(invocation, repository or invocation.repository(create=True), collected, wishes)


def _import_into(
    invocation: Invocation, repository: Repository, collected: Collected, wishes: ImportOptions
) -> Imported:
    total = sum(source.size for source in collected.sources)
    with progress(invocation.output(), "importing", total) as advance:
        return import_sources(
            repository,
            collected.sources,
            FORMATS,
            wishes,
            advance=advance,
            skipped=collected.skipped,
            notes=collected.notes,
        )
