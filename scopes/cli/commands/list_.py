"""`scopes conv list`."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Annotated, TypeAlias

import typer

from scopes.cli.arguments import AllProjects, OfProjects, Since, Until, choose_projects, refuse_both_scopes
from scopes.cli.invocation import Invocation
from scopes.clock import now_nanoseconds, parse_window
from scopes.conversation.list import ConversationList, ListFilter, find_cached_list, has_copies
from scopes.errors import Invalid, check_not_negative
from scopes.result import Note

_OTHER_LINES = 7  # of a screen: the frame of the table, its title and heading, the line below it, and the prompt
_MIN_ROWS = 5


Limit: TypeAlias = Annotated[
    int | None,
    typer.Option("-n", "--limit", metavar="N", help="At most N (default: a screen, all in a pipe)"),
]
Model: TypeAlias = Annotated[
    str | None, typer.Option("--model", metavar="MODEL", help="Only if its newest answer is by this model: opus")
]
OfRemote: TypeAlias = Annotated[
    str | None, typer.Option("--remote", metavar="REMOTE", help="What a remote had when it was last asked")
]


def list_(
    context: typer.Context,
    limit: Limit = None,
    include_all: Annotated[bool, typer.Option("--all", "-a", help="All conversations, not only a screen")] = False,
    since: Since = None,
    until: Until = None,
    agent: Annotated[str | None, typer.Option("--agent", metavar="AGENT", help="Only with this participant")] = None,
    project: OfProjects = None,
    all_projects: AllProjects = False,
    model: Model = None,
    tag: Annotated[str | None, typer.Option("--tag", metavar="TAG", help="Only with this tag")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="The deleted ones, with the operation to undo")] = False,
    participants: Annotated[bool, typer.Option("--participants", help="Name every participant")] = False,
    remote: OfRemote = None,
) -> int:
    """List conversations, newest first.

    Lists all conversations of the store, whatever the current directory. --project . narrows the list to the project of
    this directory, which is its repository with all worktrees and clones; a word without a slash is the name of a
    project. Where a title is missing, the beginning of the first prompt is shown. --agent and --model accept a name, or
    the beginning of one or of a word in it: claude, opus. If no conversation matches, a note names those that there
    are; the exit code is 0.

    --deleted lists the conversations that `delete` moved to the trash: id, title, branches, when, and the operation
    that `scopes undo` restores it with. They stay there until `scopes gc --expire`.

    --remote lists the conversations of a remote, also those that are not here, from the list that scopes fetch
    --manifests has made, and from what was pushed and fetched since. Each is named by its root commit, and log, show
    and the like fetch it when they first read it. One without a title shows the beginning of its first prompt, all of
    it if it is here. What an earlier version of scopes has pushed has no prompt there until the next push of it, and
    its messages are those of its longest branch; a note says how many have no title.

    On a terminal prints a table of one screen. In a pipe prints all rows, with tabs between the columns: id,
    participants, branches, last activity, title; --format has the others as well (project, messages, agent, model,
    tags, and more). Abandoned branches are not counted.

    If there is a remote, a column compares with it: +2 is for two messages that it lacks, -1 for one that only it has,
    and = for the same on both sides, as of the last fetch or push. That is the remote origin, or the only one; --format
    and --json have ahead and behind. What redact has copied on this machine is marked as a copy; --format and --json
    have copy_of, the id of the original.

    Examples:
      scopes conv list
      scopes conv list -n 50 --since '2 weeks ago'
      scopes conv list --project . --agent claude-code
      scopes conv list --model opus --tag good
      scopes conv list --format '{id} {project} {messages} {title}'
      scopes conv list --json
      scopes list --deleted
      scopes list --remote origin -n 100
    """
    invocation: Invocation = context.obj
    others = any((since, until, agent, project, all_projects, model, tag, participants))
    if remote is not None:
        if others or deleted:
            raise Invalid("--remote can be combined with -n and --all only", hint="leave the other options out")
        return _list_remote(invocation, remote, _limit(invocation, limit, include_all=include_all))
    if deleted:
        if others or limit is not None or include_all:
            raise Invalid("--deleted cannot be combined with other options of list", hint="leave them out")
        from scopes.conversation.new_rename_delete import list_deleted

        return invocation.show(list_deleted(invocation.repository()))
    refuse_both_scopes(project, all_projects=all_projects)
    terminal, data = invocation.stdout.isatty(), invocation.wants_data
    rows = _limit(invocation, limit, include_all=include_all)
    start, end = parse_window(since, until, now_nanoseconds())
    wanted = ListFilter(
        since=start, until=end,
        agent=agent, model=model, tag=tag, limit=rows,
        projects=choose_projects(invocation, project or ()),
    )  # fmt: skip
    result = _list(invocation, wanted)
    if (terminal or data) and result.conversations and has_copies(invocation.store_path):
        from scopes.history.handles import list_copies

        copies = list_copies(invocation.repository())
        result = replace(result, copies={each.copy: each.original or "" for each in copies})
    if not result.conversations and not result.more and not wanted.conditional:
        invocation.add_notes(_note_remotes(invocation))
    from scopes.render.view_options import ViewOptions

    options = ViewOptions(participants=participants, past=invocation.at_operation is not None)
    return invocation.show(result, options=options)


def _list(invocation: Invocation, wanted: ListFilter) -> ConversationList:
    """Return the list from the index, or else from the store."""
    if invocation.at_operation is None:
        result = find_cached_list(invocation.store_path, invocation.index_directory, wanted=wanted)
        if result is not None:
            return result
    repository = invocation.find_repository()
    if repository is None:
        invocation.require_store_not_lost()
        return ConversationList(conversations=(), notes=invocation.no_store_notes())
    from scopes.conversation.list import list_conversations
    from scopes.render.progress import progress

    with progress(invocation.output(), "reading conversations") as on_progress:
        return list_conversations(repository, invocation.index_directory, wanted=wanted, on_progress=on_progress)


def _limit(invocation: Invocation, limit: int | None, *, include_all: bool) -> int | None:
    """Return how many rows are shown; None for all.

    Raises:
        Invalid: the options exclude each other, or the number is negative.
    """
    if include_all and limit is not None:
        raise Invalid("--all cannot be combined with -n", hint="leave out one of them")
    on_screen = limit is None and invocation.stdout.isatty() and not invocation.wants_data and not include_all
    check_not_negative(limit, "number of conversations", "for example: -n 20, or --all")
    return _rows_on_screen(invocation) if on_screen else limit


def _list_remote(invocation: Invocation, name: str, limit: int | None) -> int:
    repository = invocation.repository()
    from scopes.sync.remotes import resolve_remote

    remote = resolve_remote(repository, name)
    from scopes.sync.remote_conversations import list_remote as list_remote_

    list_remote = list_remote_
    from scopes.sync.family import list_members

    members = list_members(repository, remote)
    return invocation.show(list_remote(repository, members, invocation.index_directory, limit=limit))


def _note_remotes(invocation: Invocation) -> tuple[Note, ...]:
    """Return what is known of remotes, for a store that has nothing itself."""
    repository = invocation.find_repository()
    from scopes.sync.remote_conversations import note_remotes

    describe = note_remotes
    if repository is None:
        return ()
    notes: tuple[Note, ...] = describe(repository, invocation.index_directory, invocation.store)
    return notes


def _rows_on_screen(invocation: Invocation) -> int | None:
    """Return how many rows of the table fit on the terminal; None if its size is unknown."""
    try:
        lines = int(invocation.environ.get("LINES", "0")) or os.get_terminal_size(invocation.stdout.fileno()).lines
    except (OSError, ValueError):
        return None
    return max(lines - _OTHER_LINES, _MIN_ROWS) if lines > 0 else None
