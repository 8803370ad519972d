"""Arguments and options that several commands share, each with one name and one help text."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from scopes.cli.invocation import Invocation
from scopes.errors import Invalid
from scopes.ids import parse_agent_name
from scopes.model.message import AUTHOR_KINDS, Author

Conversation: TypeAlias = Annotated[
    str, typer.Argument(metavar="CONV", help="The conversation: its id or a unique prefix")
]
ConversationOrBranch: TypeAlias = Annotated[
    str, typer.Argument(metavar="CONV[/BRANCH]", help="The conversation or one of its branches")
]
Branch: TypeAlias = Annotated[str, typer.Argument(metavar="BRANCH", help="The branch")]
OnBranch: TypeAlias = Annotated[
    str | None, typer.Option("--branch", "-b", metavar="BRANCH", help="The branch (default: the active one)")
]
Message: TypeAlias = Annotated[str, typer.Argument(metavar="MESSAGE", help="The message: an id, main~2 or a tag")]
AuthorName: TypeAlias = Annotated[
    str | None, typer.Option("--as", metavar="NAME", help="The agent that writes the message (default: you)")
]
AuthorKind: TypeAlias = Annotated[
    str | None,
    typer.Option("--author-kind", metavar="KIND", help="Kind of author: human, agent, tool, system or injected"),
]
Conflict: TypeAlias = Annotated[
    str, typer.Argument(metavar="ID", help="The conflict: its id, a unique prefix, or its number in the list")
]
OfConversation: TypeAlias = Annotated[
    str | None, typer.Option("--conversation", metavar="CONV", help="Only what changed this conversation")
]
AnyActor: TypeAlias = Annotated[bool, typer.Option("--any-actor", help="Whoever did it, not only you")]
Since: TypeAlias = Annotated[
    str | None, typer.Option("--since", metavar="WHEN", help="Not before: '2 hours ago', 2026-01-31, ...")
]
Until: TypeAlias = Annotated[
    str | None, typer.Option("--until", metavar="WHEN", help="Not after; same forms as --since")
]
NulRows: TypeAlias = Annotated[bool, typer.Option("-z", help="End each row with NUL instead of newline")]
Template: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="TEMPLATE", help="Print a row for each by this template, for example '{id} {title}'"
    ),
]
Ratio: TypeAlias = Annotated[
    float | None,
    typer.Option("--ratio", metavar="SHARE", help="Share of the tokens to keep: above 0, at most 1 (default: 0.3)"),
]
Everything: TypeAlias = Annotated[
    bool, typer.Option("--all", "-a", help="The whole branch, also what is summarized already")
]
SummaryDryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Only print the summary; store nothing")]
BuiltIn: TypeAlias = Annotated[
    bool, typer.Option("--builtin", help="Use the built-in summarizer, not the command in scopes.summarizer")
]
OfAgent: TypeAlias = Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Only entries of this agent")]


DEFAULT_AUTHOR = "user"


def author_of(invocation: Invocation, name: str | None, kind: str | None) -> Author:
    """Return the author of a message: the agent of `--as`, else the human named by scopes.author (default: `user`).

    Raises:
        Invalid: the name or the kind is not valid.
    """
    if kind is not None and kind not in AUTHOR_KINDS:
        raise Invalid(f"{kind!a} is not a valid author kind", hint="valid kinds: " + ", ".join(AUTHOR_KINDS))
    if name is not None:
        return Author(parse_agent_name(name), kind or "agent")
    return Author(parse_agent_name(invocation.config().find("scopes.author") or DEFAULT_AUTHOR), kind or "human")


def split_branch(conversation: str, branch: str | None) -> tuple[str, str | None]:
    """Split CONV/BRANCH into conversation and branch; a branch given with `--branch` takes precedence."""
    name, _, named_branch = conversation.partition("/")
    return name, branch or named_branch or None
