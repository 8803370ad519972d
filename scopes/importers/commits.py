"""From events to commits: a session's drafts get their ids and become commits as they come, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from scopes.history.messages import write_message_blob, write_message_commit
from scopes.ids import MessageId, Oid
from scopes.importers.formats.events import Draft, Ending, Event, Session, Span, State, Unparsed
from scopes.importers.identity import content_bytes, message_id
from scopes.model.message import Message, Part
from scopes.store.repository import Objects

OPEN = "open"
Known: TypeAlias = dict[tuple[MessageId, Oid], Oid]  # commits by the message that they hold and what they stand on
COPIED = "restamped"  # the precision of a time that is not the message's own: it was copied
_AGENT_NAMES = ("agentId", "new_thread_id")  # fields of a result that name the sub-agent that its call began
_UNSETTLED = 2  # messages at the end of a source that a longer one may still change: an answer, and its results


@dataclass(frozen=True, slots=True)
class Segment:
    """What a stretch of the source became: a message, a state record, or nothing that could be read."""

    span: Span
    message: MessageId | None = None
    state: str | None = None
    unparsed: str | None = None
    native_ids: tuple[str, ...] = ()


@dataclass(slots=True)
class ImportedSession:
    """A session as commits: where each draft went, which have successors, and what every byte became.

    `known` are the messages that the conversation has already, `calls` its tool calls and `agents` the calls that began
    sub-agents, both by id. `start` is what the first messages stand on, the root or a message of the session that this
    one began from, and `borrowed` are that session's open messages. `own` tells whether the conversation is this
    session's, `fresh` which drafts it did not have, `open` which a longer source may still change.
    """

    session: Session
    root: Oid
    known: Known
    calls: dict[str, MessageId]
    agents: dict[str, str]
    start: tuple[MessageId | None, Oid]
    borrowed: Known = field(default_factory=dict)
    own: bool = True
    fresh: set[str] = field(default_factory=set)
    open: Known = field(default_factory=dict)
    oids: dict[str, Oid] = field(default_factory=dict)
    ids: dict[str, MessageId] = field(default_factory=dict)
    parents: dict[str, str | None] = field(default_factory=dict)
    sides: dict[str, str] = field(default_factory=dict)
    continued: set[str] = field(default_factory=set)
    segments: list[Segment] = field(default_factory=list)
    begun: bool = False
    last: str | None = None
    ending: Ending = field(default_factory=lambda: Ending(active=None))
    title: str | None = None

    def leaves(self) -> list[str]:
        """Return the keys of the messages that nothing follows, in file order."""
        return [key for key in self.oids if key not in self.continued]


def write_commits(objects: Objects, thread: ImportedSession, events: Iterable[Event]) -> ImportedSession:
    """Write the commits of one session's messages, up to its ending.

    The messages that a longer source may still change are held back until the ending has named the first of them.
    """
    held: list[Draft] = []
    for event in events:
        match event:
            case Draft():
                if len(held) == _UNSETTLED:
                    _settle(objects, thread, held.pop(0), still_open=False)
                held.append(event)
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
    still_open = False
    for draft in held:
        still_open = still_open or draft.key == thread.ending.open
        _settle(objects, thread, draft, still_open=still_open)
    thread.segments.sort(key=lambda segment: segment.span.offset)
    return thread


def note_calls(parts: Sequence[Part], identity: MessageId, calls: dict[str, MessageId], agents: dict[str, str]) -> None:
    """Remember which tool calls a message makes, and which sub-agents the calls began whose results it holds."""
    for part in parts:
        call_id, told = part.fields.get("call_id"), part.fields.get("structured")
        if not isinstance(call_id, str):
            continue
        if part.type == "tool_call":
            calls[call_id] = identity
        elif part.type == "tool_result" and isinstance(told, dict):
            for agent in (told.get(name) for name in _AGENT_NAMES):
                if isinstance(agent, str):
                    agents.setdefault(agent, call_id)


def _settle(objects: Objects, thread: ImportedSession, draft: Draft, *, still_open: bool) -> None:
    """Give a draft its id and its commit; a message that the conversation has already keeps the one it has."""
    parent = draft.parent if draft.parent in thread.oids else None
    alone = draft.spawned_by is not None or draft.side is not None
    start = (None, thread.root) if alone else thread.start
    parent_id, parent_oid = (thread.ids[parent], thread.oids[parent]) if parent is not None else start
    identity = message_id(parent_id, content_bytes(draft))
    place = identity, parent_oid
    existing = None if still_open else thread.known.get(place) or thread.borrowed.get(place)
    if existing is None:
        message = message_of(draft, identity, thread)
        if still_open:
            message = replace(message, extra={**message.extra, OPEN: True})
        blob = write_message_blob(objects, message)
        existing = write_message_commit(objects, parent_oid, message, blob, thread.session.cwd)
        (thread.open if still_open else thread.known)[place] = existing
        thread.fresh.add(draft.key)
    thread.oids[draft.key], thread.ids[draft.key] = existing, identity
    thread.parents[draft.key] = parent
    if draft.side is not None:
        thread.sides[draft.key] = draft.side
    if parent is not None:
        thread.continued.add(parent)
    note_calls(draft.parts, identity, thread.calls, thread.agents)
    thread.begun = thread.begun or draft.precision != COPIED
    thread.last = draft.key
    thread.segments += [Segment(span, message=identity, native_ids=draft.native_ids) for span in draft.spans]


def message_of(draft: Draft, identity: MessageId, thread: ImportedSession) -> Message:
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


def _spawner(draft: Draft, thread: ImportedSession) -> dict[str, str] | None:
    """Say which message's tool call began a sub-agent, as far as it is known.

    A session that is a sub-agent says so with its first message that it did not copy.
    """
    session = thread.session
    first = not thread.begun and draft.precision != COPIED and draft.side is None
    spawned_by = draft.spawned_by or ((session.spawned_by or {}) if first else None)
    if spawned_by is None:
        return None
    agent = session.part or session.native_id
    call_id = spawned_by.get("call_id") or (thread.agents.get(agent) if not thread.own else None)
    message = thread.calls.get(call_id) if call_id is not None else None
    known = {"call_id": call_id, "message": message}
    return {**spawned_by, **{name: value for name, value in known.items() if value is not None}} or None
