"""`scopes list`, `show`, `new`, `usage` and `changes`: conversations as a whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Annotated, cast

from scopes.cli.invocation import Invocation
from scopes.cli.options import (
    LATEST,
    LatestConversation,
    Limit,
    OfProjects,
    OnlyAgent,
    OnlyModel,
    Since,
    Text,
    Texts,
    Until,
    argument,
    choose_projects,
    option,
)
from scopes.cli.progress import counted
from scopes.cli.words import read_where
from scopes.clock import now_nanoseconds, parse_window
from scopes.errors import Invalid, NotFound, check_not_negative
from scopes.result import Note, plural

if TYPE_CHECKING:
    from scopes.conversation.list import ConversationList, ListFilter
    from scopes.result import Result
    from scopes.store.repository import Repository
    from scopes.usage.usage import By

_OTHER_LINES = 7  # of a screen: the frame of the table, its title and heading, the line below it, and the prompt
_MIN_ROWS = 5


def list_(
    invocation: Invocation,
    words: Annotated[
        Texts, argument("[WORD]", "Words of the title or prompt, agent:, model:, tag:, branch:, project:")
    ] = None,
    limit: Limit = None,
    include_all: Annotated[bool, option("-a, --all", "Every row, not only a screen")] = False,
    since: Since = None,
    until: Until = None,
    project: OfProjects = None,
    agent: OnlyAgent = None,
    deleted: Annotated[bool, option("--deleted", "List deleted conversations, with how to undo")] = False,
) -> int:
    """List conversations, newest first.

    The list is of the whole store, whatever the current directory; --project . narrows it. On a terminal it is one
    screen, in a pipe it is all of it. Where a title is missing, the beginning of the first prompt is shown.

    Examples:
      scopes list
      scopes list --since yesterday --project .
      scopes list cookies tag:good agent:codex
      scopes list --json=id,title,agent
    """
    check_not_negative(limit, "number of conversations", "for example: -n 20, or --all")
    if include_all and limit is not None:
        raise Invalid("--all cannot be combined with -n", hint="leave out one of them")
    if deleted:
        if words or any((since, until, agent, project, include_all)) or limit is not None:
            raise Invalid("--deleted cannot be combined with other options of list", hint="leave them out")
        from scopes.conversation.new_rename_delete import list_deleted

        return invocation.show(list_deleted(invocation.repository()))
    wanted = _read_filter(invocation, words or (), agent, project)
    start, end = parse_window(since, until, now_nanoseconds())
    if limit is None and not include_all and invocation.stdout.isatty() and not invocation.wants_data:
        limit = _rows_on_screen(invocation)
    result = _list(invocation, wanted := wanted._replace(since=start, until=end, limit=limit))
    from scopes.conversation.list import has_copies

    if (invocation.stdout.isatty() or invocation.wants_data) and result.conversations:
        if has_copies(invocation.store_path):
            from scopes.history.handles import list_copies

            copies = list_copies(invocation.repository())
            result = replace(result, copies={each.copy: each.original or "" for each in copies})
    elif not result.conversations and not result.more and not wanted.conditional:
        invocation.add_notes(_note_remotes(invocation))
    if invocation.stdout.isatty():
        invocation.add_notes(_note_other_store(invocation))
    from scopes.render.view import ViewOptions

    return invocation.show(result, options=ViewOptions(past=invocation.at_operation is not None))


def _read_filter(
    invocation: Invocation, words: Sequence[str], agent: str | None, projects: list[str] | None
) -> ListFilter:
    """Return the conditions of words: fields such as `tag:good`, and words of titles and prompts."""
    from scopes.conversation.list import ListFilter

    found = ListFilter(agent=agent, projects=choose_projects(invocation, projects))
    texts: list[str] = []
    for word in words:
        name, colon, value = word.partition(":")
        match name if colon else "":
            case "agent":
                found = found._replace(agent=value)
            case "model":
                found = found._replace(model=value)
            case "tag":
                found = found._replace(tag=value)
            case "branch":
                found = found._replace(among=_with_branch(invocation, value))
            case "project":
                found = found._replace(projects=(*found.projects, *choose_projects(invocation, [value])))
            case _:
                texts.append(word)
    return found._replace(words=tuple(texts))


def _with_branch(invocation: Invocation, branch: str) -> frozenset[str]:
    """Return the conversations that have a branch."""
    from scopes.store.refs import HEADS, split_branch_ref

    repository = invocation.find_repository()
    pairs = map(split_branch_ref, () if repository is None else repository.list_refs(HEADS))
    return frozenset(pair[0] for pair in pairs if pair is not None and pair[1] == branch)


def _list(invocation: Invocation, wanted: ListFilter) -> ConversationList:
    """Return the list from the index, or else from the store."""
    from scopes.conversation.list import ConversationList, find_cached_list, list_conversations

    if invocation.at_operation is None:
        result = find_cached_list(invocation.store_path, invocation.index_directory, wanted=wanted)
        if result is not None:
            return result
    repository = invocation.find_repository()
    if repository is None:
        return ConversationList(conversations=(), notes=invocation.no_store_notes())
    from scopes.render.output import progress

    with progress(invocation.output(), "reading conversations") as on_progress:
        return list_conversations(repository, invocation.index_directory, wanted=wanted, on_progress=on_progress)


def _note_remotes(invocation: Invocation) -> tuple[Note, ...]:
    """Return what is known of remotes, for a store that has nothing itself."""
    repository = invocation.find_repository()
    if repository is None:
        return ()
    from scopes.sync.remote_conversations import note_remotes

    return note_remotes(repository, invocation.index_directory, invocation.store)


def _note_other_store(invocation: Invocation) -> tuple[Note, ...]:
    """Return a note that the list is of the project's store, if the user's store has conversations too."""
    from scopes.store.projects import choose_store, find_project_store
    from scopes.store.refs import HEADS, parse_packed_refs, read_ref_files

    path = find_project_store(os.getcwd())
    other = choose_store({**invocation.environ, "SCOPES_STORE": ""}, os.sep)
    if path is None or not os.path.samefile(path, invocation.store_path) or not os.path.isdir(other):
        return ()
    files = read_ref_files(other, (HEADS,))
    names = {*files.loose, *parse_packed_refs(files.packed, (HEADS,))}
    count = len({name.removeprefix(HEADS).partition("/")[0] for name in names})
    text = f"this is the store of the project; {count:,} {plural(count, 'conversation')} in {other}"
    return (Note(text, f"list those: scopes --store {quote(other)} list"),) if count else ()


def _rows_on_screen(invocation: Invocation) -> int | None:
    """Return how many rows of the table fit on the terminal; None if its size is unknown."""
    try:
        lines = int(invocation.environ.get("LINES", "0")) or os.get_terminal_size(invocation.stdout.fileno()).lines
    except (OSError, ValueError):
        return None
    return max(lines - _OTHER_LINES, _MIN_ROWS) if lines > 0 else None


def show(
    invocation: Invocation,
    what: Annotated[
        str,
        argument(
            "ANYTHING", "A conversation, branch, message, call, tag, operation, remote or memory entry (default: @)"
        ),
    ] = LATEST,
    recent: Limit = None,
    include_hidden: Annotated[bool, option("-a, --all", "Also hidden branches")] = False,
    stat: Annotated[bool, option("--stat", "Count messages, tools, files, tokens and cost")] = False,
    files: Annotated[bool, option("--files", "List the files that were touched, and how")] = False,
    commits: Annotated[bool, option("--commits", "List the commits it made, with the evidence")] = False,
    show_signature: Annotated[bool, option("--show-signature", "Check signatures with git")] = False,
) -> int:
    """Show a conversation, message, operation, ...

    --format mermaid draws the branches as a gitGraph. --commits searches the project of the current directory: made,
    a call of the turn ran git commit; wrote, edits of the turn have lines of the commit.

    Examples:
      scopes show
      scopes show conv-001 --format mermaid
      scopes show toolu_01AR
      scopes show --files
    """
    if stat + files + commits > 1:
        raise Invalid("--stat, --files and --commits cannot be combined", hint="leave out all but one")
    repository = invocation.repository()
    where = read_where(repository, what)
    if stat or files:
        from scopes.conversation.stats import files as list_files
        from scopes.conversation.stats import stats as count

        return invocation.show(count(repository, where) if stat else list_files(repository, where))
    if commits:
        return invocation.show(_find_commits(invocation, where))
    from scopes.conversation import show as operations

    try:
        view = operations.show(
            repository, where, recent=operations.RECENT if recent is None else recent, include_hidden=include_hidden
        )
    except NotFound as error:
        other = _find_other(invocation, what, where, error, signature=show_signature)
        from scopes.render.view import ViewOptions

        return invocation.show(other, options=ViewOptions(signatures=show_signature))
    if show_signature:
        from scopes.conversation.verify import with_signatures

        view = with_signatures(repository, view, invocation.cwd)
    if invocation.form == "mermaid":
        from scopes.render.mermaid import as_mermaid

        return invocation.show(as_mermaid(view, operations.read_drawing(repository, view)))
    return invocation.show(view)


def _find_commits(invocation: Invocation, where: str) -> Result:
    from scopes.conversation.commits import show_commits

    with counted(invocation, "indexing edits") as on_progress:
        return show_commits(
            invocation.repository(), where.partition("/")[0], directory=invocation.cwd,
            index_directory=invocation.index_directory, on_progress=on_progress,
        )  # fmt: skip


def _find_other(invocation: Invocation, what: str, where: str, error: NotFound, *, signature: bool) -> Result:
    """Return what has this name and is neither a conversation nor a branch: a message, a call, a remote, ...

    Raises:
        NotFound: nothing has; it is `error`, about the conversation.
        Ambiguous: several messages have.
    """
    repository = invocation.repository()
    from scopes.conversation.show import cat
    from scopes.conversation.undo import show_operation
    from scopes.memory.list import show_memory
    from scopes.sync.edit_remotes import show_remote

    def read_message(repository: Repository, name: str) -> Result:
        from scopes.conversation.verify import with_signatures

        view = cat(repository, name)
        return with_signatures(repository, view, invocation.cwd) if signature else view

    readers: tuple[Callable[[Repository, str], Result], ...] = (show_remote, show_memory, show_operation)
    for read, name in ((read_message, where), *((read, what) for read in readers if not what.startswith(LATEST))):
        try:
            return read(repository, name)
        except (NotFound, Invalid):
            continue
    raise error


def new(
    invocation: Invocation,
    title: Annotated[Text, argument("[TITLE]", "Its title")] = None,
    project: Annotated[Text, option("--project DIR", "The directory of its project (default: the current one)")] = None,
    conversation_id: Annotated[Text, option("--id NAME", "Its id (default: the next conv-NNN)")] = None,
    participants: Annotated[Texts, option("--participant AGENT", "Who takes part")] = None,
) -> int:
    """Start a conversation.

    It has a branch main and no messages. The store is created if there never was one.

    Examples:
      scopes new 'Login fails on Safari'
      scopes new --id login --participant ann --json
    """
    if title is not None and not title.strip():
        raise Invalid("the title is empty", hint='give one: scopes new "Login fails", or leave it out')
    from scopes.conversation.new_rename_delete import new as run_new

    made = run_new(
        invocation.repository(create=True),
        conversation_id=conversation_id,
        title=title,
        participants=participants or (),
        directory=os.path.abspath(os.path.expanduser(project or os.curdir)),
    )
    return invocation.show(made)


def usage(
    invocation: Invocation,
    where: Annotated[Texts, argument("[WHERE]", "Only these conversations (default: all)")] = None,
    since: Since = None,
    until: Until = None,
    project: OfProjects = None,
    agent: OnlyAgent = None,
    model: OnlyModel = None,
    by: Annotated[str, option("--by WHAT", "day, week, month, model, agent, project, conversation")] = "day",
    statusline: Annotated[bool, option("--statusline", "One line for a prompt or a status bar")] = False,
) -> int:
    """Show tokens and cost by day, model or project.

    The counts are those of the providers, each answer once, however many branches and copies have it. The cost is at
    list prices; the setting scopes.prices names a table of your own.

    Examples:
      scopes usage
      scopes usage --by model --since 'this month'
      scopes usage conv-041
      scopes usage --by day,model --json
    """
    from scopes.usage.prices import configured_prices
    from scopes.usage.usage import UsageRequest, usage_status
    from scopes.usage.usage import usage as run_usage

    if statusline:
        if where or any((since, until, project, agent, model)):
            raise Invalid("--statusline cannot be combined with other options", hint="leave the others out")
        prices = configured_prices(invocation.config(optional=True))
        return invocation.show(usage_status(invocation.find_repository(), prices, now_nanoseconds()))
    start, end = parse_window(since, until, now_nanoseconds())
    from scopes.render.output import progress

    request = UsageRequest(
        by=tuple(cast("By", word.strip()) for word in by.split(",")),  # it is checked there
        since=start, until=end, conversations=tuple(where) if where else None,
        projects=choose_projects(invocation, project), model=model, agent=agent,
    )  # fmt: skip
    prices, repository = configured_prices(invocation.config(optional=True)), invocation.repository()
    with progress(invocation.output(), "reading conversations") as on_progress:
        return invocation.show(run_usage(repository, request, prices, on_progress=on_progress))


def changes(
    invocation: Invocation,
    conversation: LatestConversation = LATEST,
    limit: Limit = None,
    since: Since = None,
    field: Annotated[Text, option("--field PATH", "Only this field: messages, title, branches.main")] = None,
    cause: Annotated[Text, option("--cause WHO", "Only by user, agent, system, remote, agent:NAME")] = None,
    operation: Annotated[Text, option("--operation OP", "Only CREATE, APPEND, UPDATE, DELETE or MERGE")] = None,
) -> int:
    """List every change of a conversation.

    Messages, branches, title, tags, the active branch, merge requests, decisions and accepted values, as the history
    records them, oldest first.

    Examples:
      scopes changes conv-001
      scopes changes --field title
      scopes changes --cause agent:codex --json
    """
    from scopes.conversation.changes import changes as run_changes

    name, _, branch = conversation.partition("/")
    found = run_changes(
        invocation.repository(), name, since=since, field=field, cause=cause, operation=operation,
        branch=branch or None, limit=limit,
    )  # fmt: skip
    return invocation.show(found)
