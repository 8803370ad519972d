"""`scopes conv context`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from scopes.cli.arguments import LATEST, FenceMark, split_compared
from scopes.cli.invocation import Invocation
from scopes.cli.token_options import MaxTokens, ModelName, Strict, known_model, project_directory, tokenizer_for
from scopes.context.context import context as run_context
from scopes.context.context import find_smallest_budget
from scopes.context.request import Request, new_request
from scopes.errors import BudgetExhausted, Invalid
from scopes.loading import deferred
from scopes.render.view_options import ViewOptions, check_layout
from scopes.tokens.choose import TokenizerChoice

if TYPE_CHECKING:
    from scopes.context.context_diff import diff_contexts
else:
    diff_contexts = deferred("scopes.context.context_diff:diff_contexts")


def context(
    context: typer.Context,
    conversation: Annotated[
        str | None, typer.Argument(metavar="[CONV[/BRANCH]]", help="The conversation, or one of its branches")
    ] = None,
    left: Annotated[
        str | None, typer.Argument(metavar="[A..B]", help="With --diff: two revisions, or the first one")
    ] = None,
    right: Annotated[str | None, typer.Argument(metavar="[B]", help="With --diff: the second revision")] = None,
    max_tokens: MaxTokens = None,
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
    diff: Annotated[bool, typer.Option("--diff", help="Compare the contexts of two revisions instead")] = False,
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
    current content in the project around the current directory. Files have a share of the budget. Without --max-tokens
    the budget is 4000 with --task, and that of the model with --model. With --task the most relevant turns of the whole
    history are chosen instead, also from before a compaction. Decisions in effect come first, in at most a fifth of the
    budget; a turn with a superseded or withdrawn one says so. A tool result is below its call. At an earlier message,
    files have the content that the tools of the conversation recorded, never the current one. Notes count what was left
    out, by reason. Messages that scopes itself writes in a merge are never contained; --explain has one row for them.
    Recorded text stands as data between two lines with a random mark (--mark fixes it); tags, lines like another
    speaker or heading, and invisible characters in it are made harmless. Left out are files that may hold secrets, by
    their names, that git ignores, or that a link leads outside the project; their contents are not searched for
    secrets.

    With --diff two revisions are named as for scopes diff, and the contexts that a model would read there are compared
    turn by turn, with the same options: before and after a compaction, or on two branches. Files have their recorded
    content then. The exit code is 0 if nothing differs, and 1 otherwise.

    Examples:
      scopes conv context conv-001 --max-tokens 8000
      scopes conv context --diff conv-001 main fix --task 'why does the login fail'
      scopes conv context conv-001 --task 'why does the login fail' --explain
      scopes conv context --work-item SHOP-12 --model gpt-4o --format messages
      scopes conv context conv-001/main --json
    """
    invocation: Invocation = context.obj
    if max_tokens == 0:
        raise Invalid("a context of 0 tokens is empty", hint="for example: --max-tokens 8000")
    options = ViewOptions(layout=check_layout(layout), explain=explain, stats=stats)
    _check_diff(diff=diff, other_form=options != ViewOptions() or at is not None, left=left)
    request = new_request(
        invocation.config(), known_model(invocation, model),
        where=conversation, max_tokens=max_tokens, mode=mode, task=task, at=at,
        work_item=work_item, include_all=include_all, explain=explain, candidates=candidates,
        project=project_directory(invocation), mark=mark,
        include_ignored=include_ignored,
    )  # fmt: skip
    tokenizer = tokenizer_for(invocation, model, strict=strict)
    if not diff:
        return _show_context(invocation, request, tokenizer, options)
    repository = invocation.repository()
    names = split_compared(repository, "context --diff", conversation or LATEST, left, right)
    return invocation.show(diff_contexts(repository, request, tokenizer, invocation.cache_directory, names))


def _check_diff(*, diff: bool, other_form: bool, left: str | None) -> None:
    """Raise Invalid if a second word is given without --diff, or --diff with an option for another form of output."""
    if diff and other_form:
        raise Invalid("--diff cannot be combined with --explain, --stats, --at or --format", hint="leave out one")
    if not diff and left is not None:
        raise Invalid(f"too many arguments: {left}", hint="to compare two contexts: --diff")


def _show_context(invocation: Invocation, request: Request, tokenizer: TokenizerChoice, options: ViewOptions) -> int:
    """Show a context.

    Raises:
        BudgetExhausted: the budget is too small for any recorded text.
    """
    result = run_context(invocation.repository(), request, tokenizer, invocation.cache_directory)
    if not (result.formatted_history or options.explain or options.stats):
        smallest = find_smallest_budget(invocation.repository(), request, tokenizer)
        if smallest is not None:
            raise BudgetExhausted(
                f"nothing of the conversation fits into {result.max_tokens} tokens",
                hint=f"at least: --max-tokens {smallest}",
            )
    return invocation.show(result, options=options)
