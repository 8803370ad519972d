"""`scopes tokens count`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from scopes.cli.download import download
from scopes.cli.input import STANDARD_INPUT, open_input
from scopes.cli.invocation import Invocation
from scopes.cli.token_options import ModelName, Strict, cache_directory, token_places, tokenizer_for
from scopes.context.count import count_conversation, count_text
from scopes.tokens.encodings import DEFAULT_ENCODING
from scopes.tokens.fetch import fetch_ranks
from scopes.tokens.status import tokens_status as look


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


def tokens_fetch(
    context: typer.Context,
    encoding: Annotated[
        str, typer.Argument(metavar="[ENCODING]", help="The encoding: o200k_base or cl100k_base")
    ] = DEFAULT_ENCODING,
) -> int:
    """Download the data for exact token counts.

    This is the only command that downloads token data, and the data is checked against a known hash. Nothing else of
    scopes goes to the network for it.

    Examples:
      scopes tokens fetch
      scopes tokens fetch cl100k_base
    """
    call: Invocation = context.obj
    return call.show(fetch_ranks(token_places(call), encoding, download))


def tokens_status(context: typer.Context) -> int:
    """Show which encodings can be counted exactly here.

    With every file that was found for them, the preferred first: tiktoken's cache (TIKTOKEN_CACHE_DIR), scopes' own,
    and packages that carry the data. A file whose hash is wrong is never used.

    Examples:
      scopes tokens status
      scopes tokens status --json
    """
    call: Invocation = context.obj
    return call.show(look(token_places(call)))
