"""The methods of a conversation that send messages to agents and let several of them work on a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

from scopes.api.agreeing import AgreeingConversation
from scopes.api.message_fields import MessageFields, make_message
from scopes.history.handles import BranchHandle
from scopes.history.revisions import resolve_branch_name
from scopes.loading import deferred
from scopes.model.message import Author, MessageKind

if TYPE_CHECKING:
    from scopes.agents.delivery import SentMessage, deliver_to_programs
    from scopes.agents.send import Routed
    from scopes.agents.send import send as send_message
    from scopes.collaboration.contribute import CollaborationChanged, argue_about_conflict
    from scopes.collaboration.contribute import argue as state_position
    from scopes.collaboration.contribute import close as close_branch
    from scopes.collaboration.contribute import join as join_branch
    from scopes.collaboration.records import CollaborationType
    from scopes.collaboration.report import (
        CollaborationList,
        CollaborationReport,
        list_collaborations,
        show_collaboration,
    )
    from scopes.collaboration.start import CollaborationStarted, Request
    from scopes.collaboration.start import start as start_collaboration
    from scopes.model.argument import Argument
else:
    SentMessage = deferred("scopes.agents.delivery:SentMessage")
    deliver_to_programs = deferred("scopes.agents.delivery:deliver_to_programs")
    send_message = deferred("scopes.agents.send:send")
    argue_about_conflict = deferred("scopes.collaboration.contribute:argue_about_conflict")
    state_position = deferred("scopes.collaboration.contribute:argue")
    close_branch = deferred("scopes.collaboration.contribute:close")
    join_branch = deferred("scopes.collaboration.contribute:join")
    list_collaborations = deferred("scopes.collaboration.report:list_collaborations")
    show_collaboration = deferred("scopes.collaboration.report:show_collaboration")
    Request = deferred("scopes.collaboration.start:Request")
    start_collaboration = deferred("scopes.collaboration.start:start")


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

        Raises:
            NotFound: an agent or a capability is unknown; nothing is sent.
            NoAvailableAgents: no receiver is available, and `queue` is not set.
            Invalid, Refused: as `append` does.
        """
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

        Raises:
            NotFound, Ambiguous: an agent; nothing is written.
            Invalid: no agent is named, a handoff names several, or the task, the urgency or the entity is not valid.
        """
        names = [agents] if isinstance(agents, str) else agents
        request = Request(type=type, task=task, agents=names, urgency=urgency, entity=entity, branch=branch)
        return start_collaboration(self.repository, self.id, request, author=self._author(author))

    def collaborations(self, *, include_closed: bool = False) -> CollaborationList:
        """Return the open collaborations, the newest first; with `include_closed` also the others, after them."""
        return list_collaborations(self.repository, self.id, everything=include_closed)

    def collaboration(self, branch: str | None = None) -> CollaborationReport:
        """Return the report of a collaboration: participants, positions, decisions, and how conflicts ended.

        branch: default: the only open one, else the only merged one, else the newest one.

        Raises:
            NotFound, Ambiguous: there is none; or no branch is named, and several are open, or merged.
        """
        return show_collaboration(self.repository, self.id, branch)

    def join(self, branch: str | None = None, *, author: Author | str | None = None) -> CollaborationChanged:
        """Take part in a collaboration; the request leaves the inbox of the author.

        Raises:
            NotFound, Ambiguous: there is none; or no branch is named, and none or several are open.
            Refused: it is closed or merged.
        """
        return join_branch(self.repository, self.id, branch, author=self._author(author))

    def argue(
        self, argument: Argument, branch: str | None = None, *, author: Author | str | None = None
    ) -> CollaborationChanged:
        """State a position in a collaboration; a later one of the same author about the same subject replaces it.

        Raises:
            NotFound, Ambiguous: there is none; or no branch is named, and none or several are open.
            Refused: it is closed or merged.
            Invalid: the position is empty, or a number is not between 0 and 1.
        """
        return state_position(self.repository, self.id, branch, argument, author=self._author(author))

    def argue_about_conflict(
        self, conflict: str | int, argument: Argument, *, author: Author | str | None = None
    ) -> CollaborationChanged:
        """State a position about an open conflict, named by its number or id: it is in debate then.

        Raises:
            NotFound, Ambiguous: there is no such conflict.
            Refused: it was resolved or aborted.
            Invalid: as `argue` does.
        """
        return argue_about_conflict(self.repository, self.id, str(conflict), argument, author=self._author(author))

    def close_collaboration(
        self, outcome: str = "", branch: str | None = None, *, author: Author | str | None = None
    ) -> CollaborationChanged:
        """Close a collaboration; its branch stays, and is merged as any other.

        Raises:
            NotFound, Ambiguous: as `join` does.
            Refused: it is closed already.
        """
        return close_branch(self.repository, self.id, branch, author=self._author(author), outcome=outcome)
