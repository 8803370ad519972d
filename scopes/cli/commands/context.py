"""`scopes context` and `summarize`: what a model reads instead of the whole history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from scopes.cli.arguments import LATEST, Limit, ScopeOrLatestArgument, read_where
from scopes.cli.invocation import Invocation
from scopes.cli.token_options import ModelName, known_model, project_directory, read_size, tokenizer_for
from scopes.context.context import context as run_context
from scopes.context.context import find_smallest_budget
from scopes.context.request import MODES, new_request
from scopes.errors import BudgetExhausted, Invalid
from scopes.render.view_options import ViewOptions

if TYPE_CHECKING:
    from scopes.context.request import Request
    from scopes.context.result import Context
    from scopes.tokens.count import TokenizerChoice

_ALL = "all"  # of --mode: also what is before the last compaction


def context(
    context: typer.Context,
    where: Annotated[
        str | None,
        typer.Argument(metavar="[WHERE]", help="A conversation, branch or message (default: @)", show_default=False),
    ] = None,
    limit: Limit = None,
    model: ModelName = None,
    task: Annotated[
        str | None, typer.Option("--task", metavar="TEXT", help="What it is for: keep what matches")
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-tokens", metavar="N", parser=read_size, help="Its size at most: 8000, 10k (4k with a task)"
        ),
    ] = None,
    mode: Annotated[
        str | None, typer.Option("--mode", metavar="MODE", help="history, relevance, files, or all of it")
    ] = None,
    work_item: Annotated[
        str | None, typer.Option("--work-item", metavar="ID", help="Every conversation of this work item")
    ] = None,
    for_prompt: Annotated[bool, typer.Option("--for-prompt", help="The fenced block to put before a prompt")] = False,
    tools: Annotated[
        str | None, typer.Option("--with-tools", metavar="HOW", help="Tool calls as status, full or none")
    ] = None,
    memory: Annotated[
        str | None, typer.Option("--memory", metavar="OF", help="Memory of this project, of all, or none")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say what was kept or dropped, and why")] = False,
    stats: Annotated[bool, typer.Option("--stats", help="Say how the budget is used")] = False,
) -> int:
    """Build context for a model within a budget.

    The newest messages since the last compaction, with the files that they touched; with --task what matches it.
    Recorded text is data between two lines with a random mark. --format messages is for an interface. Possible secrets
    are refused: see --secrets.

    Examples:
      scopes context
      scopes context --task 'fix the cookie' --max-tokens 4k
      scopes context --for-prompt | codex exec -
      scopes context --explain
    """
    invocation: Invocation = context.obj
    budget = max_tokens
    if budget == 0:
        raise Invalid("a context of 0 tokens is empty", hint="for example: --max-tokens 8000")
    tokenizer = tokenizer_for(invocation, model)
    if for_prompt:
        from scopes.context.history_block import DEFAULT_TOKENS, MEMORY, TOOLS, HistoryRequest, history, message_limit

        if task or mode or work_item or stats:
            raise Invalid("--for-prompt takes no --task, --mode, --work-item or --stats", hint="leave them out")
        block = HistoryRequest(
            where=read_where(invocation.repository(), where or LATEST), last=message_limit(limit, budget),
            max_tokens=DEFAULT_TOKENS if budget is None else budget, tools=tools or TOOLS[0],
            memory=memory or (MEMORY[0] if explain else "none"), secrets=invocation.secrets,
        )  # fmt: skip
        return invocation.show(history(invocation.repository(), block, tokenizer), options=ViewOptions(preview=explain))
    if tools or memory:
        raise Invalid("--with-tools and --memory belong to --for-prompt", hint="add --for-prompt")
    if mode not in {None, _ALL, *MODES}:
        raise Invalid(f"{mode!a} is not a valid mode", hint=f"modes: {', '.join(MODES)}, all")
    request = new_request(
        invocation.config(), known_model(invocation, model), max_tokens=budget,
        where=read_where(invocation.repository(), where or LATEST) if where or not work_item else None,
        mode=None if mode == _ALL else mode, include_all=mode == _ALL, task=task, work_item=work_item, explain=explain,
        candidates=limit, project=project_directory(invocation), secrets=invocation.secrets,
    )  # fmt: skip
    options = ViewOptions(layout=invocation.form or "markdown", explain=explain, stats=stats)
    return invocation.show(_build(invocation, request, tokenizer, options), options=options)


def _build(invocation: Invocation, request: Request, tokenizer: TokenizerChoice, options: ViewOptions) -> Context:
    """Build a context.

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
    return result


def summarize(
    context: typer.Context,
    where: ScopeOrLatestArgument = LATEST,
    include_all: Annotated[bool, typer.Option("-a", "--all", help="Also what is summarized already")] = False,
    compact: Annotated[bool, typer.Option("--compact", help="Contexts begin at this summary from now on")] = False,
    ratio: Annotated[
        float | None, typer.Option("--ratio", metavar="SHARE", help="Share of the tokens to keep (default: 0.3)")
    ] = None,
    status: Annotated[bool, typer.Option("--status", help="List the summaries, and which are stale")] = False,
) -> int:
    """Summarize new messages.

    The summary is a message that names its sources. The built-in one is of the most important sentences, and works
    offline; the setting scopes.summarizer names a command of yours. A compaction is taken back with scopes retract.

    Examples:
      scopes summarize
      scopes summarize conv-001 --ratio 0.1 --dry-run
      scopes summarize --compact
    """
    invocation: Invocation = context.obj
    if status and (ratio is not None or include_all or compact):
        raise Invalid("--status cannot be combined with other options", hint="leave out the other options")
    from scopes.memory.summaries import list_summaries
    from scopes.memory.summarize import DEFAULT_RATIO
    from scopes.memory.summarize import summarize as run_summarize

    repository = invocation.repository()
    branch = read_where(repository, where)
    if status:
        return invocation.show(list_summaries(repository, branch))
    summary = run_summarize(
        repository, branch, tokenizer_for(invocation, None).tokenizer, ratio=DEFAULT_RATIO if ratio is None else ratio,
        include_all=include_all, compact=compact, dry_run=invocation.dry_run,
    )  # fmt: skip
    return invocation.show(summary)
