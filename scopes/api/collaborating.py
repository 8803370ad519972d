"""The methods of a conversation that send messages to agents and let several of them work on a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

from scopes.api.agreeing import AgreeingConversation
from scopes.api.message_fields import MessageFields, make_message
from scopes.history.handles import BranchHandle
from scopes.history.revisions import resolve_branch_name
from scopes.model.message import Author, MessageKind

if TYPE_CHECKING:
    from scopes.agents.send import Routed
    from scopes.collaboration.contribute import CollaborationChanged
    from scopes.collaboration.records import CollaborationType
    from scopes.collaboration.report import (
        CollaborationList,
        CollaborationReport,
    )
    from scopes.collaboration.start import CollaborationStarted
    from scopes.model.argument import Argument


@dataclass(frozen=True, slots=True)
class CollaboratingConversation(AgreeingConversation):
    """A conversation in which several agents work; a collaboration is named by its branch, or is the only open one."""

    def send(
        self,
        text: str,
        *,
        queue: bool = False,
        author: Author | str | None = None,
        kind: MessageKind = "plain",
        branch: str | None = None,
        **fields: Unpack[MessageFields],
    ) -> Routed:
        """Append a message and put it into the inboxes of agents, in one operation.

        to: names or numbers of agents, `@capability`, or `all`; without any, the kind of the message decides.
        queue: send also if nobody is available: it waits for them.
        """
        from scopes.agents.delivery import SentMessage, deliver_to_programs
        from scopes.agents.send import send as send_message

        to = fields.pop("to", ())
        message = make_message(text, self._author(author), kind, fields)
        where = BranchHandle(self, resolve_branch_name(self.repository, self.id, branch))
        done = send_message(where, message, [to] if isinstance(to, str) else to, queue=queue)
        sent = SentMessage(done.message, [done.operation])
        return replace(done, notes=(*done.notes, *deliver_to_programs(self.repository, done.delivered_to, sent)))

    def collaborate(
        self,
        type: CollaborationType,  # noqa: A002
        task: str,
        agents: str | Sequence[str],
        *,
        urgency: str = "normal",
        entity: str | None = None,
        branch: str | None = None,
        author: Author | str | None = None,
    ) -> CollaborationStarted:
        """Open a branch for a task at the tip of the active branch, and put the request into the inboxes of agents.

        branch: its name; default: `collaboration/TYPE`. The active branch stays the same.
        """
        from scopes.collaboration.start import Request
        from scopes.collaboration.start import start as start_collaboration

        names = [agents] if isinstance(agents, str) else agents
        request = Request(type=type, task=task, agents=names, urgency=urgency, entity=entity, branch=branch)
        return start_collaboration(self.repository, self.id, request, author=self._author(author))

    def collaborations(self, *, include_closed: bool = False) -> CollaborationList:
        """Return the open collaborations, the newest first; with `include_closed` also the others, after them."""
        from scopes.collaboration.report import list_collaborations

        return list_collaborations(self.repository, self.id, everything=include_closed)

    def collaboration(self, branch: str | None = None) -> CollaborationReport:
        """Return the report of a collaboration: participants, positions, decisions, and how conflicts ended.

        branch: default: the only open one, else the only merged one, else the newest one.
        """
        from scopes.collaboration.report import show_collaboration

        return show_collaboration(self.repository, self.id, branch)

    def join(self, branch: str | None = None, *, author: Author | str | None = None) -> CollaborationChanged:
        """Take part in a collaboration; the request leaves the inbox of the author."""
        from scopes.collaboration.contribute import join as join_branch

        return join_branch(self.repository, self.id, branch, author=self._author(author))

    def argue(
        self, argument: Argument, branch: str | None = None, *, author: Author | str | None = None
    ) -> CollaborationChanged:
        """State a position in a collaboration; a later one of the same author about the same subject replaces it."""
        from scopes.collaboration.contribute import argue as state_position

        return state_position(self.repository, self.id, branch, argument, author=self._author(author))

    def argue_about_conflict(
        self, conflict: str | int, argument: Argument, *, author: Author | str | None = None
    ) -> CollaborationChanged:
        """State a position about an open conflict, named by its number or id: it is in debate then."""
        from scopes.collaboration.contribute import argue_about_conflict

        return argue_about_conflict(self.repository, self.id, str(conflict), argument, author=self._author(author))

    def close_collaboration(
        self, outcome: str = "", branch: str | None = None, *, author: Author | str | None = None
    ) -> CollaborationChanged:
        """Close a collaboration; its branch stays, and is merged as any other."""
        from scopes.collaboration.contribute import close as close_branch

        return close_branch(self.repository, self.id, branch, author=self._author(author), outcome=outcome)
