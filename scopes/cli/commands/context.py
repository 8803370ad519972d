"""`scopes conv context`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import FenceMark
from scopes.cli.invocation import Invocation
from scopes.cli.token_options import ModelName, Strict, known_model, project_directory, tokenizer_for
from scopes.context.context import context as run_context
from scopes.context.context import find_smallest_budget
from scopes.context.request import new_request
from scopes.errors import BudgetExhausted, Invalid
from scopes.render.view_options import ViewOptions, check_layout


def context(
    context: typer.Context,
    conversation: Annotated[
        str | None, typer.Argument(metavar="[CONV[/BRANCH]]", help="The conversation, or one of its branches")
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option("--max-tokens", metavar="N", help="Token budget (8000; 4000 with --task; or from --model)"),
    ] = None,
    task: Annotated[str | None, typer.Option("--task", metavar="TEXT", help="What the context is for")] = None,
    mode: Annotated[str | None, typer.Option("--mode", metavar="MODE", help="history, relevance or files")] = None,
    model: ModelName = None,
    layout: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="markdown, messages (for an interface) or json")
    ] = "markdown",
    work_item: Annotated[
        str | None, typer.Option("--work-item", metavar="ID", help="Add every conversation for this work item")
    ] = None,
    include_all: Annotated[bool, typer.Option("--all", help="Also messages before the last compaction")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show what was kept or dropped instead, and why")] = False,
    stats: Annotated[bool, typer.Option("--stats", help="Show how the budget is used instead")] = False,
    at: Annotated[str | None, typer.Option("--at", metavar="MESSAGE", help="As of this message: id or main~2")] = None,
    candidates: Annotated[
        int | None,
        typer.Option("--candidates", metavar="N", help="Consider only N turns for the task (default: all)"),
    ] = None,
    include_ignored: Annotated[
        bool, typer.Option("--include-ignored", help="Embed files that git ignores in the project, too")
    ] = False,
    mark: FenceMark = None,
    strict: Strict = False,
) -> int:
    """Build context within a token budget.

    Contains the newest turns since the last compaction, oldest first, and the files that they touched, with their
    current content in the project around the current directory. Files have a share of the budget. With --task the most
    relevant turns of the whole history are chosen instead, also from before a compaction. A tool result is below its
    call. At an earlier message, files have the content that the tools of the conversation recorded, never the current
    one. Notes count what was left out, by reason. Messages that scopes itself writes in a merge are never contained;
    --explain has one row for them. Recorded text stands as data between two lines with a random mark (--mark fixes it);
    tags, lines like another speaker or heading, and invisible characters in it are made harmless. Left out are files
    that may hold secrets, by their names, that git ignores, or that a link leads outside the project; their contents
    are not searched for secrets.

    Examples:
      scopes conv context conv-001 --max-tokens 8000
      scopes conv context conv-001 --task 'why does the login fail' --explain
      scopes conv context --work-item SHOP-12 --model gpt-4o --format messages
      scopes conv context conv-001/main --json
    """
    invocation: Invocation = context.obj
    if max_tokens == 0:
        raise Invalid("a context of 0 tokens is empty", hint="for example: --max-tokens 8000")
    request = new_request(
        invocation.config(), known_model(invocation, model),
        where=conversation, max_tokens=max_tokens, mode=mode, task=task, at=at,
        work_item=work_item, include_all=include_all, explain=explain, candidates=candidates,
        project=project_directory(invocation), mark=mark,
        include_ignored=include_ignored,
    )  # fmt: skip
    options = ViewOptions(layout=check_layout(layout), explain=explain, stats=stats)
    tokenizer = tokenizer_for(invocation, model, strict=strict)
    result = run_context(invocation.repository(), request, tokenizer, invocation.cache_directory)
    if not (result.formatted_history or explain or stats):
        smallest = find_smallest_budget(invocation.repository(), request, tokenizer)
        if smallest is not None:
            raise BudgetExhausted(
                f"nothing of the conversation fits into {result.max_tokens} tokens",
                hint=f"at least: --max-tokens {smallest}",
            )
    return invocation.show(result, options=options)
