"""`collaborate join`, `argue` and `close`, and `conflicts argue`: take part in a collaboration or in a debate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

from scopes.agents.authors import check_typed_author
from scopes.agents.inbox import remove_message
from scopes.agents.registry import Registry, write_registry
from scopes.collaboration.records import Entry, check_argument, event_field
from scopes.collaboration.report import (
    Collaboration,
    CollaborationReport,
    StatedDecision,
    describe_end,
    read_collaboration,
    resolve_collaboration,
    show_collaboration,
)
from scopes.conversation.append import message_writers
from scopes.errors import Refused
from scopes.history.handles import BranchHandle, StoreHandle
from scopes.history.messages import plain_message
from scopes.history.names import resolve_conversation
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, MessageId, OperationId
from scopes.merge.conflicts import read_conflict
from scopes.merge.keys import decoded_key
from scopes.model.conflicts import ENDED, Conflict
from scopes.model.encoding import without_none
from scopes.model.message import ARGUMENT, Argument, Author, Message, evidence_object, list_support
from scopes.result import Note, Result
from scopes.store.refs import AGENTS
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class CollaborationChanged(Result):
    """What somebody did in a collaboration: `joined`, `argued` or `closed`.

    Attributes:
        branch: The branch that has the message; for an argument about a conflict its conflict-resolution branch.
        about: The subject of an argument.
        outcome: What was said when it was closed.
        message: The message that says so; if the author had joined before, the message with which it did.
        operation: None if nothing changed.
        report: What came of it, when it was closed.
    """

    conversation: ConversationId
    branch: BranchName
    change: str
    author: str
    message: MessageId
    about: str | None = None
    outcome: str | None = None
    operation: OperationId | None = None
    report: CollaborationReport | None = None

    @property
    def sentence(self) -> str:
        """What was done."""
        where = f"{self.conversation}/{self.branch}"
        if self.operation is None:
            return f"{self.author} takes part in {where}"
        return f"{self.author} {self.change}{'' if self.about is None else f' about {self.about}'}: {where}"

    @property
    def answer(self) -> str:
        """The id of the message."""
        return self.message

    @property
    def next_step(self) -> str:
        """How to read what came of it."""
        where = quote(f"{self.conversation}/{self.branch}")
        return "" if self.report is None else f"read what came of it: scopes collaborate show {where}"


def join(
    repository: Repository, conversation: str, branch: str | None = None, *, author: Author
) -> CollaborationChanged:
    """Take part in a collaboration: a message says so, and the request leaves the inbox of the author.

    If the author has joined before, nothing changes; a note says so.

    Raises:
        NotFound, Ambiguous: there is no such collaboration.
        Refused: it is closed or merged.
    """
    with exclusive_write(repository):
        handle = resolve_collaboration(repository, conversation, branch)
        entries, collaboration = read_collaboration(handle)
        _require_open(collaboration)
        joined = (each.head.id for each in entries if each.event == "join" and each.head.author == author.name)
        before = next(joined, None)
        if before is not None:
            done = _changed(handle, "joined", author, before)
            return replace(done, notes=(Note(f"{author.name} has joined {handle} already"),))
        message = replace(plain_message(check_typed_author(author), "joined"), extra=event_field("join"))
        tx = Transaction(repository, handle.conversation.id)
        summary = f"{author.name} joins {handle}"
        _take_request(tx, entries, author, summary)
        return _write(tx, handle, message, summary, "joined")


def argue(
    repository: Repository, conversation: str, branch: str | None, argument: Argument, *, author: Author
) -> CollaborationChanged:
    """State a position in a collaboration; a later one of the same author about the same subject replaces it.

    The request leaves the inbox of the author, who takes part now.

    Raises:
        NotFound, Ambiguous: there is no such collaboration.
        Refused: it is closed or merged.
        Invalid: the position is empty, or the confidence is not between 0 and 1.
    """
    check_argument(argument)
    with exclusive_write(repository):
        handle = resolve_collaboration(repository, conversation, branch)
        entries, collaboration = read_collaboration(handle)
        _require_open(collaboration)
        return _argue(repository, handle, argument, author, entries)


def argue_about_conflict(
    repository: Repository, conversation: str, conflict: str, argument: Argument, *, author: Author
) -> CollaborationChanged:
    """State a position about an open conflict, on its conflict-resolution branch: it is in debate then.

    Raises:
        NotFound, Ambiguous: there is no such conflict.
        Refused: it was resolved or aborted.
        Invalid: the position is empty, or the confidence is not between 0 and 1.
    """
    check_argument(argument)
    with exclusive_write(repository):
        row, in_progress = read_conflict(repository, resolve_conversation(repository, conversation), conflict)
        if row.conflict.status in ENDED:
            hint = f"see: scopes conflicts show {quote(row.conversation)} {quote(row.conflict.id)}"
            raise Refused(f"conflict {row.conflict.id} has ended: {row.conflict.status}", hint=hint)
        handle = StoreHandle(repository).branch(row.conversation, in_progress.branch)
        return _argue(repository, handle, replace(argument, about=row.conflict.id), author)


def close(
    repository: Repository, conversation: str, branch: str | None = None, *, author: Author, outcome: str = ""
) -> CollaborationChanged:
    """Close a collaboration, also a merged one; nobody can join or argue any more.

    The closing message sums up the positions, decisions and conflicts.

    Raises:
        NotFound, Ambiguous: there is no such collaboration.
        Refused: it is closed already.
    """
    with exclusive_write(repository):
        handle = resolve_collaboration(repository, conversation, branch)
        _require_not_closed(read_collaboration(handle)[1])
        report = show_collaboration(repository, handle.conversation.id, handle.name)
        text = outcome.strip()
        message = replace(
            plain_message(check_typed_author(author), sum_up(report, text)), extra=event_field("close", outcome=text)
        )
        tx = Transaction(repository, handle.conversation.id)
        done = _write(tx, handle, message, f"close {handle}", "closed")
        closed = show_collaboration(repository, handle.conversation.id, handle.name)
    notes: tuple[Note, ...] = ()
    if report.collaboration.open_conflicts:
        hint = f"see: scopes conflicts list {quote(handle.conversation.id)}"
        verb = "is" if report.collaboration.open_conflicts == 1 else "are"
        notes = (Note(f"{report.collaboration.open_conflicts} of its conflicts {verb} still open", hint),)
    return replace(done, outcome=text, notes=notes, report=closed)


def sum_up(report: CollaborationReport, outcome: str) -> str:
    """Return the text of a closing message: the outcome, then a line each for positions, decisions and conflicts."""
    conflicts_by_id = {row.conflict.id: decoded_key(row.conflict.key) for row in report.conflicts}
    positions = (
        f"{each.author} on {conflicts_by_id.get(each.argument.about, each.argument.about)}: {each.argument.position}"
        for each in report.positions
    )
    decisions = (f"{each.topic}: {_decided(each)}" for each in report.decisions)
    conflicts = (_end_of(row.conflict) for row in report.conflicts)
    parts = (("Positions", positions), ("Decisions", decisions), ("Conflicts", conflicts))
    lines = [f"{name}: {'; '.join(found)}" for name, texts in parts if (found := [" ".join(t.split()) for t in texts])]
    return "\n\n".join((outcome or "closed", *(["\n".join(lines)] if lines else ())))


def _end_of(conflict: Conflict) -> str:
    resolution = conflict.resolution
    end = "" if resolution is None else f", {describe_end(resolution)}, by {resolution.actor}"
    return f"{decoded_key(conflict.key)} {conflict.status}{end}"


def _decided(decision: StatedDecision) -> str:
    """Return a decision with its author; what a conflict ended with, if that is another one, comes first."""
    stated = f"{decision.decision} ({decision.author})"
    return stated if decision.decided is None else f"{decision.decided} ({decision.decided_by}), instead of {stated}"


def _argue(
    repository: Repository, handle: BranchHandle, argument: Argument, author: Author, entries: Sequence[Entry] = ()
) -> CollaborationChanged:
    message = replace(
        plain_message(check_typed_author(author), argument_text(argument)), extra=argument_field(argument)
    )
    tx = Transaction(repository, handle.conversation.id)
    summary = f"{author.name} argues about {argument.about} in {handle}"
    _take_request(tx, entries, author, summary)
    return replace(_write(tx, handle, message, summary, "argued"), about=argument.about)


def _take_request(tx: Transaction, entries: Sequence[Entry], author: Author, summary: str) -> None:
    """Take the request of a collaboration out of the inbox of somebody who takes part."""
    request = next((each.head.id for each in entries if each.event == "request"), None)
    registry = Registry(tx.repository)
    agent = registry.find_named(author.name)
    read = {} if agent is None or request is None else remove_message(registry, agent, request)
    if read:
        tx.move_ref(AGENTS, registry.commit, write_registry(registry, read, summary))


def _write(tx: Transaction, handle: BranchHandle, message: Message, summary: str, change: str) -> CollaborationChanged:
    """Append a message to the branch and commit the transaction."""
    tip = handle.tip
    [write] = message_writers(tx.repository, handle.conversation.id, [message])
    tx.move_branch(handle.name, tip, write(tip))
    operation = tx.commit(f"collaborate-{change}", summary)
    return replace(_changed(handle, change, message.author, message.id), operation=operation.id)


def _changed(handle: BranchHandle, change: str, author: Author, message: MessageId) -> CollaborationChanged:
    return CollaborationChanged(
        conversation=handle.conversation.id, branch=handle.name, change=change, author=author.name, message=message
    )


def _require_open(collaboration: Collaboration) -> None:
    """Refuse what would be added to a collaboration that has ended."""
    _require_not_closed(collaboration)
    if collaboration.merged_into is not None:
        again = "scopes collaborate CONV --type TYPE --agents NAMES --task TEXT"
        hint = f"close it: scopes collaborate close {quote(collaboration.name)}; or open another one: {again}"
        raise Refused(f"{collaboration.name} was merged into {collaboration.merged_into}", hint=hint)


def _require_not_closed(collaboration: Collaboration) -> None:
    if collaboration.closed is not None:
        hint = f"see: scopes collaborate show {quote(collaboration.name)}"
        raise Refused(f"{collaboration.name} is closed since {collaboration.closed}", hint=hint)


def argument_field(argument: Argument) -> dict[str, Any]:
    """Return the field of a message that makes an argument."""
    return {
        ARGUMENT: {
            "about": argument.about,
            "position": argument.position,
            **without_none(confidence=argument.confidence),
            "reasoning": list(argument.reasoning),
            "evidence": [evidence_object(each) for each in argument.evidence],
            "trade_offs": list(argument.trade_offs),
            "alternatives": list(argument.alternatives),
        }
    }


def argument_text(argument: Argument) -> str:
    """Return the text of a message that makes an argument: the position, then a line for each thing that backs it."""
    rows = list_support(argument)
    return "\n".join((argument.position, *([""] if rows else []), *(f"- {row}" for row in rows)))
