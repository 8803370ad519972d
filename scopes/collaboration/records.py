"""What a collaboration consists of: messages of one branch; the field `collaboration` or `argument` says what they do.

The first message of the branch is the collaboration request. Everything else is derived from the messages, so branches,
merges and copies carry it, and nothing can disagree with the history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from scopes.errors import Invalid
from scopes.history.messages import MessageHeader, headers_of, read_body
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model.message import ARGUMENT, Argument, Message, read_argument
from scopes.store.objects import Commit, read_commit
from scopes.store.repository import Repository

PURPOSE: Final = "collaboration"
CollaborationType: TypeAlias = Literal[
    "peer-review", "joint-analysis", "consensus", "knowledge-sharing", "verification", "handoff"
]
TYPES: Final[tuple[CollaborationType, ...]] = get_args(CollaborationType)
Event: TypeAlias = Literal["request", "join", "close"]
_FIELD = "collaboration"
THE_TASK: Final = "the task"
"""What an argument in a collaboration is about if nothing else is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A message of a collaboration with its body and its commit."""

    head: MessageHeader
    message: Message
    commit: Commit

    @property
    def event(self) -> Event | None:
        """What the message does to the collaboration; None for one that only says something."""
        event = _mapping(self.message.extra.get(_FIELD)).get("event")
        return cast("Event", event) if event in get_args(Event) else None

    @property
    def details(self) -> Mapping[str, Any]:
        """The details of the event."""
        return _mapping(self.message.extra.get(_FIELD))

    @property
    def argument(self) -> Argument | None:
        """The argument that the message makes; None if it makes none or that is damaged."""
        return read_argument(self.message.extra.get(ARGUMENT))


def parse_type(text: str) -> CollaborationType:
    """Parse a type of collaboration, in any case, with `_` or `-`.

    Raises:
        Invalid: there is no such type.
    """
    name = text.strip().lower().replace("_", "-")
    if name not in TYPES:
        raise Invalid(f"{text!a} is not a type of collaboration", hint=f"types: {', '.join(TYPES)}")
    return name


def event_field(event: Event, **details: Any) -> dict[str, Any]:
    """Return the field of a message for an event."""
    return {_FIELD: {"event": event, **details}}


def check_argument(argument: Argument) -> Argument:
    """Return an argument if it can be stored.

    Raises:
        Invalid: it has no position, or its confidence is not between 0 and 1.
    """
    if not argument.position.strip():
        raise Invalid("the position is empty", hint='for example: "keep the queue in PostgreSQL"')
    if argument.confidence is not None and not 0 <= argument.confidence <= 1:
        raise Invalid(f"the confidence {argument.confidence:g} is not between 0 and 1", hint="for example: 0.8")
    wrong = next(
        (each.weight for each in argument.evidence if each.weight is not None and not 0 <= each.weight <= 1), None
    )
    if wrong is not None:
        raise Invalid(f"the weight {wrong:g} of evidence is not between 0 and 1", hint="for example: ;weight=0.8")
    return argument


def list_entries(repository: Repository, fork: Oid | None, tip: Oid) -> list[Entry]:
    """Return the messages that a branch itself has had since its fork point, oldest first."""
    commits: list[Commit] = []
    oid: Oid | None = tip
    while oid is not None and oid != fork:
        commits.append(read_commit(repository, oid))
        oid = commits[-1].parents[0] if commits[-1].parents else None
    by_oid = {commit.oid: commit for commit in commits}
    heads = headers_of(reversed(commits))
    return [Entry(head=head, message=read_body(repository, head), commit=by_oid[head.oid]) for head in heads]


def name_of(conversation: ConversationId, branch: BranchName) -> str:
    """Return a collaboration as people name it: `conv-001/collaboration/consensus`."""
    return f"{conversation}/{branch}"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
