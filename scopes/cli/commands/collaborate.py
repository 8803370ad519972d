"""`scopes collaborate`, and its `status`, `show`, `join`, `argue` and `close`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from scopes.cli.arguments import (
    AuthorKind,
    AuthorName,
    Confidence,
    ConversationArgument,
    OptionalConversationArgument,
    author_of,
    read_confidence,
    split_branch,
)
from scopes.cli.invocation import Invocation
from scopes.collaboration.contribute import argue, close, join
from scopes.collaboration.records import THE_TASK, TYPES, parse_evidence, parse_type
from scopes.collaboration.report import list_collaborations, show_collaboration
from scopes.collaboration.start import Request, start
from scopes.model.message import Argument

Collaboration: TypeAlias = Annotated[
    str, typer.Argument(metavar="CONV[/BRANCH]", help="Its branch; CONV alone if one is open there")
]
Position: TypeAlias = Annotated[str, typer.Argument(metavar="POSITION", help="What you hold")]
About: TypeAlias = Annotated[str, typer.Option("--about", metavar="TOPIC", help="What it is about")]
Reasoning: TypeAlias = Annotated[list[str] | None, typer.Option("--reasoning", metavar="TEXT", help="Why")]
GivenEvidence: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--evidence", metavar="TYPE:TEXT", help="What shows it, such as performance-data:p99 is 900 ms"),
]
TradeOffs: TypeAlias = Annotated[list[str] | None, typer.Option("--trade-off", metavar="TEXT", help="What it costs")]
Alternatives: TypeAlias = Annotated[
    list[str] | None, typer.Option("--alternative", metavar="TEXT", help="What else would do")
]


def collaborate(
    context: typer.Context,
    conversation: ConversationArgument,
    kind: Annotated[str, typer.Option("--type", metavar="TYPE", help=f"{', '.join(TYPES[:5])} or {TYPES[5]}")],
    agents: Annotated[
        list[str], typer.Option("--agents", metavar="NAMES", help="Who takes part: names, @capability or all")
    ],
    task: Annotated[str, typer.Option("--task", metavar="TEXT", help="What is to be done")],
    urgency: Annotated[
        str, typer.Option("--urgency", metavar="LEVEL", help="low, normal, high or critical")
    ] = "normal",
    entity: Annotated[
        str | None, typer.Option("--entity", metavar="TYPE/ID", help="What it is about, such as file/app.py")
    ] = None,
    branch: Annotated[
        str | None, typer.Option("--branch", "-b", metavar="BRANCH", help="Its name (default: collaboration/TYPE)")
    ] = None,
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Open a collaboration of agents on a task.

    A branch begins at the tip of the active branch with a request, which goes into the inboxes of the agents, in one
    operation; it waits for those that are away, and is given to the programs of the others, as by send. They join with
    collaborate join, add messages with append or send, and state positions with collaborate argue; the branch is merged
    as any other. See collaborate status for all of them, collaborate show for a report, and collaborate close for the
    end. Types are peer-review, joint-analysis, consensus, knowledge-sharing, verification, and handoff, which goes to
    one agent.

    Examples:
      scopes collaborate conv-001 --type consensus --agents reviewer,tester --task "Choose the queue"
      scopes collaborate conv-001 --type peer-review --agents @review --task "Is the login safe?" --entity file/login.py
      scopes collaborate conv-001 --type handoff --agents tester --task "Finish the tests" --urgency high
    """
    invocation: Invocation = context.obj
    request = Request(
        type=parse_type(kind),
        task=task,
        agents=[each.strip() for given in agents for each in given.split(",") if each.strip()],
        urgency=urgency.strip().lower(),
        entity=entity,
        branch=branch,
    )
    writer = author_of(invocation, author, author_kind)
    return invocation.show(start(invocation.repository(), conversation, request, author=writer))


def collaborate_status(
    context: typer.Context,
    conversation: OptionalConversationArgument = None,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Also those that are closed")] = False,
) -> int:
    """List collaborations, the newest first.

    Open ones come first. One whose branch was merged is shown as merged until somebody closes it.

    Examples:
      scopes collaborate status
      scopes collaborate status conv-001 --all --json
    """
    invocation: Invocation = context.obj
    return invocation.show(list_collaborations(invocation.repository(), conversation, everything=everything))


def collaborate_show(context: typer.Context, collaboration: Collaboration) -> int:
    """Report on a collaboration.

    It has the participants, their positions, decisions, and conflicts with how they ended. In a pipe it is Markdown.
    CONV alone means the only open collaboration, else the only merged one, else the newest one.

    Examples:
      scopes collaborate show conv-001
      scopes collaborate show conv-001/collaboration/consensus > report.md
      scopes collaborate show conv-001 --json
    """
    invocation: Invocation = context.obj
    return invocation.show(show_collaboration(invocation.repository(), *split_branch(collaboration, None)))


def collaborate_join(
    context: typer.Context,
    collaboration: Collaboration,
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Take part in a collaboration.

    The request leaves your inbox. If you have joined already, nothing changes; a note says so, and the id of your first
    message is printed.

    Examples:
      scopes collaborate join conv-001 --as reviewer
    """
    invocation: Invocation = context.obj
    writer = author_of(invocation, author, author_kind)
    return invocation.show(join(invocation.repository(), *split_branch(collaboration, None), author=writer))


def collaborate_argue(
    context: typer.Context,
    collaboration: Collaboration,
    position: Position,
    about: About = THE_TASK,
    reasoning: Reasoning = None,
    evidence: GivenEvidence = None,
    trade_offs: TradeOffs = None,
    alternatives: Alternatives = None,
    confidence: Confidence = None,
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """State a position in a collaboration.

    You take part then, as with collaborate join. A later position about the same topic replaces yours. Evidence has
    a type: performance-data, historical-precedent, best-practice, technical-constraint, user-feedback or
    industry-standard; it may end with ;source=TEXT and ;weight=NUMBER from 0 to 1. An alternative that is the
    position of somebody else is a compromise: the report of collaborate show lists these, what the participants
    have in common, and what speaks for each position.

    Examples:
      scopes collaborate argue conv-001 "Keep the queue in PostgreSQL" --as reviewer --confidence 0.8
      scopes collaborate argue conv-001 "Use Redis" --as tester --reasoning "It is there already"
      scopes collaborate argue conv-001 "Use Redis" --evidence "performance-data:40 jobs/s;source=b.md;weight=0.9"
      scopes collaborate argue conv-001 "Use Redis" --trade-off "memory" --alternative "Keep the queue in PostgreSQL"
    """
    invocation: Invocation = context.obj
    argument = read_argument(about, position, reasoning, evidence, trade_offs, alternatives, confidence)
    writer = author_of(invocation, author, author_kind)
    return invocation.show(argue(invocation.repository(), *split_branch(collaboration, None), argument, author=writer))


def collaborate_close(
    context: typer.Context,
    collaboration: Collaboration,
    outcome: Annotated[str, typer.Option("--outcome", metavar="TEXT", help="What came of it")] = "",
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Close a collaboration.

    The closing message sums up positions, decisions and conflicts. On a terminal the report of collaborate show is
    printed too; in a pipe only the id of the message is, so use collaborate show. The branch stays; it can be merged
    before or after.

    Examples:
      scopes collaborate close conv-001 --outcome "The queue stays in PostgreSQL"
    """
    invocation: Invocation = context.obj
    writer = author_of(invocation, author, author_kind)
    name, branch = split_branch(collaboration, None)
    return invocation.show(close(invocation.repository(), name, branch, author=writer, outcome=outcome))


def read_argument(
    about: str,
    position: str,
    reasoning: list[str] | None,
    evidence: list[str] | None,
    trade_offs: list[str] | None,
    alternatives: list[str] | None,
    confidence: str | None,
) -> Argument:
    """Return the argument that options state.

    Raises:
        Invalid: evidence has no type that is known, or the confidence is not a number from 0 to 1.
    """
    return Argument(
        about=about,
        position=position.strip(),
        reasoning=tuple(reasoning or ()),
        evidence=tuple(map(parse_evidence, evidence or ())),
        trade_offs=tuple(trade_offs or ()),
        alternatives=tuple(alternatives or ()),
        confidence=read_confidence("--confidence", confidence),
    )
