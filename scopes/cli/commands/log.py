"""`scopes conv log`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import NulRows, Since, Template, Until
from scopes.cli.invocation import Invocation
from scopes.conversation.log import LogFilter
from scopes.conversation.log import log as walk
from scopes.render.view_options import ViewOptions


def log(
    context: typer.Context,
    where: Annotated[
        str,
        typer.Argument(metavar="WHERE", help="CONV, CONV/BRANCH, CONV/BRANCH~2, CONV@{2 hours ago}, or a range A..B"),
    ],
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="-- PATH", help="Only messages that touched this file or directory")
    ] = None,
    graph: Annotated[bool, typer.Option("--graph", help="Draw the branches beside the messages")] = False,
    oneline: Annotated[bool, typer.Option("--oneline", help="One line a message")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Fold nothing: whole texts, thoughts, tool calls and results")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Every branch, not only the one that is meant")] = False,
    reverse: Annotated[bool, typer.Option("--reverse", help="Oldest first")] = False,
    count: Annotated[int | None, typer.Option("-n", min=0, metavar="N", help="At most so many messages")] = None,
    author: Annotated[str | None, typer.Option("--author", metavar="NAME", help="Only this author's messages")] = None,
    kind: Annotated[str | None, typer.Option("--kind", metavar="KIND", help="Only messages of this kind")] = None,
    since: Since = None,
    until: Until = None,
    template: Template = None,
    nul: NulRows = False,
) -> int:
    """Show the messages of a branch.

    Newest first. On a terminal a tool call is one line with how it ended, and thoughts, results and what an agent's
    program put in are folded; --full unfolds them. In a pipe one row each: id, time, author, kind, subject; with --json
    one JSON object a line.

    Examples:
      scopes conv log conv-001
      scopes conv log conv-001 --all --graph --oneline
      scopes conv log conv-001 --full -n 5
      scopes conv log conv-001/analysis/security-review --author reviewer --since '2 days ago'
      scopes conv log conv-001/main..analysis/security-review
      scopes conv log conv-001 -- src/login.py
    """
    call: Invocation = context.obj
    wanted = LogFilter(author=author, kind=kind, since=since, until=until, path=paths[0] if paths else None)
    seen = call.stdout.isatty() and not call.json
    found = walk(
        call.repository(), where, all_branches=every, graph=graph, oldest_first=reverse, limit=count,
        only=wanted, bodies=call.json or seen or None, results=seen,
    )  # fmt: skip
    options = ViewOptions(graph=graph, oneline=oneline, full=full)
    return call.show(found, nul=nul, template=template, options=options)
