"""`scopes history`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import AllowSecrets, ConversationOrBranchArgument, FenceMark, Redact, secrets_mode
from scopes.cli.invocation import Invocation
from scopes.cli.token_options import ModelName, Strict, tokenizer_for
from scopes.context.history_block import (
    DEFAULT_TOKENS,
    MEMORY,
    TOOLS,
    HistoryRequest,
    message_limit,
)
from scopes.context.history_block import history as run_history
from scopes.errors import Invalid
from scopes.render.view_options import ViewOptions


def history(
    context: typer.Context,
    conversation: ConversationOrBranchArgument,
    for_prompt: Annotated[bool, typer.Option("--for-prompt", help="Print the block to put before a prompt")] = False,
    inject_preview: Annotated[
        bool, typer.Option("--inject-preview", help="Print what scopes acp would put before the first prompt")
    ] = False,
    preview: Annotated[bool, typer.Option("--preview", help="Print the same, with a note on its size")] = False,
    last: Annotated[
        int | None,
        typer.Option("-n", "--history-messages", metavar="N", help="Messages at most (50; no limit with --max-tokens)"),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", metavar="N", help="Maximum number of tokens (default: 8000)")
    ] = None,
    tools: Annotated[
        str, typer.Option("--with-tools", metavar="HOW", help="Tool calls: status, full with input and output, or none")
    ] = TOOLS[0],
    with_memory: Annotated[
        bool, typer.Option("--with-memory", help="Put the memory and the last messages of other agents first")
    ] = False,
    memory: Annotated[
        str | None, typer.Option("--memory", metavar="OF", help="The same, of this project, all of them, or none")
    ] = None,
    mark: FenceMark = None,
    model: ModelName = None,
    strict: Strict = False,
    redact: Redact = False,
    allow_secrets: AllowSecrets = False,
) -> int:
    """Print a block of history to put before a prompt.

    The first prompt and the last messages in order, User and Assistant, each at most 2000 characters, with tool calls
    as name and status; messages with nothing but tool calls share a line. The block says how many are left out:
    without options it has at most 50 messages within 8000 tokens, with --max-tokens as many as these tokens allow.
    The block says that it is recorded data, not instructions, and stands between two lines with a random mark. Inside,
    tags, lines that look like another speaker or a heading, and invisible characters are made harmless, in the preview
    as in the block. That lowers the risk that an agent follows instructions in an old tool result; it does not remove
    it, so read the preview. With --mark the output is the same every time; choose one that no message can contain.
    A block with possible secrets is refused, unless --redact replaces them or --allow-secrets lets them pass this time.

    --with-memory puts two more blocks first: the newest memory entries, and the last words of up to three other agents.
    Both are of the project of the conversation: of the git repository around the directory in which it began, with all
    worktrees, or outside of git of that directory alone. --memory all takes those of all projects.

    Examples:
      scopes history conv-001 --preview
      scopes history conv-001/main --for-prompt -n 20 --max-tokens 4000
      scopes history conv-001 --for-prompt --with-tools full
      scopes history conv-001 --for-prompt --with-memory
      scopes history conv-001 --inject-preview --memory all
    """
    invocation: Invocation = context.obj
    if not (for_prompt or preview or inject_preview):
        raise Invalid("--for-prompt or --preview is required", hint="to read the history: scopes log")
    of = memory or (MEMORY[0] if with_memory or inject_preview else "none")
    request = HistoryRequest(
        where=conversation,
        last=message_limit(last, max_tokens),
        max_tokens=DEFAULT_TOKENS if max_tokens is None else max_tokens,
        tools=tools,
        memory=of,
        mark=mark,
        secrets=secrets_mode(redact=redact, allow_secrets=allow_secrets),
    )
    tokenizer = tokenizer_for(invocation, model, strict=strict)
    result = run_history(invocation.repository(), request, tokenizer)
    return invocation.show(result, options=ViewOptions(preview=preview))
