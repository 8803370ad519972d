"""`scopes collaborate`: work of agents on one task."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, TypeAlias

from scopes.cli.invocation import Invocation
from scopes.cli.options import (
    LATEST,
    Confidence,
    Data,
    LatestConversation,
    OptionalConversation,
    Reason,
    Text,
    argument,
    author_of,
    option,
    read_confidence,
    read_fields,
)
from scopes.cli.words import is_whole_conversation, split_branch
from scopes.collaboration.collaboration import (
    THE_TASK,
    argue,
    close,
    join,
    list_collaborations,
    show_collaboration,
    start,
)
from scopes.errors import Invalid
from scopes.model import message
from scopes.model.message import Argument

Collaboration: TypeAlias = Annotated[
    str, argument("[WHERE]", "Its branch, or the conversation where one is open (default: @)")
]
_LISTS = ("reasoning", "evidence", "trade_offs", "alternatives")


def collaborate_open(
    invocation: Invocation,
    kind: Annotated[str, option("--type TYPE", "peer-review, joint-analysis, consensus, ...")],
    agents: Annotated[list[str], option("--agents NAMES", "Who takes part: names, @capability or all")],
    task: Annotated[str, option("--task TEXT", "What is to be done")],
    conversation: LatestConversation = LATEST,
    urgency: Annotated[str, option("--urgency LEVEL", "low, normal, high or critical")] = "normal",
) -> int:
    """Open a collaboration of agents on a task.

    A branch collaboration/TYPE begins at the tip of the active one with a request, which goes into the inboxes of the
    agents. They take part with collaborate argue; the branch is merged as any other.

    Examples:
      scopes collaborate --type peer-review --agents ann,bot --task 'review try'
      scopes collaborate open @ --type consensus --agents @architect --task 'choose the queue'
    """
    names = [each.strip() for given in agents for each in given.split(",") if each.strip()]
    level, author = urgency.strip().lower(), author_of(invocation)
    return invocation.show(
        start(invocation.repository(), conversation, kind, task, names, urgency=level, author=author)
    )


def collaborate_list(
    invocation: Invocation,
    conversation: OptionalConversation = None,
    everything: Annotated[bool, option("-a, --all", "Also closed ones")] = False,
) -> int:
    """List collaborations, newest first.

    Open ones come first.

    Examples:
      scopes collaborate list
      scopes collaborate list @ --all --json
    """
    return invocation.show(list_collaborations(invocation.repository(), conversation, everything=everything))


def collaborate_show(invocation: Invocation, collaboration: Collaboration = LATEST) -> int:
    """Report on a collaboration.

    It has the participants, their positions, decisions, and conflicts with how they ended. In a pipe it is Markdown.

    Examples:
      scopes collaborate show @/collaboration/peer-review
      scopes collaborate show @
    """
    return invocation.show(show_collaboration(invocation.repository(), *split_branch(collaboration, None)))


def collaborate_argue(
    invocation: Invocation,
    first: Annotated[Text, argument("[WHERE]", "Its branch, or the conversation (default: @)")] = None,
    second: Annotated[Text, argument("[TEXT]", "What you hold")] = None,
    about: Annotated[str, option("--about TOPIC", "What it is about")] = THE_TASK,
    reason: Reason = "",
    confidence: Confidence = None,
    data: Data = None,
) -> int:
    """State a position, or only join.

    Without TEXT you take part, and the request leaves your inbox. A later position about the same topic replaces
    yours. Further fields of --data: reasoning, evidence, trade_offs, alternatives.

    Examples:
      scopes collaborate argue @ 'Ship it' --confidence 90%
      scopes collaborate argue @ 'Use Redis' --data '{"alternatives": ["keep the queue in PostgreSQL"]}'
      scopes collaborate argue @
    """
    repository = invocation.repository()
    if first is not None and second is None and not is_whole_conversation(repository, first):
        first, second = LATEST, first
    where = split_branch(first or LATEST, None)
    writer = author_of(invocation)
    if second is None:
        return invocation.show(join(repository, *where, author=writer))
    argument = read_argument(invocation, about, second, reason=reason, confidence=confidence, data=data)
    return invocation.show(argue(repository, *where, argument, author=writer))


def collaborate_close(
    invocation: Invocation,
    collaboration: Collaboration = LATEST,
    outcome: Annotated[str, option("--outcome TEXT", "What came of it")] = "",
) -> int:
    """Close a collaboration.

    The closing message sums up positions, decisions and conflicts. The branch stays; it can be merged before or after.

    Examples:
      scopes collaborate close @ --outcome 'cookies stay'
      scopes collaborate close @/collaboration/consensus
    """
    name, branch = split_branch(collaboration, None)
    return invocation.show(close(invocation.repository(), name, branch, author=author_of(invocation), outcome=outcome))


def read_argument(
    invocation: Invocation, about: str, position: str, *, reason: str, confidence: str | None, data: str | None
) -> Argument:
    """Return the argument that a position, --reason, --confidence and --data state.

    Raises:
        Invalid: the confidence is not one, or --data has an unknown field or evidence without a known type.
    """
    given = read_fields(invocation, data)
    unknown = sorted(given.keys() - {*_LISTS, "confidence"})
    if unknown:
        raise Invalid(f"--data has the unknown field {unknown[0]!a}", hint=f"fields: {', '.join(_LISTS)}, confidence")
    share = read_confidence("--confidence", confidence)
    found = message.read_argument({**given, "about": about, "position": position.strip()})
    assert found is not None  # noqa: S101  it has a position
    wrong = next((name for name in _LISTS if len(getattr(found, name)) != len(given.get(name, ()))), None)
    if wrong is not None:
        example = '{"evidence": [{"type": "best-practice", "description": "TEXT"}], "reasoning": ["TEXT"]}'
        raise Invalid(f"something in {wrong} of --data cannot be read", hint=f"for example: --data '{example}'")
    return replace(
        found,
        reasoning=(*((reason,) if reason else ()), *found.reasoning),
        confidence=found.confidence if share is None else share,
    )
