"""`scopes conv import`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from scopes.cli import usage
from scopes.cli.arguments import AllProjects, OfProjects, Since
from scopes.cli.import_runner import (
    CollectedSources,
    choose_projects,
    collect_sources,
    import_made_up_conversation,
    import_or_repeat,
    list_found,
    note_imported_files,
    refuse_other_options,
    take_spooled,
)
from scopes.cli.invocation import Invocation
from scopes.clock import now_nanoseconds, parse_date
from scopes.errors import NotFound
from scopes.importers.import_sources import ImportOptions
from scopes.importers.results import Imported
from scopes.loading import load
from scopes.render.view_options import ViewOptions
from scopes.result import Note


def import_(
    context: usage.Context,
    paths: Annotated[
        list[str] | None,
        usage.Argument(
            metavar="PATH", help="Transcripts or folders; - reads standard input (default: all that are found)"
        ),
    ] = None,
    dry_run: Annotated[bool, usage.Option("--dry-run", help="Print what would be imported, and write nothing")] = False,
    strict: Annotated[
        bool, usage.Option("--strict", help="Import nothing if a record or a file cannot be read")
    ] = False,
    since: Since = None,
    project: OfProjects = None,
    all_projects: AllProjects = False,
    title: Annotated[
        str | None, usage.Option("--title", metavar="TEXT", help="The title of the conversation (default: its own)")
    ] = None,
    again: Annotated[bool, usage.Option("--again", help="Also import conversations that were deleted here")] = False,
    no_join: Annotated[
        bool, usage.Option("--no-join", help="Import copies of other sessions as conversations of their own")
    ] = False,
    report: Annotated[bool, usage.Option("--report", help="Print what every byte of every source became")] = False,
    list_: Annotated[
        bool, usage.Option("--list", help="Print which transcripts the agents have, and import nothing")
    ] = False,
    reread: Annotated[bool, usage.Option("--reread", help="Read all files again, also unchanged ones")] = False,
    sample: Annotated[
        bool, usage.Option("--sample", help="Import a made-up conversation of three agents instead")
    ] = False,
    sample_sessions: Annotated[
        bool, usage.Option("--sample-sessions", help="Import two made-up sessions of Claude Code instead")
    ] = False,
) -> int:
    """Import transcripts from other tools.

    Without a path, imports the histories that agents keep in their standard directories; --list says what is there and
    what is new, without reading more than the beginning of each file. The format of a file is found
    by its content: see FORMATS in the manual page. What an agent prints when it runs headless and the session file of
    the same run are one conversation, in any order; each call counts once. A record that cannot be read is kept and
    counted. Nothing is imported twice: of a transcript that has grown since, only the new part is imported. Transcripts
    are never modified. --since compares the time of the last message. If the store, and the size, times and inode of
    each file, are as after the last import, no file is read; --reread reads them. -v lists all notes of one kind.

    The store of a project, which `scopes init` makes in a git repository, takes only the sessions that were recorded in
    that repository or its worktrees; a note counts the others. --all-projects imports them as well, --project those of
    another project. A file that you name is always imported.

    A new session that begins with the messages of another one, up to an agent's answer, becomes a branch of that
    conversation if the answer has the same ids or the same exact time in both, or its text is long; a note says where.
    --no-join makes it a conversation of its own. Conversations that exist already stay as they are. A named file of no
    known format is an error: the exit code is 7 if nothing could be imported, and 1 if other files were. Such files in
    a folder are counted in a note, unless nothing else is in it. --dry-run lists only conversations that would change,
    and counts the others. The rows have one conversation each: its id, its title or first prompt, the messages and new
    messages of the imported sessions, and their branches, without what was added here.

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
    if list_:
        others = (paths, since, title, project, dry_run, strict, again, no_join, report, all_projects, reread)
        refuse_other_options("--list", *others, sample, sample_sessions)
        return invocation.show(list_found(invocation))
    if sample or sample_sessions:
        others = (paths, since, title, project, dry_run, strict, again, no_join, report, all_projects, reread)
        refuse_other_options("--sample" if sample else "--sample-sessions", *others, sample and sample_sessions)
    if sample:
        return invocation.show(import_made_up_conversation(invocation))
    start = None if since is None else parse_date(since, now_nanoseconds())
    projects = choose_projects(invocation, project or [], all_projects=all_projects)
    samples: Sequence[str] = load("scopes.importers.import_sample:SAMPLE_SESSIONS") if sample_sessions else ()
    taken = 0 if dry_run else take_spooled(invocation)
    collected = _collect(invocation, list(samples) or paths or [], taken=taken)
    if isinstance(collected, Imported):
        return invocation.show(collected)
    options = ImportOptions(
        dry_run=dry_run, strict=strict, again=again, title=title, since=start, projects=projects, join=not no_join
    )
    result = import_or_repeat(invocation, collected, options, reread=reread)
    note_imported_files(invocation, result)
    return invocation.show(result, options=ViewOptions(report=report, details=invocation.verbose))


def _collect(invocation: Invocation, paths: list[str], *, taken: int) -> CollectedSources | Imported:
    """Find the sources; if there are none, but turns of `acp` were taken, return the result that says so."""
    try:
        return collect_sources(invocation, paths)
    except NotFound as error:
        if paths or not taken:
            raise
        return Imported(sources=(), conversations=(), notes=(Note(error.message, error.hint),))
