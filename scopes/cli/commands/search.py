"""`scopes search`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, TypeAlias

import typer

from scopes.cli.arguments import Since, Until
from scopes.cli.invocation import Invocation
from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.history.names import resolve_conversation
from scopes.render.progress import progress
from scopes.render.view_options import ViewOptions
from scopes.result import Note
from scopes.search.run import search as run_search

_CONVERSATION_ID = re.compile(r"conv-[0-9]+")
_ON_A_TERMINAL = 20  # hits, if no number is given
_ALL = 1_000_000_000


Query: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="QUERY", help='Words, "a phrase", pref*, AND, OR, NOT, fields; a conversation as the last one'
    ),
]
InConversation: TypeAlias = Annotated[
    str | None, typer.Option("--in", metavar="CONV", help="Search only this conversation; default: the whole store")
]
RemoteTitles: TypeAlias = Annotated[
    bool, typer.Option("--remote-titles", help="Search the titles of what remotes have, also of what is not here")
]


def search(
    context: typer.Context,
    words: Query,
    conversation: InConversation = None,
    count: Annotated[
        int | None,
        typer.Option("-n", min=0, metavar="N", help="At most N messages (default: 20 on a terminal, all in a pipe)"),
    ] = None,
    regex: Annotated[bool, typer.Option("--regex", help="QUERY is a regular expression; case matters")] = False,
    newest: Annotated[bool, typer.Option("--newest", help="Newest first; default: best first")] = False,
    any_word: Annotated[bool, typer.Option("--any", help="Find messages with any of the words, best first")] = False,
    around: Annotated[int, typer.Option("--context", min=0, metavar="N", help="Show N messages before and after")] = 0,
    since: Since = None,
    until: Until = None,
    count_only: Annotated[bool, typer.Option("--count", help="Print only the number of messages found")] = False,
    remote_titles: RemoteTitles = False,
) -> int:
    r"""Find messages by words and fields.

    Every branch is searched. All words must occur, or one of them with --any. Write OR, NOT or -word, parentheses, "a
    phrase" and pref*; case does not matter. Put -- before a query that begins with -. Fields narrow the search:
    author: agent: kind: tool: file: model: branch: tag: project: before: after: (* stands for any text), is:failed and
    exit:1 for results of tools, tokens:>2000 (estimated); and in:text, in:reasoning, in:tool_input or in:tool_result
    limits where words and re: are searched. file: takes a path, the end of one, or a directory. Another word before a
    colon is searched as text, with a note; one that resembles a field is refused.

    The best hits come first; a wide terminal and --json show their scores. With --newest, and in a query without words,
    the newest come first, without a score.

    --regex makes the whole query one regular expression; re:"..." is one within a query, next to fields and words and
    under NOT and OR. The syntax is that of RE2, without lookaround and back-references; \w, \d and \s know every
    script, \b ASCII letters only, and ^ and $ match at the ends of lines.

    Conversations whose titles contain the words come first, unless the query has fields, NOT, OR or --regex; in a pipe
    they are notes, and in JSON the titles of the last line. Each hit is named so that cat and branch --from accept it,
    and shows whether its text was retracted or amended since. In a pipe a hit is a row; with --context rows begin with
    their offset from the hit, which has 0. The last line counts a message that several branches or conversations share
    once; import counts it once for each conversation, and so does a new index, which also reads the root commits.

    --remote-titles finds conversations of remotes by words in their titles, in the lists that scopes fetch --list
    has made. Of one without a title the first prompt is searched if it is here; a note says in how many others nothing
    can be found. It can be combined with -n only.

    Exit code 1 means that nothing was found. A query of several words needs no quotes. The name of a conversation as
    the last word means the same as with --in.

    Examples:
      scopes search parser error
      scopes search '"stack overflow" -test kind:answer' conv-001
      scopes search 'in:tool_result fail* after:yesterday' --newest
      scopes search login --since '5 months ago'
      scopes search tool:Bash is:failed --count
      scopes search 'cookie login safari' --any
      scopes search --regex 'TODO\(\w+\)'
      scopes search 'in:tool_result re:"[Pp]anic" -re:"test_"'
      scopes search 'file:src/login.py (bug OR fix)' --context 1
      scopes search login --remote-titles
    """
    invocation: Invocation = context.obj
    limit = count if count is not None else _ON_A_TERMINAL if invocation.stdout.isatty() else _ALL
    if remote_titles:
        if any((conversation, regex, newest, any_word, around, since, until, count_only)):
            raise Invalid("--remote-titles can be combined with -n only", hint="leave the other options out")
        return _search_titles(invocation, words, limit)
    if conversation is None and len(words) > 1 and _names_one(invocation, words[-1]):
        conversation = words.pop()
    with progress(invocation.output(), "indexing messages") as meter:
        found = run_search(
            invocation.repository(), " ".join(words), index_directory=invocation.index_directory,
            conversation=conversation, regex=regex, limit=limit, newest_first=newest, context=around,
            any_word=any_word, count_only=count_only, since=since, until=until, progress=meter,
        )  # fmt: skip
    if conversation is None:
        found = replace(found, notes=(*found.notes, *_misplaced_conversations(invocation, words)))
    return invocation.show(found, options=ViewOptions(around=around > 0))


def _search_titles(invocation: Invocation, words: list[str], limit: int) -> int:
    from scopes.sync.remote_conversations import search_titles

    return invocation.show(search_titles(invocation.repository(), words, invocation.index_directory, limit=limit))


def _misplaced_conversations(invocation: Invocation, words: list[str]) -> Iterator[Note]:
    """Yield a note for each word that looks like the id of a conversation but was searched as a word."""
    if len(words) > 1 and _CONVERSATION_ID.fullmatch(words[-1]):
        yield Note(f"there is no conversation {words[-1]}: searched as a word", "list them: scopes list")
    for word in dict.fromkeys(words[:-1]):
        if _CONVERSATION_ID.fullmatch(word) and _names_one(invocation, word):
            yield Note(f"{word} is a conversation: searched as a word", f"put it last, or use --in {word}")


def _names_one(invocation: Invocation, word: str) -> bool:
    """Return True if a word is the name of one conversation, not the beginning of several."""
    try:
        resolve_conversation(invocation.repository(), word)
    except (NotFound, Ambiguous, Invalid):
        return False
    return True
