"""`scopes conv log`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import LATEST, NulRows, Since, Template, Until
from scopes.cli.invocation import Invocation, before_separator
from scopes.conversation.log import LogFilter
from scopes.conversation.log import log as run_log
from scopes.render.view_options import ViewOptions


def log(
    context: typer.Context,
    where: Annotated[
        str,
        typer.Argument(
            metavar="WHERE",
            help="CONV, CONV/BRANCH, CONV/BRANCH~2, CONV@{2 hours ago}, or A..B (default: the latest conversation)",
            show_default=False,
        ),
    ] = LATEST,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="-- PATH", help="Only messages that touched this file or directory")
    ] = None,
    graph: Annotated[bool, typer.Option("--graph", help="Draw the branches as a graph")] = False,
    oneline: Annotated[bool, typer.Option("--oneline", help="One line per message")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Print everything: reasoning, tool calls and results in full")
    ] = False,
    include_all: Annotated[bool, typer.Option("--all", help="All branches, not only one")] = False,
    reverse: Annotated[bool, typer.Option("--reverse", help="Oldest first")] = False,
    count: Annotated[int | None, typer.Option("-n", min=0, metavar="N", help="Print at most N messages")] = None,
    author: Annotated[str | None, typer.Option("--author", metavar="NAME", help="Only this author's messages")] = None,
    kind: Annotated[str | None, typer.Option("--kind", metavar="KIND", help="Only messages of this kind")] = None,
    since: Since = None,
    until: Until = None,
    template: Template = None,
    nul: NulRows = False,
) -> int:
    """Show the messages of a branch.

    Newest first. On a terminal a tool call is one line with its outcome; reasoning, tool results and text that the
    agent's program inserted are folded unless --full is given. In a pipe one row each: id, time, author, kind, subject.
    With --json one JSON object per line.

    Examples:
      scopes log
      scopes log conv-001 -5
      scopes conv log conv-001 --all --graph --oneline
      scopes conv log conv-001 --full -n 5
      scopes conv log conv-001/analysis/security-review --author reviewer --since '2 days ago'
      scopes conv log conv-001/main..analysis/security-review
      scopes conv log conv-001 -- src/login.py
    """
    invocation: Invocation = context.obj
    if not paths and where in invocation.arguments and where not in before_separator(invocation.arguments):
        where, paths = LATEST, [where]  # `log -- PATH`
    log_filter = LogFilter(author=author, kind=kind, since=since, until=until, path=paths[0] if paths else None)
    on_terminal = invocation.stdout.isatty() and not invocation.json
    result = run_log(
        invocation.repository(), where, all_branches=include_all, graph=graph, oldest_first=reverse,
        limit=count, only=log_filter, bodies=invocation.json or on_terminal or None, results=on_terminal,
    )  # fmt: skip
    options = ViewOptions(graph=graph, oneline=oneline, full=full)
    return invocation.show(result, nul=nul, template=template, options=options)
