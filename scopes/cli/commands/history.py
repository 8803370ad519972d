"""`scopes conv history`."""

from __future__ import annotations

from typing import Annotated

from scopes.cli import usage
from scopes.cli.arguments import AllowSecrets, ConversationOrBranchArgument, FenceMark, Redact, secrets_mode
from scopes.cli.invocation import Invocation
from scopes.cli.token_options import ModelName, Strict, tokenizer_for
from scopes.context.history_block import DEFAULT_MESSAGES, DEFAULT_TOKENS, TOOLS, HistoryRequest
from scopes.context.history_block import history as run_history
from scopes.errors import Invalid
from scopes.render.view_options import ViewOptions


def history(
    context: usage.Context,
    conversation: ConversationOrBranchArgument,
    for_prompt: Annotated[bool, usage.Option("--for-prompt", help="Print the block to put before a prompt")] = False,
    inject_preview: Annotated[
        bool, usage.Option("--inject-preview", help="Print what scopes acp would put before the first prompt")
    ] = False,
    preview: Annotated[bool, usage.Option("--preview", help="Print the same, with a note on its size")] = False,
    last: Annotated[
        int, usage.Option("-n", "--history-messages", metavar="N", help="Maximum number of messages")
    ] = DEFAULT_MESSAGES,
    max_tokens: Annotated[
        int, usage.Option("--max-tokens", metavar="N", help="Maximum number of tokens")
    ] = DEFAULT_TOKENS,
    tools: Annotated[
        str, usage.Option("--with-tools", metavar="HOW", help="Tool calls: status, full with input and output, or none")
    ] = TOOLS[0],
    with_memory: Annotated[
        bool, usage.Option("--with-memory", help="Put the memory and the last messages of other agents first")
    ] = False,
    mark: FenceMark = None,
    model: ModelName = None,
    strict: Strict = False,
    redact: Redact = False,
    allow_secrets: AllowSecrets = False,
) -> int:
    """Print a block of history to put before a prompt.

    The last messages in order, User and Assistant, each at most 2000 characters, with tool calls as name and status.
    The block says that it is recorded data, not instructions, and stands between two lines with a random mark. Inside,
    tags, lines that look like another speaker or a heading, and invisible characters are made harmless, in the preview
    as in the block. That lowers the risk that an agent follows instructions in an old tool result; it does not remove
    it, so read the preview. With --mark the output is the same every time; choose one that no message can contain.
    A block with possible secrets is refused, unless --redact replaces them or --allow-secrets lets them pass this time.

    Examples:
      scopes conv history conv-001 --preview
      scopes conv history conv-001/main --for-prompt -n 20 --max-tokens 4000
      scopes conv history conv-001 --for-prompt --with-tools full
      scopes conv history conv-001 --for-prompt --with-memory
      scopes conv history conv-001 --inject-preview
    """
    invocation: Invocation = context.obj
    if not (for_prompt or preview or inject_preview):
        raise Invalid("--for-prompt or --preview is required", hint="to read the history: scopes log")
    with_memory = with_memory or inject_preview
    request = HistoryRequest(
        where=conversation, last=last, max_tokens=max_tokens, tools=tools, with_memory=with_memory, mark=mark,
        secrets=secrets_mode(redact=redact, allow_secrets=allow_secrets),
    )  # fmt: skip
    tokenizer = tokenizer_for(invocation, model, strict=strict)
    result = run_history(invocation.repository(), request, tokenizer)
    return invocation.show(result, options=ViewOptions(preview=preview))
