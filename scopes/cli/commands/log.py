"""`scopes conv log`."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from scopes.cli.arguments import LATEST, CommitOption, Since, Until, find_conversation, names_revision, replace_head
from scopes.cli.command_line import after_separator
from scopes.cli.invocation import Invocation
from scopes.conversation.log import LogFilter, parse_kinds
from scopes.conversation.log import log as run_log
from scopes.errors import Invalid, NotFound
from scopes.render.view_options import ViewOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from scopes.model.message import Message

Where: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="WHERE",
        help="CONV, CONV/BRANCH, CONV/BRANCH~2, CONV@{2 hours ago}, CONV A..B (default: the latest conversation)",
        show_default=False,
    ),
]
Paths: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="-- PATH", help="Only messages that touched this file or directory, also a relative one"),
]
Full: TypeAlias = Annotated[
    bool,
    typer.Option("-p", "--patch", "--full", help="In full: reasoning, input and output of calls"),
]
Author: TypeAlias = Annotated[
    list[str] | None, typer.Option("--author", metavar="NAME", help="Only this author's messages")
]
Grep: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--grep", metavar="PATTERN", help="Only messages in which a regular expression matches"),
]


ShowSignature: TypeAlias = Annotated[
    bool, typer.Option("--show-signature", help="Check the signatures of signed messages with git")
]


def log(
    context: typer.Context,
    where: Where = LATEST,
    paths: Paths = None,
    graph: Annotated[bool, typer.Option("--graph", help="Draw the branches as a graph")] = False,
    oneline: Annotated[bool, typer.Option("--oneline", help="One line per message")] = False,
    full: Full = False,
    include_all: Annotated[bool, typer.Option("--all", help="All branches, not only one")] = False,
    reverse: Annotated[bool, typer.Option("--reverse", help="Oldest first")] = False,
    count: Annotated[int | None, typer.Option("-n", min=0, metavar="N", help="Print at most N messages")] = None,
    author: Author = None,
    kind: Annotated[list[str] | None, typer.Option("--kind", metavar="KIND", help="Only messages of this kind")] = None,
    grep: Grep = None,
    ignore_case: Annotated[bool, typer.Option("-i", "--ignore-case", help="Ignore case in --grep")] = False,
    since: Since = None,
    until: Until = None,
    commit: CommitOption = None,
    show_signature: ShowSignature = False,
) -> int:
    """Show the messages of a branch.

    Newest first. On a terminal a tool call is one line with its outcome, which stands for its result; reasoning and
    text that the agent's program inserted are folded; --full shows everything. Lines mark where the messages of a
    merged branch begin and end, and what each side of the merge did. In a pipe each message is a row: id, time, author,
    kind, subject. The time of a merge is there the one in its commit, that of its newest merged message; a terminal
    shows, and --since and --until compare, the time at which it was written. With --json one JSON object per line;
    "lane" is the merged branch that it is from. If no message matches, a note says so and the exit code is 0, as in
    git.

    --commit REV shows the turn that made a commit of the project around the current directory and those that wrote
    lines of it, in the conversation with the surest link, or in WHERE; a note says which turn is which. In a pipe the
    rows have the columns above; with --json each message has that in "commit_turn": conversation, branch, commit, the
    links of its turn with role, level and number, and the other conversations that are linked to the commit.

    --show-signature adds what git says about the signature of a message with your keys, and whose key it is: good,
    unknown key, bad. In a pipe both are columns at the end. A signer is not compared with the author of the message,
    which is a name that anybody can write. Merges, and resolutions and decisions of people, are signed where git signs
    (commit.gpgSign).

    Examples:
      scopes log
      scopes log conv-001 -5
      scopes conv log conv-001 --all --graph --oneline
      scopes conv log conv-001 --grep 'safari|webkit' -i --oneline
      scopes conv log conv-001 --full -n 5
      scopes conv log conv-001/analysis/security-review --author reviewer --since '2 days ago'
      scopes conv log conv-001 main..analysis/security-review
      scopes conv log conv-001 -- src/login.py
      scopes log --commit HEAD~2 --full
    """
    invocation: Invocation = context.obj
    where = replace_head(where)
    separated = after_separator(invocation.arguments)
    if separated and len(separated) > len(paths or ()):
        where, paths = LATEST, separated  # `log -- PATH`
    messages = None
    if commit is not None:
        from scopes.cli.commit_options import find_commit_messages

        where, messages = find_commit_messages(invocation, commit, where)
        include_all = True
    if paths and not separated:
        where, paths = _split_range(invocation, where, paths, include_all=include_all)
    log_filter = LogFilter(
        author=author, kind=parse_kinds(kind) if kind else None, since=since, until=until,
        path=paths[0] if paths else None,
        body=_match(grep, ignore_case=ignore_case) if grep else None,
        messages=messages,
    )  # fmt: skip
    on_terminal = invocation.stdout.isatty() and not invocation.wants_data
    downwards = on_terminal and not (oneline or graph)
    fits = downwards and not (full or reverse or include_all) and count is None and log_filter == LogFilter()
    result = run_log(
        invocation.repository(), where, all_branches=include_all, graph=graph,
        oldest_first=reverse or (downwards and not fits),
        limit=count, only=log_filter, bodies=invocation.wants_data or on_terminal or None, results=on_terminal,
        fold_results=on_terminal and not full,
        digests=downwards, heading=downwards,
    )  # fmt: skip
    if messages is not None:
        from scopes.conversation.commits import with_commit_turns

        result = with_commit_turns(result, messages)
    if show_signature:
        from scopes.conversation.verify import with_signatures

        result = with_signatures(invocation.repository(), result, invocation.cwd)
    options = ViewOptions(graph=graph, oneline=oneline, full=full, screen=fits, signatures=show_signature)
    return invocation.show(result, options=options)


def _split_range(
    invocation: Invocation, where: str, paths: list[str], *, include_all: bool
) -> tuple[str, list[str] | None]:
    """Return what to show and the path; a word after the conversation that is not a path may be a range.

    Raises:
        Invalid: there are several words, or one is neither a revision nor a path that a message touched.
    """
    hint = f"for any path: scopes log {quote(where)} -- {quote(paths[0])}"
    if len(paths) > 1:
        raise Invalid(f"too many arguments: {' '.join(paths)}", hint=hint)
    only = LogFilter(path=paths[0])
    touched = run_log(invocation.repository(), where, all_branches=include_all, limit=1, only=only)
    if next(iter(touched.items), None) is not None:
        return where, paths
    inside = f"{where}/{paths[0]}"
    first = inside.partition("..")[0]
    if "/" not in where and ".." not in where and names_revision(invocation.repository(), first):
        return inside, None
    if paths[0].startswith("HEAD") and paths[0][4:5] in ("", "~", "^"):
        raise Invalid(
            f"there is no branch 'HEAD' in {where}", hint=f"did you mean scopes log {quote(where)}/main{paths[0][4:]}?"
        )
    if "/" in where or ".." in where:
        raise Invalid(f"no message touched {paths[0]!a}", hint=hint)
    _refuse_swapped(invocation, where, paths[0])
    try:
        from scopes.history.handles import StoreHandle

        StoreHandle(invocation.repository()).conversation(where).revision(first)
    except NotFound as error:
        conversation = f"{where} has" if where != LATEST else "the latest conversation has"
        raise Invalid(
            f"{conversation} no branch {paths[0]!a}, and no message touched a file of that name",
            hint=f"{error.hint}\n{hint}",
        ) from error
    return inside, None


def _refuse_swapped(invocation: Invocation, where: str, word: str) -> None:
    """Raise Invalid for `main conv-001`: a branch or message before its conversation."""
    repository = invocation.repository()
    if find_conversation(repository, word) is not None and names_revision(repository, f"{word}/{where}"):
        raise Invalid(
            f"the conversation comes first: {where!a} was given before it",
            hint=f"name it first: scopes log {quote(word)} {quote(where)}",
        )


def _match(patterns: list[str], *, ignore_case: bool) -> Callable[[Message], bool]:
    """Return a test of the bodies of messages; it loads the regular expressions."""
    from scopes.search.query import grep_messages

    return grep_messages(patterns, ignore_case=ignore_case)
