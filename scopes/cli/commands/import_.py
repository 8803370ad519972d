"""`scopes import`."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote
from typing import Annotated

from scopes.cli.import_runner import (
    collect_sources,
    explain_interrupt,
    import_and_describe,
    list_found,
    note_imported_files,
    projects_to_import,
    take_spooled,
)
from scopes.cli.invocation import Invocation
from scopes.cli.options import OfProjects, Since, Texts, argument, option
from scopes.clock import now_nanoseconds, parse_date
from scopes.errors import Invalid, NotFound
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import ImportOptions, import_sources
from scopes.importers.results import Imported
from scopes.render.output import progress
from scopes.result import Note


def import_(
    invocation: Invocation,
    paths: Annotated[Texts, argument("[PATH]", "Transcripts or directories; - is standard input")] = None,
    since: Since = None,
    project: OfProjects = None,
    watch: Annotated[bool, option("--watch", "Stay, and import what changes")] = False,
    list_: Annotated[bool, option("--list", "List the sessions found, and import nothing")] = False,
    again: Annotated[bool, option("--again", "Read everything again, with today's readers")] = False,
    strict: Annotated[bool, option("--strict", "Import nothing if anything cannot be read")] = False,
    report: Annotated[bool, option("--report", "Say what every byte of every file became")] = False,
    sample: Annotated[bool, option("--sample", "Import a sample, into a store of its own")] = False,
) -> int:
    """Take in sessions of coding agents.

    Without a path, those in the standard directories of the agents. Nothing is imported twice, and no transcript is
    changed. The store of a project takes only its own sessions; --project all takes all.

    Examples:
      scopes import
      scopes import run.jsonl
      scopes import --watch
      scopes import --sample
    """
    tasks = {"--list": list_, "--sample": sample, "--watch": watch, "--again": again}
    given = [name for name, is_given in tasks.items() if is_given]
    if given and (len(given) > 1 or since is not None or strict or report):
        raise Invalid(f"{given[0]} cannot be combined with other options", hint="leave out all but one")
    if (list_ or sample) and (paths or project):
        raise Invalid(f"{given[0]} cannot be combined with paths", hint="import the paths with a second command")
    if list_:
        return invocation.show(list_found(invocation))
    if sample:
        return _import_sample(invocation)
    if watch:
        from scopes.cli.watch_runner import WatchRun

        if invocation.dry_run:
            raise Invalid("--dry-run cannot be combined with --watch", hint="see what is there: scopes import --list")
        return invocation.stream(WatchRun(invocation, paths or [], projects=project).run())
    if again and not paths:
        return _read_again(invocation)
    options = ImportOptions(
        dry_run=invocation.dry_run, strict=strict, again=again, reread=again,
        projects=projects_to_import(invocation, project or ()),
        since=None if since is None else parse_date(since, now_nanoseconds()),
    )  # fmt: skip
    return _import(invocation, paths or [], options, report=report)


def _import(invocation: Invocation, paths: list[str], options: ImportOptions, *, report: bool) -> int:
    """Take the turns that `acp` has left, then import the transcripts."""
    taken = 0 if options.dry_run else take_spooled(invocation)
    try:
        collected = collect_sources(invocation, paths)
    except NotFound as error:
        if paths or not taken:
            raise
        return invocation.show(Imported(sources=(), conversations=(), notes=(Note(error.message, error.hint),)))
    note_imported_files(invocation, result := import_and_describe(invocation, collected, options))
    return invocation.show(result.reported() if report else replace(result, with_details=invocation.verbose))


def _import_sample(invocation: Invocation) -> int:
    """Import the sample, into the store that is named, else into one of its own."""
    from scopes.importers.import_sample import import_sample

    if not invocation.is_store_named:
        from scopes.store.projects import sample_store

        invocation.store = path = sample_store(invocation.environ)
        hint = f"use it: export SCOPES_STORE={quote(path)}; leave it: unset SCOPES_STORE"
        invocation.add_notes([Note(f"the sample is in a store of its own, {path}", hint)])
    with explain_interrupt(invocation):
        return invocation.show(import_sample(invocation.repository(create=True)))


def _read_again(invocation: Invocation) -> int:
    """Read the stored bytes of all transcripts again."""
    options = ImportOptions(dry_run=invocation.dry_run, reread=True)
    with progress(invocation.output(), "reading transcripts") as on_progress:
        result = import_sources(invocation.repository(), (), FORMATS, options, on_progress=lambda _size: on_progress(1))
    return invocation.show(replace(result, with_details=invocation.verbose))
