"""Run an import for the command line: collect the sources, report what was found, show progress."""

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
    """The sources to import, the files that were skipped, and notes for the result."""

    sources: list[Source]
    skipped: tuple[Skipped, ...]
    notes: tuple[Note, ...]


def collect_sources(invocation: Invocation, paths: Sequence[str]) -> Collected:
    """Return the sources at the given paths; without paths, list and return those in the agents' standard folders.

    Raises:
        NotFound: a path does not exist, or no agent has transcripts in its standard folders.
        CannotImport: a path contains no transcripts.
        Inaccessible: a path cannot be read.
    """
    skipped: list[Skipped] = []
    standard = {} if paths else find_standard_folders(FORMATS, invocation.environ, invocation.home)
    found = [source for path in paths for source in _find_named(invocation, path, skipped)]
    if not paths:
        found = _find_standard(invocation, standard, skipped)
    folders = [path for path in paths if os.path.isdir(path)]
    folders += [folder for agent_folders in standard.values() for folder in agent_folders]
    hint = "to import it, name the file or folder that it points to"
    links = find_outside_links(folders)
    notes = tuple(Note(f"{link} points outside the folder and was not followed", hint) for link in links)
    found.sort(key=lambda source: source.named)  # a file that is named and also in a folder counts as named
    unique = list({source.path: source for source in found}.values())
    return Collected(unique, tuple(skipped), notes)


def import_all(invocation: Invocation, collected: Collected, options: ImportOptions) -> Imported:
    """Import the sources with a progress bar on a terminal. Raises what `import_sources` raises.

    A missing store is created only when it is certain that something will be imported.
    """
    repository = invocation.find_repository()
    if repository is None and (options.dry_run or options.strict or options.title is not None):
        with empty_store() as store:
            preview = _import_into(invocation, store, collected, replace(options, dry_run=True))
        if options.dry_run:
            return preview
    elif repository is None:
        open_sources(collected.sources, FORMATS, list(collected.skipped))
    return _import_into(invocation, repository or invocation.repository(create=True), collected, options)


def _find_named(invocation: Invocation, path: str, skipped: list[Skipped]) -> list[Source]:
    """Return the sources at a path; `-` is standard input, and a named pipe is read in the same way."""
    if path == "-":
        return [spool_stream(invocation.stdin.buffer, path)]
    if os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode):
        with open(path, "rb") as stream:
            return [spool_stream(stream, path)]
    return find_sources(path, skipped)


def _find_standard(invocation: Invocation, standard: Mapping[str, list[str]], skipped: list[Skipped]) -> list[Source]:
    found: list[Source] = []
    for agent, folders in standard.items():
        sources = [source for folder in folders for source in _find_or_none(folder, skipped)]
        size = sum(source.size for source in sources) / 1e6
        where = ", ".join(folders)
        invocation.output().say(f"{agent}: {counted(len(sources), 'transcript')}, {size:.1f} MB, in {where}")
        found += sources
    if not found:
        variables = [known.standard_folders.variable for known in FORMATS if known.standard_folders is not None]
        hint = f"name a file or a folder, or set {' or '.join(variables)}"
        raise NotFound("no agent has transcripts in its standard folders", hint=hint)
    return found


def _find_or_none(folder: str, skipped: list[Skipped]) -> list[Source]:
    try:
        return find_sources(folder, skipped)
    except (CannotImport, Inaccessible):
        return []


def _import_into(
    invocation: Invocation, repository: Repository, collected: Collected, options: ImportOptions
) -> Imported:
    total = sum(source.size for source in collected.sources)
    with progress(invocation.output(), "importing", total) as on_progress:
        return import_sources(
            repository,
            collected.sources,
            FORMATS,
            options,
            on_progress=on_progress,
            skipped=collected.skipped,
            notes=collected.notes,
        )
