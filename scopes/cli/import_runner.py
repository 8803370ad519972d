"""The parts of `import` that belong to the command line: find the sources, print what was found, show progress."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from scopes.cli.errors import Interrupted
from scopes.cli.hook_recorder import record_waiting_commits, take_waiting
from scopes.cli.invocation import Invocation
from scopes.cli.options import choose_projects
from scopes.conversation.list import find_cached_list
from scopes.errors import CannotImport, Inaccessible, NotFound, ScopesError
from scopes.history.handles import read_first_prompt
from scopes.ids import ConversationId
from scopes.importers.discovery import find_outside_links, find_sources, find_standard_folders, open_pipe, spool_stream
from scopes.importers.formats.base import Source
from scopes.importers.formats.registry import FORMATS
from scopes.importers.found_transcripts import FoundTranscripts, list_transcripts, nothing_found
from scopes.importers.import_sources import ImportOptions, import_sources
from scopes.importers.results import GroupedNote, Imported, Skipped
from scopes.importers.source_queue import check_any
from scopes.render.output import progress
from scopes.result import Note, counted, format_size
from scopes.store.projects import Project, find_store_project
from scopes.store.repository import Repository, empty_store

_MANY_CONVERSATIONS = 20


@dataclass(frozen=True, slots=True)
class CollectedSources:
    """The sources to import, with skipped files and notes from the search for them."""

    sources: list[Source]
    skipped: tuple[Skipped, ...]
    notes: tuple[GroupedNote, ...]


def collect_sources(invocation: Invocation, paths: Sequence[str]) -> CollectedSources:
    """Return the sources of the given paths; without paths those in the agents' standard folders, after listing them.

    Raises:
        NotFound: a path does not exist, or no standard folder has a transcript.
        CannotImport, Inaccessible: the only path contains no transcripts, or cannot be read.
    """
    skipped: list[Skipped] = []
    if paths:
        sources = _sources_of_paths(invocation, paths, skipped)
        folders = [path for path in paths if os.path.isdir(path)]
    else:
        standard = find_standard_folders(FORMATS, invocation.environ, invocation.home)
        sources = _sources_of_agents(invocation, standard, skipped)
        folders = [folder for each in standard.values() for folder in each]
    hint = "to import it, give the file or folder that it points to"
    several = "{} links point out of the folder and were not followed"
    notes = tuple(
        GroupedNote(f"{link} points out of the folder and was not followed", several, hint)
        for link in find_outside_links(folders)
    )
    sources.sort(key=lambda source: source.named)  # a file that was also given by name is kept as that
    unique = list({source.path: source for source in sources}.values())
    return CollectedSources(unique, tuple(skipped), notes)


def _sources_of_paths(invocation: Invocation, paths: Sequence[str], skipped: list[Skipped]) -> list[Source]:
    """Return the sources of all paths; of several paths, those that cannot be read are added to `skipped`."""
    sources: list[Source] = []
    for path in paths:
        try:
            sources += _sources_of_path(invocation, path, skipped)
        except (CannotImport, Inaccessible) as error:
            if len(paths) == 1:
                raise
            skipped.append(Skipped(path=path, reason=error.message, error=error, named=True, noted=True))
    return sources


def projects_to_import(invocation: Invocation, given: Sequence[str]) -> tuple[Project, ...] | None:
    """Return the projects to import: those given, else the project whose store is in use; None for all projects.

    Raises:
        Invalid: `given` has something that is no project.
    """
    if given:
        return choose_projects(invocation, given, stored=False) or None
    own = find_store_project(invocation.store_path, invocation.cwd)
    return None if own is None else (own,)


def _sources_of_path(invocation: Invocation, path: str, skipped: list[Skipped]) -> list[Source]:
    """Return the sources of one path; standard input (`-`) and named pipes are copied to a temporary file first."""
    if path == "-":
        return [spool_stream(invocation.stdin.buffer, path)]
    if _is_pipe(path):
        with open_pipe(path) as stream:
            return [spool_stream(stream, path)]
    return find_sources(path, skipped)


def _is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _sources_of_agents(
    invocation: Invocation, standard: Mapping[str, list[str]], skipped: list[Skipped]
) -> list[Source]:
    found: list[Source] = []
    for agent, folders in standard.items():
        sources = [source for folder in folders for source in _sources_of_folder(folder, skipped)]
        size = format_size(sum(source.size for source in sources))
        invocation.output().say(f"{agent}: {counted(len(sources), 'transcript')}, {size}, in {', '.join(folders)}")
        found += sources
    if not found:
        links = find_outside_links([folder for folders in standard.values() for folder in folders])
        if links:
            only = f"{counted(len(links), 'link')} out of them, such as {links[0]}"
            reason = f"no agent has transcripts in its standard folders, only {only}: links are not followed"
            raise NotFound(reason, hint="give the folder that they point to: scopes import FOLDER")
        raise nothing_found(FORMATS, invocation.environ, invocation.home)
    return found


def _sources_of_folder(folder: str, skipped: list[Skipped]) -> list[Source]:
    try:
        return [replace(source, named=False) for source in find_sources(folder, skipped)]  # it may be one file
    except Inaccessible as error:  # the folders of other agents are imported
        skipped.append(Skipped(path=folder, reason=error.message, error=error, noted=True))
        return []
    except (CannotImport, NotFound):  # it has no transcript, or has just been removed
        return []


def list_found(invocation: Invocation) -> FoundTranscripts:
    """Return what the agents have in their standard folders, with progress on a terminal.

    Raises:
        NotFound: no agent has a transcript.
    """
    repository = invocation.find_repository(create=True)
    with progress(invocation.output(), "looking at files") as on_progress:
        return list_transcripts(repository, FORMATS, invocation.environ, invocation.home, on_progress=on_progress)


def import_all(invocation: Invocation, collected: CollectedSources, options: ImportOptions) -> Imported:
    """Import the collected sources, with a progress bar on a terminal.

    If there is no store yet, first check that there is something to import, and only then create it.

    Raises:
        As `import_sources`.
    """
    repository = invocation.find_repository(create=True)
    if repository is None and (options.dry_run or options.strict or options.title is not None):
        with empty_store() as store:
            preview = import_into(invocation, store, collected, replace(options, dry_run=True))
        if options.dry_run:
            return preview
    elif repository is None:
        check_any(collected.sources, FORMATS)
    return import_into(invocation, repository or invocation.repository(create=True), collected, options)


def import_and_describe(invocation: Invocation, collected: CollectedSources, options: ImportOptions) -> Imported:
    """Import the collected sources, and add the first prompts of conversations without a title.

    Raises:
        As `import_sources`.
    """
    with explain_interrupt(invocation):
        return with_first_prompts(invocation, import_all(invocation, collected, options))


def note_imported_files(invocation: Invocation, result: Imported) -> None:
    """Say in the log of the hooks which files were imported, so that their problems are over; not of a dry run.

    Commits that hooks of git could not record are recorded then, too.
    """
    if not result.dry_run:
        paths = [source.path for source in result.sources]
        from scopes.live.hook_failures import log_imported_files

        log_imported_files(invocation.state_directory, paths)
        record_waiting_commits(invocation)


def take_spooled(invocation: Invocation) -> int:
    """Take what `scopes acp` could not write, so that an imported session joins it; return how many messages.

    It comes before the search for sources: where only `scopes acp` is used, no agent has a transcript. A failure is
    only a note.
    """
    try:
        taken = take_waiting(invocation)
    except (ScopesError, OSError) as error:
        invocation.output().note(Note(f"messages of scopes acp wait on: {error}", hint="see: scopes doctor"))
        return 0
    if taken:
        invocation.output().say(f"took {counted(taken, 'message')} of scopes acp that waited for the store")
    return taken


def with_first_prompts(invocation: Invocation, result: Imported) -> Imported:
    """Return a result with the first prompts of conversations without a title, where they are missing.

    It is unchanged for JSON, which has none.
    """
    repository = None if invocation.json else invocation.find_repository(create=True)  # none in a dry run
    if repository is None:
        return result
    known: dict[ConversationId, str | None] = {}
    if (
        sum(row.title is None and row.first_prompt is None for row in result.conversations) >= _MANY_CONVERSATIONS
    ):  # a large import has just updated the index of the list
        listed = find_cached_list(repository.path, invocation.index_directory)
        known = {} if listed is None else {row.id: row.opening for row in listed.conversations}
    rows = [
        row
        if row.title is not None or row.first_prompt is not None
        else replace(row, first_prompt=known[row.id] if row.id in known else read_first_prompt(repository, row.id))
        for row in result.conversations
    ]
    return replace(result, conversations=tuple(rows))


@contextmanager
def explain_interrupt(invocation: Invocation) -> Iterator[None]:
    """Tell that an interrupted import has stored nothing."""
    try:
        yield
    except KeyboardInterrupt:
        if invocation.committed is not None:
            raise
        hint = "no session was whole yet; repeat the command to import them"
        raise Interrupted("interrupted: nothing was imported", hint=hint) from None


def import_into(
    invocation: Invocation,
    repository: Repository,
    collected: CollectedSources,
    options: ImportOptions,
) -> Imported:
    """Import the collected sources into a store, with a progress bar on a terminal.

    Raises:
        As `import_sources`.
    """
    total = sum(source.size for source in collected.sources)
    with progress(invocation.output(), "importing", total, in_bytes=True) as on_progress:
        return import_sources(
            repository,
            collected.sources,
            FORMATS,
            options,
            on_progress=on_progress,
            skipped=collected.skipped,
            notes=collected.notes,
            index_directory=None if options.dry_run else invocation.index_directory,
        )
