"""`scopes context` and `summarize`: what a model reads instead of the whole history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from scopes.cli.invocation import Invocation
from scopes.cli.options import (
    LATEST,
    CountedModel,
    LatestScope,
    Limit,
    Text,
    argument,
    known_model,
    option,
    project_directory,
    read_size,
    tokenizer_for,
)
from scopes.cli.words import read_where
from scopes.context.context import context as run_context
from scopes.context.context import find_smallest_budget
from scopes.context.request import MODES, new_request
from scopes.errors import BudgetExhausted, Invalid
from scopes.render.view import ViewOptions

if TYPE_CHECKING:
    from scopes.context.request import Request
    from scopes.context.result import Context
    from scopes.tokens.count import TokenizerChoice

_ALL = "all"  # of --mode: also what is before the last compaction


def context(
    invocation: Invocation,
    where: Annotated[Text, argument("[WHERE]", "A conversation, branch or message (default: @)")] = None,
    limit: Limit = None,
    model: CountedModel = None,
    task: Annotated[Text, option("--task TEXT", "What it is for: keep what matches")] = None,
    max_tokens: Annotated[
        int | None, option("--max-tokens N", "Its size at most: 8000, 10k (4k with a task)", parser=read_size)
    ] = None,
    mode: Annotated[Text, option("--mode MODE", "history, relevance, files, or all of it")] = None,
    work_item: Annotated[Text, option("--work-item ID", "Every conversation of this work item")] = None,
    for_prompt: Annotated[bool, option("--for-prompt", "The fenced block to put before a prompt")] = False,
    tools: Annotated[Text, option("--with-tools HOW", "Tool calls as status, full or none")] = None,
    memory: Annotated[Text, option("--memory OF", "Memory of this project, of all, or none")] = None,
    explain: Annotated[bool, option("--explain", "Say what was kept or dropped, and why")] = False,
    stats: Annotated[bool, option("--stats", "Say how the budget is used")] = False,
) -> int:
    """Build context for a model within a budget.

    It has the newest messages since the last compaction, with the files that they touched; with --task it has what
    matches the task. Recorded text is data between two lines with a random mark. --format messages prints a list of
    messages for the API of a model. Possible secrets are refused: see --secrets.

    Examples:
      scopes context
      scopes context --task 'fix the cookie' --max-tokens 4k
      scopes context --for-prompt | codex exec -
      scopes context --explain
    """
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
    invocation: Invocation,
    where: LatestScope = LATEST,
    include_all: Annotated[bool, option("-a, --all", "Also what is summarized already")] = False,
    compact: Annotated[bool, option("--compact", "Contexts begin at this summary from now on")] = False,
    ratio: Annotated[float | None, option("--ratio SHARE", "Share of the tokens to keep (default: 0.3)")] = None,
    status: Annotated[bool, option("--status", "List the summaries, and which are stale")] = False,
) -> int:
    """Summarize new messages.

    The summary is a message that names its sources. The built-in one is of the most important sentences, and works
    offline; the setting scopes.summarizer names a command of yours. A compaction is taken back with scopes retract.

    Examples:
      scopes summarize
      scopes summarize conv-001 --ratio 0.1 --dry-run
      scopes summarize --compact
    """
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
