"""Arguments and options that several commands share, each with one name and one help text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from shlex import quote
from typing import Annotated, TypeAlias

import typer

from scopes.cli.invocation import Invocation
from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.lazy_patterns import compile_lazily
from scopes.store.projects import Project, read_project
from scopes.store.refs import AGENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scopes.ids import ConversationId
    from scopes.model.message import Author
    from scopes.secret_scan.clearance import Mode
    from scopes.store.repository import Repository

ConversationArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="CONV", help="The conversation: its id or a unique prefix")
]
_NUMBER = compile_lazily(r"[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20}", re.ASCII)
OptionalConversationArgument: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="[CONV]", help="The conversation (default: all)")
]
LATEST = "@"
ALL = "all"  # the projects, for --project
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
ConversationOrBranchArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="CONV[/BRANCH]", help="The conversation or one of its branches")
]
BranchArgument: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="BRANCH", help="The branch, if it is not given as CONV/BRANCH")
]
OnBranch: TypeAlias = Annotated[
    str | None, typer.Option("--branch", "-b", metavar="BRANCH", help="The branch (default: the active one)")
]
AuthorName: TypeAlias = Annotated[
    str | None,
    typer.Option("--as", "--author", metavar="NAME", help="The agent that writes the message (default: you)"),
]
Confidence: TypeAlias = Annotated[
    str | None, typer.Option("--confidence", metavar="SHARE", help="How sure you are: 0.85 or 85%")
]
Reason: TypeAlias = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for those who read it later")]
AuthorKind: TypeAlias = Annotated[
    str | None,
    typer.Option("--author-kind", metavar="KIND", help="Kind of author: human, agent, tool, system or injected"),
]
TextOption: TypeAlias = Annotated[
    str | None, typer.Option("--message", "-m", metavar="TEXT", help="The text, given as an option")
]
ConversationOrConflict: TypeAlias = Annotated[
    str, typer.Argument(metavar="CONV|CONFLICT", help="The conversation; or the conflict alone, by its id")
]
ConflictAfterConversation: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="CONFLICT",
        help="The conflict: its id, a unique prefix, its number in the list, or its key",
        show_default=False,
    ),
]
CommitOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--commit", metavar="REV", help="Only the turns that made this commit of the project, or wrote it"),
]
OfConversation: TypeAlias = Annotated[
    str | None, typer.Option("--conversation", metavar="CONV", help="Only what changed this conversation")
]
AnyActor: TypeAlias = Annotated[bool, typer.Option("--any-actor", help="Whoever did it, not only you")]
STANDARD_OUTPUT = "-"
Output: TypeAlias = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="Write to this file or directory; - is standard output")
]
Force: TypeAlias = Annotated[bool, typer.Option("--force", help="Overwrite an existing file")]
Since: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="WHEN", help="From then on: '2 hours ago', today, 2026-01-31 (your time zone), ..."
    ),
]
Until: TypeAlias = Annotated[
    str | None,
    typer.Option("--until", metavar="WHEN", help="Not after; a day includes all of it; same forms as --since"),
]
BuiltIn: TypeAlias = Annotated[
    bool, typer.Option("--builtin", help="Use the built-in summarizer, not the command in scopes.summarizer")
]
Redact: TypeAlias = Annotated[
    bool, typer.Option("--redact", help="Replace possible secrets by placeholders instead of stopping")
]
AllowSecrets: TypeAlias = Annotated[bool, typer.Option("--allow-secrets", help="Let possible secrets pass this time")]
FenceMark: TypeAlias = Annotated[
    str | None,
    typer.Option("--mark", metavar="TEXT", help="Mark of the fence: 16 to 64 letters and digits (default: random)"),
]
OfAgent: TypeAlias = Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Only entries of this agent")]
OfProjects: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--project", metavar="PROJECT", help="Only this project: directory, name or address; all"),
]
AllProjects: TypeAlias = Annotated[bool, typer.Option("--all-projects", help="All projects, not only this one")]


def author_of(invocation: Invocation, name: str | None, kind: str | None) -> Author:
    """Return the author of a message: the agent of `--as`, else the person in the settings, who may be asked.

    Without `--author-kind`, a name that is registered has the kind that the registry says. A name of `--as` that is
    near a registered one gets a note.

    Raises:
        Invalid: the name or the kind is not valid.
    """
    from scopes.history.messages import default_author
    from scopes.model.message import Author as Author_

    person = None if name is not None else invocation.ask_name()
    author: Author = default_author(invocation.config()) if person is None else Author_(person, "human")
    author = author if name is None else Author_(name)
    author = author if kind is None else author._replace(kind=kind)
    from scopes.agents.authors import check_typed_author

    author = check_typed_author(author)
    repository = invocation.repository()
    if repository.find_ref(AGENTS) is None:
        return author
    if name is not None:
        from scopes.agents.authors import note_misspelled

        invocation.add_notes(note_misspelled(repository, name))
    if kind is None:
        from scopes.agents.authors import with_registered_kind

        author = with_registered_kind(repository, author)
    return author


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


def conversation_of_message(repository: Repository, message: str) -> str:
    """Return the conversation of a message that is named alone.

    Raises:
        NotFound, Ambiguous: there is no such message, or there are several.
        Invalid: it is a conversation.
    """
    if find_conversation(repository, message):
        raise Invalid("no message given", hint=f"list them: scopes log {quote(message)}")
    from scopes.history.names import resolve_revision

    conversation: str = resolve_revision(repository, message).conversation
    return conversation


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
        if first is not None and second is not None and is_before_conversation(repository, first, second):
            raise conversation_comes_first(first, f"name it first: scopes {command} {quote(second)} {quote(first)}")
        return first or LATEST, second
    conversation = find_conversation(repository, first)
    if conversation is None:
        return LATEST, first
    _, slash, branch = first.partition("/")
    return conversation, branch if slash else None


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
        if is_before_conversation(repository, left, right):
            raise conversation_comes_first(
                left, f"name it first: scopes {command} {quote(right)} {quote(left)} {quote(other)}"
            )
        return left, f"{right}..{other}"
    if right is not None and ".." in left and ".." not in right and find_conversation(repository, right):
        raise conversation_comes_first(left, f"name it first: scopes {command} {quote(right)} {quote(left)}")
    return left, right


def is_before_conversation(repository: Repository, word: str, conversation: str) -> bool:
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


def choose_projects(invocation: Invocation, texts: Sequence[str], *, stored: bool = True) -> tuple[Project, ...]:
    """Return the projects that were named; none for `all`, which narrows nothing.

    stored: what is asked about is in the store, which may be that of the project

    Raises:
        Invalid: one is empty, or the home directory.
    """
    store = invocation.store_path if stored else ""
    return () if ALL in texts else tuple(read_project(text, invocation.cwd, store) for text in texts)


def refuse_both_scopes(projects: Sequence[str] | None, *, all_projects: bool) -> None:
    """Raise Invalid if both `--project` and `--all-projects` are given."""
    if projects and all_projects:
        raise Invalid("--project cannot be combined with --all-projects", hint="leave out one of them")


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


def secrets_mode(*, redact: bool, allow_secrets: bool) -> Mode:
    """Return what the options --redact and --allow-secrets ask for.

    Raises:
        Invalid: both are given.
    """
    if redact and allow_secrets:
        raise Invalid("--redact cannot be combined with --allow-secrets", hint="leave out one of them")
    return "redact" if redact else "allow" if allow_secrets else "refuse"


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
