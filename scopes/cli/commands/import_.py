"""`scopes conv import`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from scopes.cli.arguments import AllProjects, OfProjects, Since
from scopes.cli.import_runner import (
    CollectedSources,
    collect_sources,
    import_made_up_conversation,
    import_or_repeat,
    list_found,
    note_imported_files,
    projects_to_import,
    refuse_other_options,
    take_spooled,
)
from scopes.cli.invocation import Invocation
from scopes.clock import now_nanoseconds, parse_date
from scopes.errors import NotFound
from scopes.importers.import_sources import ImportOptions
from scopes.importers.results import Imported
from scopes.result import Note


def import_(
    context: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH", help="Transcripts or folders; - reads standard input (default: all that are found)"
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be imported, and write nothing")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Import nothing if a record or a file cannot be read")
    ] = False,
    since: Since = None,
    project: OfProjects = None,
    all_projects: AllProjects = False,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="The title of the conversation (default: its own)")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Also import conversations that were deleted here")] = False,
    no_join: Annotated[
        bool, typer.Option("--no-join", help="Import copies of other sessions as conversations of their own")
    ] = False,
    report: Annotated[bool, typer.Option("--report", help="Print what every byte of every source became")] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="Print which transcripts the agents have, and import nothing")
    ] = False,
    reread: Annotated[bool, typer.Option("--reread", help="Read all files again, also unchanged ones")] = False,
    sample: Annotated[
        bool, typer.Option("--sample", help="Import a made-up conversation of three agents instead")
    ] = False,
    sample_sessions: Annotated[
        bool, typer.Option("--sample-sessions", help="Import two made-up sessions of Claude Code instead")
    ] = False,
) -> int:
    """Import transcripts from other tools.

    Without a path, imports the histories that agents keep in their standard directories; --list says what is there and
    what is new, without reading more than the beginning of each file. The format of a file is found by its content: see
    FORMATS in the manual page. A record that cannot be read is kept and counted. Nothing is imported twice: of a
    transcript that has grown since, only the new part is imported. Transcripts are never modified. A branch that
    somebody has moved since, such as by a message of another agent on it, stays as it is: then the new messages of its
    session are on a branch import/... of the conversation. log, show and resume say so, and scopes switch CONV
    import/... makes it the active branch.

    The store of a project, which `scopes init` makes in a git repository, takes only the sessions of that project, as
    scopes list --project finds them; a note counts the others. --all-projects imports them as well, --project those of
    another project. A file that you name is always imported.

    A new session that begins as another one does becomes a branch of that conversation, unless --no-join is given. If a
    named file has no known format, the exit code is 7, or 1 if others were imported. See JOINS in the manual page.

    Examples:
      scopes conv import
      scopes conv import ~/.claude/projects/-home-carol-shop
      curl -s "$URL" | scopes conv import -
      scopes conv import ~/.local/share/opencode/opencode.db
      scopes conv import --dry-run --since '7 days ago'
      scopes conv import --project ~/work/shop --report
      scopes conv import --list
      scopes conv import --sample-sessions
    """
    invocation: Invocation = context.obj
    if list_ or sample or sample_sessions:
        others = (paths, since, title, project, dry_run, strict, again, no_join, report, all_projects, reread)
        alone = "--list" if list_ else "--sample" if sample else "--sample-sessions"
        refuse_other_options(alone, *others, list_ + sample + sample_sessions > 1)
    if list_:
        return invocation.show(list_found(invocation))
    invocation.require_store_not_lost()
    if sample:
        return invocation.show(import_made_up_conversation(invocation))
    start = None if since is None else parse_date(since, now_nanoseconds())
    projects = projects_to_import(invocation, project or [], all_projects=all_projects)
    from scopes.importers.import_sample import SAMPLE_SESSIONS

    samples: Sequence[str] = SAMPLE_SESSIONS if sample_sessions else ()
    options = ImportOptions(
        dry_run=dry_run, strict=strict, again=again, title=title, since=start, projects=projects, join=not no_join
    )
    return _import(invocation, list(samples) or paths or [], options, reread=reread, report=report)


def _import(invocation: Invocation, paths: list[str], options: ImportOptions, *, reread: bool, report: bool) -> int:
    """Take the turns that `acp` has left, then import the transcripts."""
    taken = 0 if options.dry_run else take_spooled(invocation)
    collected = _collect(invocation, paths, taken=taken)
    if isinstance(collected, Imported):
        return invocation.show(collected)
    note_imported_files(invocation, result := import_or_repeat(invocation, collected, options, reread=reread))
    return invocation.show(result.reported() if report else replace(result, with_details=invocation.verbose))


def _collect(invocation: Invocation, paths: list[str], *, taken: int) -> CollectedSources | Imported:
    """Find the sources; if there are none, but turns of `acp` were taken, return the result that says so."""
    try:
        return collect_sources(invocation, paths)
    except NotFound as error:
        if paths or not taken:
            raise
        return Imported(sources=(), conversations=(), notes=(Note(error.message, error.hint),))
