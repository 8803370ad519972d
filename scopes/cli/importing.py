"""What `import` does around its one operation: finding the sources, saying what was found, showing how far it is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scopes.cli.invocation import Invocation
from scopes.clock import now_nanoseconds
from scopes.conversation.moments import parse_moment
from scopes.errors import CannotImport, NotFound
from scopes.importers.format import Source
from scopes.importers.gathering import gather, links_out_of, standard_places
from scopes.importers.registry import FORMATS
from scopes.importers.results import Imported
from scopes.importers.run import import_sources
from scopes.render.progress import progress
from scopes.result import Note


@dataclass(frozen=True, slots=True)
class Collected:
    """The sources to import, and what is to be said of where they were looked for."""

    sources: list[Source]
    notes: tuple[Note, ...]


def collect_sources(call: Invocation, paths: Sequence[str], since: str | None) -> Collected:
    """Return the sources that were named, or those in the agents' standard places, after saying what was found.

    Raises:
        NotFound: there is no such path, or no agent has a history here.
        CannotImport: a path holds no transcripts.
    """
    places = {} if paths else standard_places(call.environ, call.home)
    found = [source for path in paths for source in gather(path)] if paths else _gather_histories(call, places)
    folders = paths or [folder for folders in places.values() for folder in folders]
    hint = "name the file or folder it leads to"
    notes = tuple(Note(f"{link} leads out of the folder and was not followed", hint) for link in links_out_of(folders))
    unique = list({source.path: source for source in found}.values())
    if since is not None:
        start = parse_moment(since, now_nanoseconds()) / 1e9
        unique = [source for source in unique if os.stat(source.path).st_mtime >= start]
    return Collected(unique, notes)


def _gather_histories(call: Invocation, places: Mapping[str, list[str]]) -> list[Source]:
    found: list[Source] = []
    for agent, folders in places.items():
        sources = [source for folder in folders for source in _gather_or_none(folder)]
        size = sum(source.size for source in sources) / 1e6
        call.output().say(f"{agent}: {len(sources)} transcripts, {size:.1f} MB, in {', '.join(folders)}")
        found += sources
    if not found:
        hint = "name a file or a folder, or set CLAUDE_CONFIG_DIR or CODEX_HOME"
        raise NotFound("no agent has a history in its standard place here", hint=hint)
    return found


def _gather_or_none(folder: str) -> list[Source]:
    try:
        return gather(folder)
    except CannotImport:
        return []


def import_all(
    call: Invocation,
    collected: Collected,
    *,
    dry_run: bool,
    strict: bool,
    again: bool,
    title: str | None,
    report: bool,
) -> Imported:
    """Import with a progress bar at a terminal; raises as the operation does."""
    repository = call.repository(create=True)
    total = sum(source.size for source in collected.sources)
    with progress(call.output(), "importing", total) as advance:
        return import_sources(
            repository,
            collected.sources,
            FORMATS,
            dry_run=dry_run,
            strict=strict,
            again=again,
            title=title,
            report=report,
            advance=advance,
            notes=collected.notes,
        )
