"""`scopes conv context`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from scopes.cli.arguments import (
    LATEST,
    STANDARD_OUTPUT,
    AllowSecrets,
    FenceMark,
    Force,
    Output,
    Redact,
    secrets_mode,
    split_compared,
)
from scopes.cli.invocation import Invocation
from scopes.cli.token_options import MaxTokens, ModelName, Strict, known_model, project_directory, tokenizer_for
from scopes.context.context import context as run_context
from scopes.context.context import find_smallest_budget
from scopes.context.request import Request, new_request
from scopes.errors import BudgetExhausted, Invalid
from scopes.render.view_options import ViewOptions, check_layout
from scopes.secret_scan.clearance import Gate
from scopes.secrets.gates import gate_of
from scopes.store.repository import Repository
from scopes.tokens.count import TokenizerChoice

if TYPE_CHECKING:
    from scopes.context.result import Context
    from scopes.exporters.export import Exported

_EXTENSIONS = {"markdown": "md", "messages": "json", "json": "json"}

# What the context is made of.
WorkItem: TypeAlias = Annotated[
    str | None, typer.Option("--work-item", metavar="ID", help="Add every conversation for this work item")
]
AllMessages: TypeAlias = Annotated[bool, typer.Option("--all", help="Also messages before the last compaction")]
Candidates: TypeAlias = Annotated[
    int | None,
    typer.Option("--candidates", metavar="N", help="Consider only N messages for the task (default: all)"),
]
IncludeIgnored: TypeAlias = Annotated[
    bool, typer.Option("--include-ignored", help="Embed files that git ignores in the project, too")
]


Conversation: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="[CONV[/BRANCH]]", help="The conversation (default: the latest), or one branch of it"),
]
Revisions: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="[A..B]", help="With --diff: two revisions, or the first one")
]


def context(
    context: typer.Context,
    conversation: Conversation = None,
    left: Revisions = None,
    right: Annotated[str | None, typer.Argument(metavar="[B]", help="With --diff: the second revision")] = None,
    max_tokens: MaxTokens = None,
    task: Annotated[str | None, typer.Option("--task", metavar="TEXT", help="What the context is for")] = None,
    mode: Annotated[str | None, typer.Option("--mode", metavar="MODE", help="history, relevance or files")] = None,
    model: ModelName = None,
    layout: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="markdown, messages (for an interface) or json")
    ] = "markdown",
    output: Output = STANDARD_OUTPUT,
    force: Force = False,
    work_item: WorkItem = None,
    include_all: AllMessages = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show what was kept or dropped instead, and why")] = False,
    stats: Annotated[bool, typer.Option("--stats", help="Show how the budget is used instead")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Compare the contexts of two revisions instead")] = False,
    at: Annotated[str | None, typer.Option("--at", metavar="MESSAGE", help="As of this message: id or main~2")] = None,
    candidates: Candidates = None,
    include_ignored: IncludeIgnored = False,
    mark: FenceMark = None,
    strict: Strict = False,
    redact: Redact = False,
    allow_secrets: AllowSecrets = False,
) -> int:
    """Build context within a token budget.

    Contains the newest messages since the last compaction, oldest first, and the files that they touched, with their
    current content in the project around the current directory. Without --max-tokens the budget is 4000 with --task,
    and that of the model with --model. With --task the most relevant messages of the whole history are chosen instead.
    Decisions in effect come first, in at most a fifth of the budget; a message with a superseded or withdrawn one says
    so. At an earlier message, files have the content that the tools of the conversation recorded. Notes count what was
    left out, by reason. Recorded text stands as data between two lines with a random mark (--mark fixes it); tags,
    lines like another speaker or heading, and invisible characters in it are made harmless. Left out are files that may
    hold secrets, by their names or their content, that git ignores, or that a link leads outside the project.

    A context with possible secrets is refused: the error names the messages and the rules, never a secret. With
    --redact placeholders take their place, in files too; with --allow-secrets they pass this time.

    With --output the text of a pipe goes into a file, which is written completely or not at all, and overwritten only
    with --force.

    With --diff two revisions are named as for scopes diff, and the contexts that a model would read there are compared
    message by message, with the same options: before and after a compaction, or on two branches. Files have their
    recorded content then. The exit code is 0 if nothing differs, and 1 otherwise.

    Examples:
      scopes context --task 'why does the login fail'
      scopes conv context conv-001 --max-tokens 8000
      scopes conv context --diff conv-001 main fix --task 'why does the login fail'
      scopes conv context --work-item SHOP-12 --model gpt-4o --format messages
      scopes conv context conv-001 --max-tokens 8000 -o context.md
      scopes conv context conv-001/main --json
    """
    invocation: Invocation = context.obj
    options = ViewOptions(layout=check_layout(layout), explain=explain, stats=stats)
    _check_options(max_tokens, diff=diff, other_form=options != ViewOptions() or at is not None, left=left)
    request = new_request(
        invocation.config(), known_model(invocation, model),
        where=conversation or (LATEST if work_item is None else None),
        max_tokens=max_tokens, mode=mode, task=task, at=at, work_item=work_item,
        include_all=include_all, explain=explain, candidates=candidates,
        project=project_directory(invocation), mark=mark, include_ignored=include_ignored,
        secrets=secrets_mode(redact=redact, allow_secrets=allow_secrets),
    )  # fmt: skip
    _check_output(output, report="--diff" if diff else "--explain" if explain else "--stats" if stats else None)
    tokenizer = tokenizer_for(invocation, model, strict=strict)
    if diff:
        repository = invocation.repository()
        names = split_compared(repository, "context --diff", conversation or LATEST, left, right)
        from scopes.context.context_diff import diff_contexts

        return invocation.show(diff_contexts(repository, request, tokenizer, invocation.cache_directory, names))
    build = partial(_build_context, invocation, request, tokenizer, options)
    if output != STANDARD_OUTPUT:
        repository = invocation.repository()
        make = partial(_export, repository, build, layout, gate_of(repository, request.secrets))
        from scopes.exporters.atomic_save import save_unless_purged

        return invocation.show(save_unless_purged(repository, make, output, force=force))
    return invocation.show(build(), options=options)


def _check_options(max_tokens: int | None, *, diff: bool, other_form: bool, left: str | None) -> None:
    """Check the options that need no store.

    Raises:
        Invalid: the budget is 0, a second word is given without --diff, or --diff with another form of output.
    """
    if max_tokens == 0:
        raise Invalid("a context of 0 tokens is empty", hint="for example: --max-tokens 8000")
    if diff and other_form:
        raise Invalid("--diff cannot be combined with --explain, --stats, --at or --format", hint="leave out one")
    if not diff and left is not None:
        raise Invalid(f"too many arguments: {left}", hint="to compare two contexts: --diff")


def _check_output(output: str, *, report: str | None) -> None:
    """Raise Invalid if a file is named, and a report is printed instead of a context."""
    if output != STANDARD_OUTPUT and report is not None:
        raise Invalid(f"--output cannot be combined with {report}", hint="leave out one, or redirect: > FILE")


def _export(repository: Repository, build: Callable[[], Context], layout: str, gate: Gate) -> Exported:
    """Build a context that is written to a file as an export, with the notes of the context."""
    from scopes.store.repository import Prunes

    prunes = Prunes(repository.path)
    result = build()
    name = f"{result.conversation}-context.{_EXTENSIONS[layout]}"
    from scopes.exporters.export import Exported, ExportedFile
    from scopes.render.wire.context import write_context

    file = ExportedFile(name, None, [gate.clear(write_context(result, layout).encode(), "the context")])
    from scopes.store.transactions import unless_pruned

    return Exported(
        conversation=result.conversation,
        format=layout,
        messages=result.turns_included,
        files=(file,),
        unless_purged=partial(unless_pruned, repository, prunes),
        notes=result.notes,
    )


def _build_context(
    invocation: Invocation, request: Request, tokenizer: TokenizerChoice, options: ViewOptions
) -> Context:
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
