"""`scopes tokens count`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from scopes.cli.counting import ModelName, Strict, cache_directory, tokenizer_for
from scopes.cli.input import STANDARD_INPUT, open_input
from scopes.cli.invocation import Invocation
from scopes.context.count import count_conversation, count_text


def tokens_count(
    context: typer.Context,
    what: Annotated[
        str, typer.Argument(metavar="[FILE|-|CONV]", help="A file, standard input, or a conversation or branch")
    ] = STANDARD_INPUT,
    model: ModelName = None,
    strict: Strict = False,
) -> int:
    """Count the tokens of a text or a conversation.

    What names a file is one; everything else is a conversation, a branch or a message, counted from its beginning. A
    number with ~ is an estimate. Without a model, tokens are those of o200k. Those of Claude and Gemini are o200k's
    times a factor: by how much their counts grew in this conversation, where it records that, else 1.3 and 1.1, or
    what scopes.model.claude.factor says.

    Examples:
      scopes tokens count README.md
      git diff | scopes tokens count -
      scopes tokens count conv-001/main --model gpt-4o --strict-tokens
    """
    call: Invocation = context.obj
    chosen = tokenizer_for(call, model, strict=strict)
    if what == STANDARD_INPUT or os.path.lexists(what):
        with open_input(call, what) as file:
            return call.show(count_text(what, file.read(), chosen))
    return call.show(count_conversation(call.repository(), what, chosen, cache_directory(call)))
