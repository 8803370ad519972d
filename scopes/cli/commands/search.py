"""`scopes conv search`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import NulRows, Template
from scopes.cli.invocation import Invocation
from scopes.render.progress import progress
from scopes.search.search import search as find


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help='Words, "a phrase", pref*, AND, OR, NOT, fields')],
    conversation: Annotated[
        str | None, typer.Argument(metavar="[CONV]", help="Only this conversation; the whole store if not given")
    ] = None,
    count: Annotated[int, typer.Option("-n", min=0, metavar="N", help="At most so many messages")] = 20,
    regex: Annotated[
        bool, typer.Option("--regex", help="QUERY is a regular expression, upper and lower case differ")
    ] = False,
    newest: Annotated[bool, typer.Option("--newest", help="Newest first; without it the best come first")] = False,
    any_word: Annotated[bool, typer.Option("--any", help="One of the words is enough, the best come first")] = False,
    around: Annotated[int, typer.Option("--context", min=0, metavar="N", help="Show N messages before and after")] = 0,
    template: Template = None,
    nul: NulRows = False,
) -> int:
    r"""Find messages by words and fields.

    Every branch is searched. Words must all be there, or one of them with --any; OR, NOT or -word, parentheses, "a
    phrase" and pref* do what they say; upper and lower case are the same. Put -- before a query that begins with -.
    Fields narrow it down: author: agent: kind: tool: file: model: branch: tag: before: after: (* stands for any text),
    and in:text, in:reasoning, in:tool_input or in:tool_result says where words and re: are looked for.

    The best come first, with a score. Where most of very many messages have the words they tell no hit from another:
    then the newest come first, without a score, as they do with --newest and where there are no words.

    --regex makes of the whole query one regular expression; re:"..." is one as a part of it, beside fields and words,
    under NOT and OR. It means what it means in Python, on text of every script, with ^ and $ at the ends of lines.

    A hit is named so that cat and branch --from take it, and says if its text was retracted or amended since. In a pipe
    it is a row; with --context rows begin with their offset from the hit: -1, 0 for the hit itself, 1.

    Exit code 1 means that nothing was found, 9 that a regular expression took longer than 5 seconds on one message: the
    search ended there, and what was found until then is shown.

    Examples:
      scopes conv search 'parser error'
      scopes conv search '"stack overflow" -test kind:answer' conv-001
      scopes conv search 'in:tool_result fail* after:yesterday' --newest
      scopes conv search 'cookie login safari' --any
      scopes conv search --regex 'TODO\(\w+\)'
      scopes conv search 'in:tool_result re:"[Pp]anic" -re:"test_"'
      scopes conv search 'file:src/login.py (bug OR fix)' --context 1
    """
    call: Invocation = context.obj
    with progress(call.output(), "reading messages for the index") as advance:
        found = find(
            call.repository(), query, index_directory=call.index_directory, conversation=conversation, regex=regex,
            limit=count, newest_first=newest, context=around, any_word=any_word, advance=advance,
        )  # fmt: skip
    return call.show(found, nul=nul, template=template)
