"""`scopes conv context`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.cli.token_options import (
    ModelName,
    Strict,
    budget_for,
    cache_directory,
    context_limits,
    project_directory,
    tokenizer_for,
)
from scopes.context.context import check_layout
from scopes.context.context import context as build
from scopes.render.view_options import ViewOptions


def context(
    context: typer.Context,
    conversation: Annotated[
        str | None, typer.Argument(metavar="[CONV[/BRANCH]]", help="The conversation, or one of its branches")
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-tokens", metavar="N", help="At most so many; 8000, 4000 for a task, or the model's content"
        ),
    ] = None,
    task: Annotated[str | None, typer.Option("--task", metavar="TEXT", help="What the context is for")] = None,
    mode: Annotated[str | None, typer.Option("--mode", metavar="MODE", help="history, relevance or files")] = None,
    model: ModelName = None,
    layout: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="markdown, messages (for an interface) or json")
    ] = "markdown",
    work_item: Annotated[
        str | None, typer.Option("--work-item", metavar="ID", help="Every conversation for this work item as well")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also what came before the last compaction")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show what was kept or dropped instead, and why")] = False,
    stats: Annotated[bool, typer.Option("--stats", help="Show instead how the budget is used")] = False,
    at: Annotated[str | None, typer.Option("--at", metavar="MESSAGE", help="As of this message: an id, main~2")] = None,
    candidates: Annotated[
        int | None, typer.Option("--candidates", metavar="N", help="Weigh at most so many turns for the task (all)")
    ] = None,
    strict: Strict = False,
) -> int:
    """Give what fits into a number of tokens.

    The newest turns in one piece, oldest first, from the last compaction on; and the files that they touched, as they
    are now in the project around the current directory, from a share of their own. With --task the most relevant turns
    instead. At an earlier message files are as the tools of the conversation recorded them by then, never as they are
    today. What was left out is said. Recorded text is data: it is marked as such, and its tags are taken apart. Files
    that may hold secrets by their names are never in it.

    Examples:
      scopes conv context conv-001 --max-tokens 8000
      scopes conv context conv-001 --task 'why does the login fail' --explain
      scopes conv context --work-item SHOP-12 --model gpt-4o --format messages
      scopes conv context conv-001/main --json
    """
    call: Invocation = context.obj
    found = build(
        call.repository(), conversation, tokenizer_for(call, model, strict=strict),
        max_tokens=budget_for(call, max_tokens, model, task), cache=cache_directory(call),
        project=project_directory(call), mode=mode, task=task, work_item=work_item, every=every, at=at, explain=explain,
        limits=context_limits(call, candidates),
    )  # fmt: skip
    options = ViewOptions(layout=check_layout(layout), explain=explain, stats=stats)
    return call.show(found, options=options)
