"""Arguments and options that several verbs share, so that they are called and explained the same everywhere."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from scopes.cli.invocation import Invocation
from scopes.errors import Invalid
from scopes.ids import parse_agent_name
from scopes.model.message import AUTHOR_KINDS, Author

Conversation: TypeAlias = Annotated[
    str, typer.Argument(metavar="CONV", help="The conversation: its id or a unique start of it")
]
ConversationOrBranch: TypeAlias = Annotated[
    str, typer.Argument(metavar="CONV[/BRANCH]", help="The conversation, or one of its branches")
]
Branch: TypeAlias = Annotated[str, typer.Argument(metavar="BRANCH", help="The branch")]
OnBranch: TypeAlias = Annotated[
    str | None, typer.Option("--branch", "-b", metavar="BRANCH", help="The branch; the active one if not given")
]
Message: TypeAlias = Annotated[str, typer.Argument(metavar="MESSAGE", help="The message: an id, main~2, a tag")]
AuthorName: TypeAlias = Annotated[
    str | None, typer.Option("--as", metavar="NAME", help="Who says it: an agent; without it you do")
]
AuthorKind: TypeAlias = Annotated[
    str | None, typer.Option("--author-kind", metavar="KIND", help="human, agent, tool, system or injected")
]
Conflict: TypeAlias = Annotated[
    str, typer.Argument(metavar="ID", help="The conflict: its id, a unique start of it, or its number in the list")
]
Since: TypeAlias = Annotated[
    str | None, typer.Option("--since", metavar="WHEN", help="Not before: '2 hours ago', 2026-01-31, ...")
]
Until: TypeAlias = Annotated[str | None, typer.Option("--until", metavar="WHEN", help="Not after; the same forms")]
NulRows: TypeAlias = Annotated[bool, typer.Option("-z", help="End rows with NUL instead of newline")]
Template: TypeAlias = Annotated[
    str | None, typer.Option("--format", metavar="TEMPLATE", help="One row each, for example '{id} {title}'")
]
Ratio: TypeAlias = Annotated[
    float | None,
    typer.Option("--ratio", metavar="SHARE", help="How many of the tokens to keep: above 0, at most 1 (0.3)"),
]
Everything: TypeAlias = Annotated[bool, typer.Option("--all", "-a", help="The whole branch, summarized or not")]
SummaryDryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Only print it")]
BuiltIn: TypeAlias = Annotated[bool, typer.Option("--builtin", help="Without the command of scopes.summarizer")]
OfAgent: TypeAlias = Annotated[
    str | None, typer.Option("--agent", metavar="NAME", help="Only entries of exactly this agent")
]


SOMEBODY = "user"


def author_of(call: Invocation, name: str | None, kind: str | None) -> Author:
    """Return the author: `--as NAME` is an agent, otherwise the setting scopes.author (or `user`) is a human.

    Raises:
        Invalid: the name or the kind cannot be used.
    """
    if kind is not None and kind not in AUTHOR_KINDS:
        raise Invalid(f"{kind!a} is no kind of author", hint="kinds: " + ", ".join(AUTHOR_KINDS))
    if name is not None:
        return Author(parse_agent_name(name), kind or "agent")
    return Author(parse_agent_name(call.config().find("scopes.author") or SOMEBODY), kind or "human")
