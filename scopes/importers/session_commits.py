"""Write the messages of one session as commits, one event at a time, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from scopes.errors import CannotImport
from scopes.history.messages import Below, read_below, write_message_over
from scopes.history.sources import NOTHING, Purged
from scopes.ids import MessageId, Oid
from scopes.importers.archive import Segment
from scopes.importers.formats.events import Draft, Ending, Event, Session, SessionRecord, Unparsed
from scopes.importers.handed_over import find_own_words
from scopes.importers.identity import content_bytes, message_id
from scopes.importers.purged_texts import Quotes, find_longer_form
from scopes.importers.written_messages import WrittenMessages
from scopes.model.message import COPIED, HANDOVER, Message, Part, decode, encode, purge_message
from scopes.secrets.count import NewSecrets
from scopes.store.objects import BLOB, Objects

OPEN = "open"
RESULT_WITHOUT_CALL, RESULTS_WITHOUT_CALLS = "tool result has no call", "tool results have no calls"
_FORMAT_ERROR = "this is an error in the format that reads the file, not in the file; please report it"
_MAX_OPEN = 2  # messages at the end of a source that later records may change: an answer and its tool results
_MAX_REPEATED_IDS = 100  # of the source for one message: with more, only the segment of its first record has them

Commits: TypeAlias = dict[tuple[MessageId, Oid], Oid]  # commits by message id and parent commit
Recorded: TypeAlias = Mapping[str, tuple[MessageId, Oid]]  # messages and their commits by draft key


@dataclass(slots=True)
class KnownMessages:
    """Messages of a conversation that exist already.

    `calls` maps a tool call's id to its message. `agents` maps a sub-agent's id to the id of the call that started it.
    """

    commits: Commits = field(default_factory=dict)
    calls: dict[str, MessageId] = field(default_factory=dict)
    agents: dict[str, str] = field(default_factory=dict)

    def add_calls(self, parts: Sequence[Part], identity: MessageId, sub_agent_fields: Sequence[str]) -> None:
        """Record the tool calls of a message, and the sub-agents that its tool results name."""
        for part in parts:
            call_id, details = part.fields.get("call_id"), part.fields.get("structured")
            if not isinstance(call_id, str):
                continue
            if part.type == "tool_call":
                self.calls[call_id] = identity
            elif part.type == "tool_result" and isinstance(details, dict):
                for agent in (details.get(name) for name in sub_agent_fields):
                    if isinstance(agent, str):
                        self.agents.setdefault(agent, call_id)


@dataclass(slots=True, kw_only=True)
class ImportedSession:
    """State of one session while its events become commits; draft keys are those of the format.

    session: what the format read from the beginning of the source
    root: root commit of the conversation
    known: messages that the conversation has already; new commits are added
    start: message and commit that the first messages follow; message None is the root
    shared: open messages of the session that this one continues
    own: True if the conversation is named after this session
    new: drafts that were not among the known messages
    open: commits of messages that later records of the source may change
    oids, ids, parents: commit, message id and parent draft, by draft key
    sides: name of the sub-agent, by draft key, for drafts off the main line
    below: what the next messages take over from the last commits
    has_own: True once a message was not a copy
    unmatched: the ids that results name, and that no call had before
    secrets: counts those in new messages; None: they are not counted
    recorded: drafts that are messages which `scopes acp` has recorded
    purged: what stays out: the message has its place, and no content
    grown: what of it was purged before it was complete
    quotes: gets the texts of it
    written: the messages that `checkout` has written into the session, which are those of the conversation
    """

    session: Session
    root: Oid
    known: KnownMessages
    start: tuple[MessageId | None, Oid]
    shared: Commits = field(default_factory=dict)
    own: bool = True
    sub_agent_fields: tuple[str, ...] = ()
    new: set[str] = field(default_factory=set)
    open: Commits = field(default_factory=dict)
    oids: dict[str, Oid] = field(default_factory=dict)
    ids: dict[str, MessageId] = field(default_factory=dict)
    parents: dict[str, str | None] = field(default_factory=dict)
    sides: dict[str, str] = field(default_factory=dict)
    segments: list[Segment] = field(default_factory=list)
    below: dict[Oid, Below] = field(default_factory=dict)
    has_own: bool = False
    unmatched: set[str] = field(default_factory=set)
    last: str | None = None
    secrets: NewSecrets | None = None
    recorded: Recorded = field(default_factory=dict)
    purged: Purged = NOTHING
    grown: Purged = NOTHING
    quotes: Quotes = field(default_factory=Quotes)
    written: WrittenMessages | None = None
    ending: Ending = field(default_factory=lambda: Ending(active=None))

    @property
    def title(self) -> str | None:
        """Return the title that the source gives the session."""
        return self.ending.title or self.session.title

    def notes(self) -> tuple[str, ...]:
        """Return what is irregular in the session: what the format says, and how many results have no call."""
        missing = len(self.unmatched - self.known.calls.keys())  # a call may come after its result
        found = [] if not missing else [f"{missing} {RESULT_WITHOUT_CALL if missing == 1 else RESULTS_WITHOUT_CALLS}"]
        return (*self.ending.notes, *found)

    def leaves(self) -> list[str]:
        """Return the keys of drafts without a successor, in file order."""
        continued = set(self.parents.values())
        return [key for key in self.oids if key not in continued]


def write_commits(objects: Objects, imported: ImportedSession, events: Iterable[Event]) -> None:
    """Write one commit per draft message, up to and including the session's Ending event.

    The last drafts are held back until the Ending says which of them is still open.

    Raises:
        CannotImport: the format broke a rule of its interface: a key that was used before, or an unknown parent.
    """
    keys: set[str] = set()
    held: list[Draft] = []
    for event in events:
        match event:
            case Draft():
                _check_keys(event, keys)
                keys.add(event.key)
                if len(held) == _MAX_OPEN:
                    _write_draft(objects, imported, held.pop(0), still_open=False)
                held.append(event)
            case SessionRecord():
                imported.segments += [Segment(span, state=event.key) for span in event.spans]
            case Unparsed():
                imported.segments += [Segment(span, unparsed=event.reason) for span in event.spans]
            case Ending():
                imported.ending = event
                break
            case Session():
                raise CannotImport(f"the format {event.format} yielded a Session before the Ending of the previous one")
    still_open = False
    for draft in held:
        still_open = still_open or draft.key == imported.ending.open
        _write_draft(objects, imported, draft, still_open=still_open)
    imported.segments.sort(key=lambda segment: segment.span.offset)


def _check_keys(draft: Draft, earlier: set[str]) -> None:
    """Raise CannotImport if a draft's key is not new or its parent not known: its line of history would never end."""
    if draft.key in earlier:
        raise CannotImport(f"two messages have the key {draft.key!r}", hint=_FORMAT_ERROR)
    if draft.parent is not None and draft.parent not in earlier:
        raise CannotImport(f"message {draft.key!r} has the unknown parent {draft.parent!r}", hint=_FORMAT_ERROR)


def _write_draft(objects: Objects, imported: ImportedSession, draft: Draft, *, still_open: bool) -> None:
    """Write a draft as a commit, or reuse the commit of an equal message with the same parent."""
    found = _find_written(imported, draft)
    if found is not None:
        _add_purged_quotes(imported, draft, found[0])
        _add_draft(imported, draft, *found)
        return
    parent = draft.parent
    if draft.key in imported.recorded:
        _take_recorded(imported, draft)
        return
    off_main_line = draft.spawned_by is not None or draft.side is not None
    start = (None, imported.root) if off_main_line else imported.start
    parent_id, parent_oid = (imported.ids[parent], imported.oids[parent]) if parent is not None else start
    identity = message_id(parent_id, content_bytes(draft))
    if grown := find_longer_form(imported.purged, draft, parent_id, identity):
        imported.purged, imported.grown = imported.purged.join(grown), imported.grown.join(grown)
    is_purged = imported.purged.has_message(identity)
    if is_purged:
        imported.quotes.add_parts(draft.parts, imported.purged.parts_of(identity))
    position = identity, parent_oid
    existing = None if still_open else imported.known.commits.get(position) or imported.shared.get(position)
    if existing is None:
        message = _build_message(draft, identity, imported)
        if still_open:
            message = replace(message, extra={**message.extra, OPEN: True})
        data = encode(message)
        if is_purged:
            data = purge_message(data, imported.purged.parts_of(identity))
            message = decode(data)
        if imported.secrets is not None:
            imported.secrets.add(data)
        blob = objects.write(BLOB, data)
        below = imported.below.pop(parent_oid, None) or read_below(objects, parent_oid)
        existing, above = write_message_over(objects, parent_oid, below, message, blob, imported.session.cwd)
        imported.below = {parent_oid: below, existing: above}
        (imported.open if still_open else imported.known.commits)[position] = existing
        imported.new.add(draft.key)
    imported.has_own = imported.has_own or draft.precision != COPIED
    _add_draft(imported, draft, identity, existing)


def _find_written(imported: ImportedSession, draft: Draft) -> tuple[MessageId, Oid] | None:
    """Return the message that `checkout` has written, or for one that repeats results of it the one before."""
    written, parent = imported.written, draft.parent
    if written is None:
        return None
    found = written.find(draft)
    if found is None and parent is not None and written.is_repeated(draft, imported.known.calls):
        return imported.ids[parent], imported.oids[parent]
    return found


def _add_purged_quotes(imported: ImportedSession, draft: Draft, identity: MessageId) -> None:
    """Record the texts of a written draft that were purged: other records of the session quote them.

    A draft may be several messages; if each record is not one part, all of its texts are taken.
    """
    spans = {} if imported.written is None else imported.written.spans
    owners = [spans.get(span, identity) for span in draft.spans] or [identity]
    by_part = owners if len(owners) == len(draft.parts) else None
    for owner in filter(imported.purged.has_message, dict.fromkeys(owners)):
        whole = by_part is None or len(set(owners)) == 1
        parts = draft.parts if whole else [p for p, each in zip(draft.parts, owners, strict=True) if each == owner]
        imported.quotes.add_parts(parts, imported.purged.parts_of(owner) if len(set(owners)) == 1 else None)


def _add_draft(imported: ImportedSession, draft: Draft, identity: MessageId, commit: Oid) -> None:
    """Record what a draft became."""
    if draft.side is not None:
        imported.sides[draft.key] = draft.side
    _note_draft(imported, draft, identity, commit)


def _take_recorded(imported: ImportedSession, draft: Draft) -> None:
    """Take the message that a draft is already: several drafts may be one, such as a call and its result."""
    identity, oid = imported.recorded[draft.key]
    if imported.purged.has_message(identity):
        imported.quotes.add_parts(draft.parts, imported.purged.parts_of(identity))
    imported.has_own = imported.has_own or draft.precision != COPIED
    _note_draft(imported, draft, identity, oid)


def _note_draft(imported: ImportedSession, draft: Draft, identity: MessageId, oid: Oid) -> None:
    """Note the message and the commit of a draft, and which bytes it has."""
    imported.oids[draft.key], imported.ids[draft.key] = oid, identity
    imported.parents[draft.key] = draft.parent
    imported.known.add_calls(draft.parts, identity, imported.sub_agent_fields)
    results = {part.call_id for part in draft.parts if part.type == "tool_result" and part.call_id is not None}
    imported.unmatched |= results - imported.known.calls.keys()
    imported.last = draft.key
    every_span_has_ids = len(draft.native_ids) <= _MAX_REPEATED_IDS
    imported.segments += [
        Segment(
            span,
            message=identity if imported.written is None else imported.written.spans.get(span, identity),
            native_ids=draft.native_ids if every_span_has_ids or not number else (),
        )
        for number, span in enumerate(draft.spans)
    ]


def _build_message(draft: Draft, identity: MessageId, imported: ImportedSession) -> Message:
    """Convert a draft to a message; fields of the source that Message does not have go to `extra`.

    The id is that of the whole prompt, also where a block of ours is taken out of it: earlier imports have it there.
    """
    own = find_own_words(draft.parts if draft.author.kind == "human" else ())
    extra = {
        "precision": draft.precision,
        "usage": draft.usage,
        "cwd": draft.cwd if draft.cwd != imported.session.cwd else None,
        "git_branch": draft.git_branch,
        "context_root": draft.context_root or None,
        "spawned_by": _spawned_by(draft, imported),
        HANDOVER: own.handover,
        **draft.extra,
    }
    return Message(
        id=identity,
        author=draft.author,
        parts=draft.parts if own.handover is None else own.parts,
        kind=draft.kind,
        time=draft.time,
        reply_to=imported.ids.get(draft.reply_to) if draft.reply_to is not None else None,
        files=draft.files,
        tool=draft.tool,
        model=draft.model,
        status=draft.status,
        stop_reason=draft.stop_reason,
        extra={key: value for key, value in extra.items() if value is not None},
    )


def _spawned_by(draft: Draft, imported: ImportedSession) -> dict[str, str] | None:
    """Return the tool call that started the sub-agent of a draft, with its message where that is known.

    If the whole session is a sub-agent, its first message that is not a copy carries this.
    """
    session = imported.session
    first = not imported.has_own and draft.precision != COPIED and draft.side is None
    spawned_by = draft.spawned_by or ((session.spawned_by or {}) if first else None)
    if spawned_by is None:
        return None
    agent = session.sub_file or session.native_id
    call_id = spawned_by.get("call_id") or (imported.known.agents.get(agent) if not imported.own else None)
    message = imported.known.calls.get(call_id) if call_id is not None else None
    found = {"call_id": call_id, "message": message}
    return {**spawned_by, **{name: value for name, value in found.items() if value is not None}} or None
