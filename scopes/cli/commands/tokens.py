"""`scopes tokens count`, `tokens fetch` and `tokens status`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from scopes.cli.download import download
from scopes.cli.input import STANDARD_INPUT, open_input
from scopes.cli.invocation import Invocation
from scopes.cli.token_options import ModelName, Strict, tokenizer_for
from scopes.context.count import count_conversation, count_text, fetch_ranks
from scopes.context.count import tokens_status as run_tokens_status
from scopes.tokens.count import DEFAULT_ENCODING, rank_file_paths

_PATH_STARTS = ("/", "./", "../", "~")  # no conversation's name begins like this


def tokens_count(
    context: typer.Context,
    what: Annotated[
        str, typer.Argument(metavar="[FILE|-|CONV]", help="A file, standard input, or a conversation or branch")
    ] = STANDARD_INPUT,
    model: ModelName = None,
    strict: Strict = False,
) -> int:
    """Count the tokens of a text or a conversation.

    The argument is a file if one of that name exists; otherwise a conversation, branch or message, counted from its
    first message. A number with ~ is an estimate. Without --model the encoding is o200k. Counts for Claude and Gemini
    are o200k counts times a factor: the one measured from the usage that the conversation records, else 1.3 and 1.1, or
    the setting scopes.model.claude.factor.

    Of a conversation, texts, reasoning, tool calls and their results are counted. `summarize` and `compact` count the
    texts alone. `show` has the size of the last context as the agent recorded it, with its instructions and tools.

    Examples:
      scopes tokens count README.md
      git diff | scopes tokens count -
      scopes tokens count conv-001/main --model gpt-4o --strict-tokens
    """
    invocation: Invocation = context.obj
    choice = tokenizer_for(invocation, model, strict=strict)
    if what == STANDARD_INPUT or os.path.lexists(what) or what.startswith(_PATH_STARTS):
        with open_input(invocation, what) as file:
            return invocation.show(count_text(what, file.read(), choice))
    return invocation.show(count_conversation(invocation.repository(), what, choice, invocation.cache_directory))


def tokens_fetch(
    context: typer.Context,
    encoding: Annotated[
        str, typer.Argument(metavar="[ENCODING]", help="The encoding: o200k_base or cl100k_base")
    ] = DEFAULT_ENCODING,
) -> int:
    """Download the data for exact token counts.

    Downloads the rank file of an encoding and checks its hash. No other command accesses the network for token data.

    Examples:
      scopes tokens fetch
      scopes tokens fetch cl100k_base
    """
    invocation: Invocation = context.obj
    return invocation.show(fetch_ranks(rank_file_paths(invocation.environ), encoding, download))


def tokens_status(context: typer.Context) -> int:
    """Show which encodings can be counted exactly.

    Lists the files that were found for each, the preferred first: tiktoken's cache (TIKTOKEN_CACHE_DIR), the cache of
    scopes, and installed packages with the data. A file with a wrong hash is never used.

    Examples:
      scopes tokens status
      scopes tokens status --json
    """
    invocation: Invocation = context.obj
    return invocation.show(run_tokens_status(rank_file_paths(invocation.environ)))
