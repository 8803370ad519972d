"""Arguments and options that several commands share, each with one name and one help text."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from shlex import join, quote
from typing import Annotated, Any, TypeAlias

import typer

from scopes.cli.input import open_input
from scopes.cli.invocation import Invocation
from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.lazy_patterns import compile_lazily
from scopes.store.projects import Project, normalise_url, read_project
from scopes.store.refs import AGENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scopes.ids import ConversationId
    from scopes.model.message import Author
    from scopes.store.repository import Repository

ConversationArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="CONV", help="The conversation: its id or a unique prefix")
]
_NUMBER = compile_lazily(r"[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20}", re.ASCII)
OptionalConversationArgument: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="[CONV]", help="The conversation (default: all)")
]
LATEST = "@"
STANDARD_OUTPUT = "-"
ALL_PROJECTS = "all"
ConversationOrLatestArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="CONV", help="The conversation: its id or a unique prefix (default: the latest)", show_default=False
    ),
]
ScopeOrLatestArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="CONV[/BRANCH]", help="The conversation (default: the latest), or one branch of it", show_default=False
    ),
]
OnBranch: TypeAlias = Annotated[
    str | None, typer.Option("-b", "--branch", metavar="NAME", help="The branch (default: the active one)")
]
Confidence: TypeAlias = Annotated[
    str | None, typer.Option("--confidence", metavar="SHARE", help="How sure you are: 0.85 or 85%")
]
Reason: TypeAlias = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for those who read it later")]
TextOption: TypeAlias = Annotated[str | None, typer.Option("-m", "--message", metavar="TEXT", help="The text")]
OnlyAgent: TypeAlias = Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Only this agent")]
OnlyModel: TypeAlias = Annotated[str | None, typer.Option("--model", metavar="NAME", help="Only this model")]
WhereBranch: TypeAlias = Annotated[str | None, typer.Option("-b", "--branch", metavar="NAME", hidden=True)]
All: TypeAlias = Annotated[bool, typer.Option("--all", "-a", help="Also what is left out by default")]
Data: TypeAlias = Annotated[
    str | None,
    typer.Option("--data", metavar="JSON", help="All fields, also those without an option; @FILE reads"),
]
Limit: TypeAlias = Annotated[int | None, typer.Option("-n", "--limit", min=0, metavar="N", help="At most N")]
To: TypeAlias = Annotated[
    list[str] | None, typer.Option("--to", metavar="WHOM", help="An agent, @capability, or all (may be repeated)")
]
Queue: TypeAlias = Annotated[bool, typer.Option("--queue", help="Send even if nobody is available")]
Continue: TypeAlias = Annotated[bool, typer.Option("--continue", help="Go on after conflicts or an interruption")]
Abort: TypeAlias = Annotated[bool, typer.Option("--abort", help="Stop, and restore the state from before")]
Skip: TypeAlias = Annotated[bool, typer.Option("--skip", help="Leave this message out, and continue")]
Output: TypeAlias = Annotated[
    str, typer.Option("-o", "--output", metavar="FILE", help="Write to this file; - is standard output")
]
Force: TypeAlias = Annotated[bool, typer.Option("-f", "--force", help="Do it although it replaces something")]
Since: TypeAlias = Annotated[
    str | None,
    typer.Option("--since", metavar="WHEN", help="From then on: today, '2 hours ago', 2026-01-31"),
]
Until: TypeAlias = Annotated[
    str | None,
    typer.Option("--until", metavar="WHEN", help="Not after; a day includes all of it"),
]
OfProjects: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--project", metavar="WHAT", help="Only this project: directory, name or address; all"),
]


def author_of(invocation: Invocation, name: str | None = None, kind: str | None = None) -> Author:
    """Return the author of a message: the agent of `--as`, else the person in the settings, who may be asked.

    A registered name has the kind that the registry says. A name of `--as` that is near a registered one gets a note.

    Raises:
        Invalid: the name or the kind is not valid.
    """
    from scopes.agents.authors import check_typed_author, note_misspelled, with_registered_kind
    from scopes.history.messages import default_author
    from scopes.model.message import Author

    name = invocation.actor if name is None else name
    person = None if name is not None else invocation.ask_name()
    author = default_author(invocation.config()) if person is None else Author(person, "human")
    author = author if name is None else Author(name)
    author = author if kind is None else author._replace(kind=kind)
    author = check_typed_author(author)
    repository = invocation.repository()
    if repository.find_ref(AGENTS) is None:
        return author
    if name is not None:
        invocation.add_notes(note_misspelled(repository, name))
    if kind is None:
        author = with_registered_kind(repository, author)
    return author


def read_where(repository: Repository, text: str) -> str:
    """Return a place with its conversation: `HEAD~2` is `@~2`, and a branch of the latest one is `@/BRANCH`."""
    from scopes.history.names import find_latest_with_branch

    text = replace_head(text)
    latest = find_latest_with_branch(repository, text)
    return text if latest is None else f"{latest}/{text}"


def split_place(repository: Repository, words: Sequence[str]) -> tuple[str, list[str]]:
    """Split the words `[WHERE] NAME...` into the place (default: the latest conversation) and the names.

    The first word is the place if it is a conversation or CONV/BRANCH; a single word only with the whole id of the
    conversation.
    """
    from scopes.history.names import resolve_conversation, split_steps, split_time

    first = words[0] if words else LATEST
    is_place = is_whole_conversation(repository, first) and split_steps(first)[1] == 0 and split_time(first)[1] is None
    is_place = is_place or (len(words) > 1 and find_conversation(repository, first) is not None)
    place, names = (first, words[1:]) if is_place else (LATEST, words)
    if not any(name.startswith("HEAD") for name in names):
        return place, [*names]
    conversation = resolve_conversation(repository, place.partition("/")[0])
    return place, [replace_head(name, conversation) for name in names]


def read_data(invocation: Invocation, text: str) -> str:
    """Return the JSON of --data; `@FILE` is the content of that file.

    Raises:
        NotFound, Inaccessible, Invalid: the file cannot be read, or is not UTF-8.
    """
    if not text.startswith("@"):
        return text
    with open_input(invocation, text[1:]) as file:
        try:
            return file.read().decode()
        except UnicodeDecodeError as error:
            raise Invalid(f"{text[1:]!a} is not UTF-8 text", hint="convert it to UTF-8 first") from error


def refuse_dry_run(invocation: Invocation, words: str) -> None:
    """Refuse --dry-run for what changes more than the store.

    Raises:
        Invalid: it is given.
    """
    if invocation.dry_run:
        raise Invalid(f"--dry-run cannot be combined with {words}", hint="it changes more than the store")


def read_fields(invocation: Invocation, text: str | None) -> dict[str, Any]:
    """Return the JSON object of --data, or of the file of @FILE; an empty one if it was not given.

    Raises:
        Invalid: it is not a JSON object.
    """
    if text is None:
        return {}
    from scopes.cli.append_input import parse_document

    document = parse_document(read_data(invocation, text), "--data", """--data '{"reasoning": ["it is there"]}'""")
    if not isinstance(document, dict):
        raise Invalid("--data is not a JSON object", hint="for example: --data @FILE, with {...} in it")
    return document


def choose_text(text: str | None, option: str | None) -> str | None:
    """Return the text of a message, given as an argument or with -m.

    Raises:
        Invalid: it is given twice.
    """
    if text is not None and option is not None:
        raise Invalid("the text is given twice", hint="leave out TEXT or -m")
    return text if option is None else option


def find_conversation(repository: Repository, text: str) -> ConversationId | None:
    """Return the conversation of a word `CONV` or `CONV/BRANCH`; None if it is a branch, message or file.

    Raises:
        Ambiguous: it may be several conversations.
    """
    from scopes.history.names import find_latest_with_branch

    if find_latest_with_branch(repository, text) is not None:
        return None
    try:
        from scopes.history.names import resolve_conversation

        found: ConversationId = resolve_conversation(repository, text.partition("/")[0])
    except NotFound:
        return None
    return found


def is_whole_conversation(repository: Repository, word: str | None) -> bool:
    """Return True if a word is `@` or the whole id of a conversation, or begins so before a `/`.

    Where a place and a text may follow, any other single word is the text.
    """
    from scopes.history.names import conversation_ids, parse_latest

    name = (word or "").partition("/")[0]
    return parse_latest(name) is not None or name in conversation_ids(repository)


def replace_head(text: str, conversation: str | None = None) -> str:
    """Return a revision with `HEAD` at its start replaced by the conversation (default: the latest), as in `HEAD~2`."""
    is_head = text == "HEAD" or text.startswith(("HEAD~", "HEAD^", "HEAD@", "HEAD.."))
    return f"{conversation or LATEST}{text[4:]}" if is_head else text


def names_revision(repository: Repository, text: str) -> bool:
    """Return True if a word names a conversation or a message, or several, without a conversation before it."""
    try:
        from scopes.history.names import resolve_revision

        resolve_revision(repository, text)
    except NotFound:
        return False
    except Ambiguous:
        return True
    return True


def split_source(repository: Repository, command: str, words: Sequence[str | None]) -> tuple[str, str | None]:
    """Split the words `[CONV] [NAME]` of a command into a conversation and what is named in it.

    `CONV NAME` are both; `CONV/BRANCH` is a branch of CONV; `CONV` alone names nothing; any other single word is a name
    in the latest conversation. `command` is for the hint.

    Raises:
        Invalid: the name was given before its conversation.
    """
    first, second = words
    if first is None or second is not None:
        if first is not None and second is not None and _is_before_conversation(repository, first, second):
            raise conversation_comes_first(first, f"name it first: scopes {command} {quote(second)} {quote(first)}")
        return first or LATEST, second
    conversation = find_conversation(repository, first)
    if conversation is None:
        return LATEST, first
    _, slash, branch = first.partition("/")
    return conversation, branch if slash else None


def refuse_swapped(repository: Repository, command: str, words: Sequence[str]) -> None:
    """Raise Invalid for `main conv-001 ...`: a branch or message before its conversation; `command` is for the hint."""
    first, second, *rest = words
    if ".." not in second and _is_before_conversation(repository, first, second):
        line = join(["scopes", *command.split(), second, first, *rest])
        raise conversation_comes_first(first, f"name it first: {line}")


def split_messages(repository: Repository, words: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Split the words `[CONV[/BRANCH]] MESSAGE...` into the place, if there is one, and the messages.

    Raises:
        Ambiguous: the first word may be several conversations.
    """
    from scopes.history.handles import resolve_scope

    first, *rest = words
    if rest:
        with suppress(NotFound, Invalid):
            resolve_scope(repository, first)
            return first, rest
    return None, words


def find_messages(repository: Repository, words: Sequence[str], *, one: bool = False) -> list[tuple[str, str]]:
    """Return the place and the message of each of the words `[CONV[/BRANCH]] MESSAGE...`, which may be only `one`.

    Raises:
        NotFound, Ambiguous: there is no such message, or there are several.
        Invalid: there is none or too many, or a word names a whole conversation.
    """
    from scopes.history.messages import header_of
    from scopes.history.names import conversation_ids, resolve_with_latest
    from scopes.store.objects import read_commit

    place, messages = split_messages(repository, words)
    if one and len(messages) > 1:
        raise Invalid(f"too many arguments: {' '.join(messages[1:])}", hint="put the text into quotes")
    if place is not None:
        return [(place, message) for message in messages]
    found: list[tuple[str, str]] = []
    for word in messages:
        if word == LATEST or word in conversation_ids(repository):
            raise Invalid("no message given", hint=f"list them: scopes log {quote(word)}")
        revision = resolve_with_latest(repository, replace_head(word))
        branch = "" if revision.branch is None else f"/{revision.branch}"
        found.append((f"{revision.conversation}{branch}", header_of(read_commit(repository, revision.oid)).id))
    return found


def split_compared(
    repository: Repository, command: str, left: str, right: str | None, other: str | None
) -> tuple[str, str | None]:
    """Return the words of a comparison, `CONV A B` as `CONV A..B`; `command` is for the hint.

    Raises:
        Invalid: there are too many words, or a range was given before its conversation.
    """
    if other is not None and right is not None:
        if ".." in right or ".." in other:
            raise Invalid(f"too many arguments: {other}", hint="give CONV A..B, or CONV A B")
        if _is_before_conversation(repository, left, right):
            raise conversation_comes_first(
                left, f"name it first: scopes {command} {quote(right)} {quote(left)} {quote(other)}"
            )
        return left, f"{right}..{other}"
    if right is not None and ".." in left and ".." not in right and find_conversation(repository, right):
        raise conversation_comes_first(left, f"name it first: scopes {command} {quote(right)} {quote(left)}")
    return left, right


def _is_before_conversation(repository: Repository, word: str, conversation: str) -> bool:
    """Return True for `main conv-001`: a branch or message before its conversation."""
    if _may_be_conversation(repository, word) or find_conversation(repository, conversation) is None:
        return False
    return names_revision(repository, f"{conversation}/{word}")


def _may_be_conversation(repository: Repository, word: str) -> bool:
    """Return True if a word names a conversation, or fits several."""
    try:
        from scopes.history.names import resolve_conversation

        resolve_conversation(repository, word.partition("/")[0])
    except NotFound:
        return False
    except Ambiguous:
        return True
    return True


def conversation_comes_first(word: str, hint: str) -> Invalid:
    """Return the error about a word that was given before its conversation."""
    return Invalid(f"the conversation comes first: {word!a} was given before it", hint=hint)


def choose_projects(invocation: Invocation, texts: Sequence[str] | None, *, stored: bool = True) -> tuple[Project, ...]:
    """Return the projects that were named; none for `all`, which narrows nothing.

    stored: what is asked about is in the store, which may be that of the project

    Raises:
        Invalid: one is empty, or the home directory.
    """
    names = texts or ()
    if ALL_PROJECTS in names:
        return ()
    store = invocation.store_path if stored else ""
    return tuple(read_project(text, invocation.cwd, store) for text in names)


def is_path(text: str) -> bool:
    """Return True if the value of --project is a directory, and neither an address nor a name."""
    has_form = not text or os.sep in text or text in {".", ".."} or text.startswith("~")
    return has_form and normalise_url(text) is None


def read_confidence(option: str, text: str | None) -> float | None:
    """Return the confidence that an option states, from 0 to 1, given as `0.85` or `85%`; None if it was not given.

    Raises:
        Invalid: it is something else.
    """
    if text is None:
        return None
    digits = text.strip().removesuffix("%")
    if _NUMBER.fullmatch(digits):
        share = float(digits) / 100 if text.strip().endswith("%") else float(digits)
        if 0 <= share <= 1:
            return share
    hint = f"for example: {option} 0.8, or {option} 80%"
    raise Invalid(f"the confidence {text[:40]} is not between 0 and 1", hint=hint)


def split_branch(conversation: str, branch: str | None) -> tuple[str, str | None]:
    """Split CONV/BRANCH into conversation and branch; the branch may be given separately instead.

    Raises:
        Invalid: two different branches are given.
    """
    name, _, named_branch = conversation.partition("/")
    if branch and named_branch and branch != named_branch:
        hint = f"give {name} and one branch"
        raise Invalid(f"the branch is given twice: {named_branch!a} and {branch!a}", hint=hint)
    return name, branch or named_branch or None


def require_branch(conversation: str, branch: str | None) -> tuple[str, str]:
    """Split CONV/BRANCH as `split_branch` does.

    Raises:
        Invalid: no branch is given, or two.
    """
    name, given = split_branch(conversation, branch)
    if given is None:
        raise Invalid("no branch given", hint=f"list them: scopes branch {quote(name)}")
    return name, given
