"""From events to commits: a session's drafts get their ids and become commits as they come, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from scopes.conversation.message_commit import write_message_blob, write_message_commit
from scopes.ids import MessageId, Oid
from scopes.importers.identity import essence, message_id
from scopes.importers.projection import Draft, Ending, Event, Session, Span, State, Unparsed
from scopes.model.message import Message
from scopes.store.repository import Objects

OPEN = "open"


@dataclass(frozen=True, slots=True)
class Segment:
    """What a stretch of the source became: a message, a state record, or nothing that could be read."""

    span: Span
    message: MessageId | None = None
    state: str | None = None
    unparsed: str | None = None
    native_ids: tuple[str, ...] = ()


@dataclass(slots=True)
class Thread:
    """A session as commits: where each draft went, which have successors, and what every byte became.

    `known` are the messages that the conversation has already and `calls` its tool calls, both by id; `start` is what
    the first messages stand on, the root or a message of the session that this one began from; `own` tells whether the
    conversation is this session's, `fresh` which drafts it did not have.
    """

    session: Session
    root: Oid
    known: dict[MessageId, Oid]
    calls: dict[str, MessageId]
    start: tuple[MessageId | None, Oid]
    own: bool = True
    fresh: set[str] = field(default_factory=set)
    oids: dict[str, Oid] = field(default_factory=dict)
    ids: dict[str, MessageId] = field(default_factory=dict)
    parents: dict[str, str | None] = field(default_factory=dict)
    sides: dict[str, str] = field(default_factory=dict)
    continued: set[str] = field(default_factory=set)
    segments: list[Segment] = field(default_factory=list)
    last: str | None = None
    ending: Ending = field(default_factory=lambda: Ending(active=None))
    title: str | None = None

    def leaves(self) -> list[str]:
        """Return the keys of the messages that nothing follows, in file order."""
        return [key for key in self.oids if key not in self.continued]


def weave(objects: Objects, thread: Thread, events: Iterable[Event]) -> Thread:
    """Write the commits of one session's messages, up to its ending.

    The message that a longer source may still change is held back until the ending has named it.
    """
    held: Draft | None = None
    for event in events:
        match event:
            case Draft():
                if held is not None:
                    _settle(objects, thread, held, still_open=False)
                held = event
            case State():
                thread.segments += [Segment(span, state=event.key) for span in event.spans]
            case Unparsed():
                thread.segments += [Segment(span, unparsed=event.reason) for span in event.spans]
            case Ending():
                thread.ending = event
                thread.title = event.title or thread.session.title
                break
            case Session():
                raise AssertionError("a session begins before the one before it has ended")
    if held is not None:
        _settle(objects, thread, held, still_open=thread.ending.open == held.key)
    thread.segments.sort(key=lambda segment: segment.span.offset)
    return thread


def _settle(objects: Objects, thread: Thread, draft: Draft, *, still_open: bool) -> None:
    """Give a draft its id and its commit; a message that the conversation has already keeps the one it has."""
    parent = draft.parent if draft.parent in thread.oids else None
    alone = draft.spawned_by is not None or draft.side is not None
    start = (None, thread.root) if alone else thread.start
    parent_id, parent_oid = (thread.ids[parent], thread.oids[parent]) if parent is not None else start
    identity = message_id(parent_id, essence(draft))
    existing = thread.known.get(identity)
    if existing is None or still_open:
        message = message_of(draft, identity, thread)
        if still_open:
            message = replace(message, extra={**message.extra, OPEN: True})
        blob = write_message_blob(objects, message)
        existing = write_message_commit(objects, parent_oid, message, blob, thread.session.cwd)
        if not still_open:
            thread.known[identity] = existing
        thread.fresh.add(draft.key)
    thread.oids[draft.key], thread.ids[draft.key] = existing, identity
    thread.parents[draft.key] = parent
    if draft.side is not None:
        thread.sides[draft.key] = draft.side
    if parent is not None:
        thread.continued.add(parent)
    for part in draft.parts:
        if part.type == "tool_call" and isinstance(part.fields.get("call_id"), str):
            thread.calls[part.fields["call_id"]] = identity
    thread.last = draft.key
    thread.segments += [Segment(span, message=identity, native_ids=draft.native_ids) for span in draft.spans]


def message_of(draft: Draft, identity: MessageId, thread: Thread) -> Message:
    """Lay a draft out as a message; what the source knows beside our fields goes into `extra`."""
    extra = {
        "precision": draft.precision,
        "usage": draft.usage,
        "cwd": draft.cwd if draft.cwd != thread.session.cwd else None,
        "git_branch": draft.git_branch,
        "context_root": draft.context_root or None,
        "spawned_by": _spawner(draft, thread),
        **draft.extra,
    }
    return Message(
        id=identity,
        author=draft.author,
        parts=draft.parts,
        kind=draft.kind,
        time=draft.time,
        reply_to=thread.ids.get(draft.reply_to) if draft.reply_to is not None else None,
        files=draft.files,
        tool=draft.tool,
        model=draft.model,
        status=draft.status,
        stop_reason=draft.stop_reason,
        extra={key: value for key, value in extra.items() if value is not None},
    )


def _spawner(draft: Draft, thread: Thread) -> dict[str, str] | None:
    """Say which message's tool call began a sub-agent, as far as it is known."""
    spawned_by = draft.spawned_by or (thread.session.spawned_by if draft.parent is None else None)
    if spawned_by is None:
        return None
    message = thread.calls.get(spawned_by.get("call_id", ""))
    return {**spawned_by, "message": message} if message is not None else dict(spawned_by)
