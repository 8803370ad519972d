"""`scopes diff`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import split_compared
from scopes.cli.invocation import Invocation
from scopes.conversation.diff import diff as run_diff
from scopes.errors import Invalid
from scopes.render.view_options import ViewOptions


def diff(
    context: typer.Context,
    left: Annotated[
        str | None, typer.Argument(metavar="CONV", help="The conversation, or the first of two revisions")
    ] = None,
    right: Annotated[
        str | None,
        typer.Argument(metavar="A..B", help="Two revisions of it, or the second revision", show_default=False),
    ] = None,
    other: Annotated[
        str | None, typer.Argument(metavar="B", help="The second revision of CONV, after the first", show_default=False)
    ] = None,
    stat: Annotated[bool, typer.Option("--stat", help="Only count the differences")] = False,
    commit: Annotated[
        str | None,
        typer.Option("--commit", metavar="REV", help="Compare a commit of the project with the edits that it is from"),
    ] = None,
) -> int:
    """Compare two branches, messages or conversations.

    Shows the values that differ, contradictions first, and the messages that only one side has. Messages are compared
    by id and content; decisions, proposals, findings, files and the user's answers to one question by value. A...B
    compares B with the merge base. The exit code is 0 if nothing differs, and 1 otherwise.

    --commit REV shows the lines that a commit of the project around the current directory added and that no edit of its
    conversations has, or of CONV: somebody changed them afterwards, or a command wrote them. Lines that are too short
    to tell where they are from, such as `}`, are counted only, if an edit of the file has their words. In a pipe each
    line is a row: path, line, text; with --stat each file: path, lines added, lines of edits, short lines, other lines.

    Examples:
      scopes diff main fix
      scopes diff conv-001 main..analysis/security-review
      scopes diff conv-001 main fix
      scopes diff conv-001 conv-002 --stat
      scopes diff conv-001 main~5..main
      scopes diff --commit HEAD
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    if commit is not None:
        conversation = None if left is None else left.partition("/")[0]
        from scopes.cli.commit_options import index_progress

        with index_progress(invocation) as on_progress:
            from scopes.cli.commit_options import revision_request

            request = revision_request(invocation, commit, conversation, on_progress)
            from scopes.conversation.commits import diff_commit

            account = diff_commit(repository, request)
        return invocation.show(account, options=ViewOptions(stat=stat))
    if left is None:
        raise Invalid("nothing to compare was given", hint="for example: scopes diff main fix")
    left, right = split_compared(repository, "diff", left, right, other)
    result = run_diff(repository, left, right, bodies=not stat and not invocation.json)
    return invocation.show(result, options=ViewOptions(stat=stat))
