"""`scopes log`, `cat` and `search`: messages."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from scopes.cli.command_line import after_separator
from scopes.cli.invocation import Invocation
from scopes.cli.options import (
    ALL_PROJECTS,
    LATEST,
    Limit,
    OfProjects,
    OnlyAgent,
    Since,
    Text,
    Texts,
    Until,
    argument,
    option,
)
from scopes.cli.progress import counted
from scopes.cli.words import find_conversation, is_path, names_revision, replace_head, split_messages
from scopes.errors import Invalid, NotFound
from scopes.render.view import ViewOptions
from scopes.result import Note

if TYPE_CHECKING:
    from scopes.conversation.log import CommitTurn
    from scopes.ids import MessageId

_CONVERSATION_ID = re.compile(r"conv-[0-9]+")
_ON_A_TERMINAL = 20  # hits, if no number is given
_ALL = 1_000_000_000


def log(
    invocation: Invocation,
    where: Annotated[Text, argument("[WHERE|A..B]", "A conversation, branch, message or range (default: @)")] = None,
    rest: Annotated[Texts, argument("[-- PATH]", "Only what touched this file or directory")] = None,
    limit: Limit = None,
    include_all: Annotated[bool, option("-a, --all", "All branches")] = False,
    since: Since = None,
    until: Until = None,
    patch: Annotated[bool, option("-p, --patch", "In full: reasoning, input and output of calls")] = False,
    oneline: Annotated[bool, option("--oneline", "One line for each message")] = False,
    graph: Annotated[bool, option("--graph", "Draw the branches beside the messages")] = False,
    reverse: Annotated[bool, option("--reverse", "Oldest first")] = False,
    author: Annotated[Texts, option("--author AGENT", "Only messages of this author")] = None,
    kind: Annotated[Texts, option("--kind KIND", "Only this kind: prompt, answer, decision, ...")] = None,
    grep: Annotated[Texts, option("--grep PATTERN", "Only where it matches; lower case matches any")] = None,
    ignore_case: Annotated[bool, option("-i, --ignore-case", hidden=True)] = False,
    commit: Annotated[Text, option("--commit REV", "Only the turns that made this commit")] = None,
) -> int:
    """Show the messages of a branch.

    Newest first. On a terminal a tool call is one line with its outcome; -p shows everything. In a pipe each message
    is a row: id, time, author, kind, subject.

    Examples:
      scopes log
      scopes log conv-001 --kind prompt
      scopes log main..try --oneline
      scopes log -- src/session.py
    """
    from scopes.conversation.log import LogFilter, parse_kinds
    from scopes.conversation.log import log as run_log

    paths = after_separator(invocation.arguments)
    words = [*([] if where is None else [where]), *(rest or ())]
    if len(paths) > 1:
        raise Invalid(f"too many paths: {' '.join(paths)}", hint="name one file or directory")
    repository = invocation.repository()
    place = _read_places(invocation, words[: len(words) - len(paths)])
    messages = None
    if commit is not None:
        place, messages = _find_commit(invocation, commit, place)
    match = None
    if grep:
        from scopes.search.query import grep_messages

        match = grep_messages(grep, ignore_case=ignore_case or all(map(str.islower, grep)))
    only = LogFilter(
        author=author, kind=parse_kinds(kind or ()), since=since, until=until, path=next(iter(paths), None),
        body=match, messages=messages,
    )  # fmt: skip
    on_terminal = invocation.stdout.isatty() and not invocation.wants_data
    result = run_log(
        repository, place, all_branches=include_all or commit is not None, graph=graph, oldest_first=reverse,
        limit=limit, only=only, bodies=invocation.wants_data or on_terminal or None, results=on_terminal,
        fold_results=on_terminal and not patch, digests=on_terminal and not oneline and not graph,
    )  # fmt: skip
    if messages is not None:
        from scopes.conversation.commits import with_commit_turns

        result = with_commit_turns(result, messages)
    return invocation.show(result, options=ViewOptions(graph=graph, oneline=oneline, full=patch))


def _find_commit(invocation: Invocation, revision: str, place: str) -> tuple[str, Mapping[MessageId, CommitTurn]]:
    """Return the conversation and the messages of the turns that a commit is from; `place` may name the conversation.

    Raises:
        NotFound: there is no such commit, or no conversation is linked to it.
    """
    from scopes.conversation.commits import RevisionRequest, find_commit_turns

    conversation = None if place == LATEST else place.partition("/")[0]
    with counted(invocation, "indexing edits") as on_progress:
        request = RevisionRequest(
            revision=revision, directory=invocation.cwd, index_directory=invocation.index_directory,
            conversation=conversation, on_progress=on_progress,
        )  # fmt: skip
        found = find_commit_turns(invocation.repository(), request)
    invocation.add_notes(found.notes)
    return found.conversation, found.messages


def _read_places(invocation: Invocation, words: Sequence[str]) -> str:
    """Return the range of the words `WHERE`, `A..B`, `CONV WHERE`, `CONV A B`, or `A B`.

    Raises:
        Invalid: there are too many.
        NotFound: the second word names nothing in the conversation.
    """
    if len(words) < 2:
        return replace_head(words[0]) if words else LATEST
    first, *rest = words
    repository = invocation.repository()
    is_conversation = not {"/", "."} & {*first} and find_conversation(repository, first)
    if len(words) > 2 + bool(is_conversation) or any(".." in word for word in rest[1:]):
        raise Invalid(f"too many arguments: {' '.join(rest)}", hint=f"for a path: scopes log -- {quote(rest[-1])}")
    if not is_conversation:
        return f"{replace_head(first)}..{replace_head(rest[0])}"
    inside = f"{first}/{'..'.join(replace_head(word, first).removeprefix(f'{first}/') for word in rest)}"
    if not names_revision(repository, inside.partition("..")[0]):
        hint = f"for a path: scopes log {quote(first)} -- {quote(rest[0])}"
        raise NotFound(f"there is no branch or message {rest[0]!a} in {first}", hint=hint)
    return inside


def cat(
    invocation: Invocation,
    words: Annotated[list[str], argument("MESSAGE", "A message id, a place such as main~2, a tag, or a call")],
    raw: Annotated[bool, option("--raw", "The stored JSON, byte for byte")] = False,
    original: Annotated[bool, option("--original", "The records it was imported from, byte for byte")] = False,
) -> int:
    """Print messages, and nothing else.

    A message that was retracted or amended later is marked.

    Examples:
      scopes cat fq7x2m
      scopes cat conv-001/main~2 --raw
      scopes cat toolu_01ARVFKW --original
    """
    from scopes.conversation.show import cat as run_cat
    from scopes.conversation.show import read_original

    if raw and original:
        raise Invalid("--raw and --original cannot be combined", hint="leave out one of them")
    repository = invocation.repository()
    conversation, messages = split_messages(repository, words)
    for message in messages:
        name = replace_head(message, conversation)
        if original:
            invocation.show(read_original(repository, name, conversation=conversation))
        else:
            invocation.show(run_cat(repository, name, conversation=conversation), options=ViewOptions(raw=raw))
    return 0


def search(
    invocation: Invocation,
    words: Annotated[list[str], argument("QUERY", 'Words, "a phrase", pref*, AND, OR, NOT, and fields')],
    limit: Limit = None,
    since: Since = None,
    until: Until = None,
    project: OfProjects = None,
    agent: OnlyAgent = None,
    where: Annotated[Text, option("--in WHERE", "Only this conversation or branch")] = None,
    any_word: Annotated[bool, option("--any", "Any of the words, best first")] = False,
    regex: Annotated[bool, option("--regex", "QUERY is a regular expression")] = False,
    newest: Annotated[bool, option("--newest", "Newest first, not best first")] = False,
    around: Annotated[int, option("--context N", "Show N messages before and after each", least=0)] = 0,
    count: Annotated[bool, option("--count", "Print only the number found")] = False,
    remote: Annotated[Text, option("--remote REMOTE", "Search the titles of what this remote has")] = None,
) -> int:
    r"""Find messages, calls and results.

    Fields: author: agent: kind: tool: file: model: branch: tag: project: before: after:, is:failed, exit:1,
    tokens:>2000, and in:text, in:reasoning, in:tool_input or in:tool_result for where the words are; re:REGEX
    searches by a regular expression. Exit code 1 means that nothing was found.

    Examples:
      scopes search cookie 'project:shop'
      scopes search 'in:tool_result fail* after:yesterday' --newest
      scopes search 'kind:decision'
      scopes search --regex 'TODO\(\w+\)'
    """
    repository = invocation.repository()
    limit = limit if limit is not None else _ON_A_TERMINAL if invocation.stdout.isatty() else _ALL
    if remote is not None:
        if any((where, regex, newest, any_word, around, since, until, count, project, agent)):
            raise Invalid("--remote can be combined with -n only", hint="leave the other options out")
        from scopes.sync.remote_conversations import search_titles

        return invocation.show(search_titles(repository, remote, words, invocation.index_directory, limit=limit))
    from scopes.render.output import progress
    from scopes.search.run import search as run_search

    conversation, slash, branch = (where or "").partition("/")
    fields = [*_project_fields(project or ()), *([("agent", agent)] if agent else ())]
    fields += [("branch", branch)] if slash else []
    with progress(invocation.output(), "indexing messages") as meter:
        found = run_search(
            repository, " ".join(words), index_directory=invocation.index_directory,
            conversation=conversation or None, fields=fields, regex=regex, limit=limit, newest_first=newest,
            context=around, any_word=any_word, count_only=count, since=since, until=until, progress=meter,
        )  # fmt: skip
    if where is None:
        found = replace(found, notes=(*found.notes, *_searched_names(invocation, words)))
    return invocation.show(found, options=ViewOptions(around=around > 0))


def _project_fields(projects: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the conditions of `--project`: a directory, or the name of a project or of the repository of an address."""
    from scopes.store.projects import name_of, normalise_url

    for text in projects:
        if is_path(text):
            yield "project", os.path.join(os.path.abspath(os.path.expanduser(text)), "")
        elif text != ALL_PROJECTS:
            yield "project", name_of(normalise_url(text) or text)


def _searched_names(invocation: Invocation, words: Sequence[str]) -> Iterator[Note]:
    """Yield a note for each word that has the form of the id of a conversation: it was searched as a word."""
    for word in dict.fromkeys(words):
        if _CONVERSATION_ID.fullmatch(word) and names_revision(invocation.repository(), word):
            yield Note(f"{word} is a conversation: searched as a word", f"search only there: --in {word}")
