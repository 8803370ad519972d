"""Format messages as JSON: append, amend, cat, log, search, and the messages in other objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.clock import known_seconds, utc
from scopes.history.messages import MessageHeader, summarize_payload
from scopes.history.sessions import Ending, ending_of
from scopes.model.encoding import without_none
from scopes.model.message import FileTouch, Message, payload_key
from scopes.render.dispatch import to_wire
from scopes.render.wire.fields import heading_fields, signature_fields, staleness

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scopes.conversation.append import MessageAmended, MessageAppended
    from scopes.conversation.log import CommitTurn, Log, LogEntry
    from scopes.conversation.show import MessageView
    from scopes.ids import BranchName
    from scopes.search.run import Search, SearchCoverage, SearchHit


def header_object(head: MessageHeader) -> dict[str, object]:
    """Return what the commit of a message contains."""
    return head.document()


def message_object(
    head: MessageHeader,
    message: Message | None,
    branches: Iterable[BranchName] = (),
    ending: Ending | None = None,
) -> dict[str, object]:
    """Return a message under its own kind; without its body, only what its commit contains.

    `text` is the recorded text. A typed message without one has its document as people see it as `subject`:
    `decision: jwt · topic: auth`.

    `message_kind` is its kind. `kind`, which elsewhere is the kind of the document, is the same for older scripts.
    """
    tips: dict[str, object] = without_none(ending=ending, branches=list(branches) or None)
    if message is None:
        return head.document() | tips
    shape: dict[str, object] = without_none(
        kind=message.kind,
        message_kind=message.kind,
        id=head.id,
        oid=head.oid,
        parents=list(head.parents),
        author=message.author.name,
        author_kind=message.author.kind,
        time=utc(message.time),
        recorded_at=_recorded_at(head),
        to=list(message.to) or None,
        reply_to=message.reply_to,
        amends=message.amends,
        retracts=message.retracts,
        work_item=message.work_item,
        task=message.task,
        activity=message.activity,
        tool=message.tool,
        model=message.model,
        status=message.status,
        stop_reason=message.stop_reason,
        files=[_file_object(touch) for touch in message.files] or None,
        text=message.text,
        subject=None if message.text or message.payload is None else summarize_payload(message.payload),
        parts=[{"type": part.type, **part.fields} for part in message.parts],
        extra=message.extra or None,
    )
    if message.payload is not None:
        shape[payload_key(message.kind)] = message.payload
    return shape | tips


@to_wire.register
def format_message_appended(result: MessageAppended) -> dict[str, object]:
    """Return the ids of the new message; with `parent` and `operation` if its branch was created."""
    return without_none(
        kind="message",
        id=result.id,
        oid=result.oid,
        conversation=result.conversation,
        branch=result.branch,
        parent=result.parent,
        start=result.start,
        operation=result.operation,
        remaining_turns=result.remaining_turns,
        recorded="earlier" if result.earlier else None,
    )


@to_wire.register
def format_message_amended(result: MessageAmended) -> dict[str, object]:
    """Return the new message and the one that it amends or retracts."""
    return {
        "kind": "message",
        "id": result.id,
        "oid": result.oid,
        "conversation": result.conversation,
        "branch": result.branch,
        "retracts" if result.retracted else "amends": result.target,
    }


@to_wire.register
def format_message_view(result: MessageView) -> dict[str, object]:
    """Return one message with its conversation and branch."""
    return message_object(result.head, result.message, ending=ending_of(result.message)) | without_none(
        conversation=result.conversation,
        branch=result.branch,
        retracted=result.retracted or None,
        amended=result.amended or None,
        **staleness(result.newer),
        **signature_fields(result.signature),
    )


@to_wire.register
def format_log_entry(result: LogEntry) -> dict[str, object]:
    """Return one message, with the branches whose tip it is, and the merged branch that it is from."""
    changed = without_none(retracted=result.retracted or None, amended=result.amended or None)
    lane = without_none(lane=result.lanes[-1].branch if result.lanes else None)
    shape = message_object(result.head, result.message, result.branches, result.ending)
    signature = signature_fields(result.signature)
    turn = without_none(commit_turn=None if result.commit_turn is None else _commit_turn(result.commit_turn))
    return shape | changed | staleness(result.newer) | lane | signature | turn


def _commit_turn(turn: CommitTurn) -> dict[str, object]:
    return without_none(
        conversation=turn.conversation,
        branch=turn.branch,
        commit=turn.commit,
        links=[link._asdict() for link in turn.links],
        also=list(turn.also) or None,
    )


@to_wire.register
def format_log(result: Log) -> dict[str, object]:
    """Return the whole log as one document."""
    return {"kind": "log", "conversation": result.conversation, "messages": [to_wire(item) for item in result.items]}


@to_wire.register
def format_search_hit(result: SearchHit) -> dict[str, object]:
    """Return one hit; `message` is what its commit contains."""
    return without_none(
        kind="search-hit",
        conversation=result.conversation,
        branch=result.branch,
        **heading_fields(result.heading),
        also=list(result.also) or None,
        score=result.score,
        retracted=result.retracted or None,
        amended=result.amended or None,
        part=result.part,
        snippet=[without_none(text=piece.text, found=piece.found or None) for piece in result.snippet],
        message=result.head.document(),
        before=[neighbor.head.document() for neighbor in result.before] or None,
        after=[neighbor.head.document() for neighbor in result.after] or None,
    )


@to_wire.register
def format_search_coverage(result: SearchCoverage) -> dict[str, object]:
    """Return how much was searched; this is the last line of the output."""
    return without_none(
        kind="search",
        query=result.query,
        shown=result.shown,
        hits=result.hits,
        conversation=result.conversation,
        conversations=result.searched.conversations,
        branches=result.searched.branches,
        messages=result.searched.messages,
        damaged_conversations=result.searched.damaged,
        unreadable_messages=result.searched.unreadable,
        index=result.searched.state,
        commits_read=result.searched.read,
        titles=[hit._asdict() for hit in result.titles] or None,
    )


@to_wire.register
def format_search(result: Search) -> dict[str, object]:
    """Return all hits as one document."""
    return {
        **format_search_coverage(result.coverage),
        "messages_found": [format_search_hit(item) for item in result.hits],
    }


def _recorded_at(head: MessageHeader) -> str | None:
    return None if head.recorded is None else known_seconds(head.recorded)


def _file_object(touch: FileTouch) -> dict[str, object]:
    return without_none(path=touch.path, op=touch.op, content_hash=touch.content_hash, **{"from": touch.source})
