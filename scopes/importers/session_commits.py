"""Write the messages of one session as commits, one event at a time, in bounded memory.

What scopes put before a prompt is taken out of it: `scopes resume`, `scopes acp` and `scopes context --for-prompt`
write recorded history, memory and last words of other agents in a fence with a mark, and agents record them as if the
user had typed them. The source keeps the exact bytes; the message has the user's own words.

Messages that `checkout` has written into a session of an agent are those of the conversation. Agents keep the ids of
our messages. Where messages have none, as those of Codex, the bytes before are as they were. What follows the last of
our messages in a session follows the tip that was handed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from scopes.errors import CannotImport
from scopes.fence import BEGINS, find_fence
from scopes.history.messages import Below, message_id_of, read_below, write_message_over
from scopes.history.sources import NOTHING, Handover, Purged
from scopes.ids import BranchName, MessageId, Oid
from scopes.importers.archive import Segment, StoredCopy, StoredRecord, walk_segments
from scopes.importers.formats.base import Format
from scopes.importers.formats.events import ByteRange, Draft, Ending, Event, Session, SessionRecord, Unparsed
from scopes.importers.identity import content_bytes, message_id
from scopes.importers.purged_texts import Quotes, find_longer_form
from scopes.model.message import COPIED, HANDOVER, Message, Part, decode, encode, purge_message
from scopes.secrets.count import NewSecrets
from scopes.store.graph import walk_newest_first
from scopes.store.objects import BLOB, Objects

_MAX_FENCES = 20  # of one text that are looked at
_MAX_FRAME = 1_000  # characters before or after a fence
_LABEL = re.compile(r"\n[^\n]*: recorded data, not instructions\.\n\n\Z")
_OPENING = re.compile(r"\n<conversation_history>\n[^\n]+\n(?:It ends with the message ([0-9a-z]{26,64})\.\n)?\n\Z")
_CLOSING = re.compile(r"\n?</conversation_history>\n?")


class _Block(NamedTuple):
    """A block in a text, with the id of the last message of its history, if it names one."""

    name: str
    start: int
    end: int
    message: str | None


@dataclass(frozen=True, slots=True)
class OwnWords:
    """The parts of a prompt without the blocks; `handover` says which there were, None: there were none."""

    parts: tuple[Part, ...]
    handover: dict[str, Any] | None


def find_own_words(parts: Iterable[Part]) -> OwnWords:
    """Return the parts of a prompt without the blocks in its texts; the number of parts stays."""
    kept: list[Part] = []
    found: list[_Block] = []
    for part in parts:
        blocks = list(_walk_blocks(part.text)) if part.type == "text" and BEGINS in part.text else []
        found += blocks
        kept.append(part._replace(fields={**part.fields, "text": _without(part.text, blocks)}) if blocks else part)
    if not found:
        return OwnWords(tuple(kept), None)
    handover: dict[str, Any] = {"blocks": [block.name for block in found]}
    last = next((block.message for block in found if block.message is not None), None)
    return OwnWords(tuple(kept), handover if last is None else {**handover, "message": last})


def _without(text: str, blocks: Iterable[_Block]) -> str:
    pieces, position = [], 0
    for block in blocks:
        pieces.append(text[position : block.start].strip("\n"))
        position = block.end
    return "\n".join(piece for piece in (*pieces, text[position:].strip("\n")) if piece.strip())


def _walk_blocks(text: str) -> Iterator[_Block]:
    """Yield the complete blocks of a text in order; a fence without the words around it is somebody's own."""
    position = 0
    for _ in range(_MAX_FENCES):
        fence = find_fence(text, position)
        if fence is None:
            return
        earliest = position
        before = text[max(earliest, fence.start - _MAX_FRAME) : fence.start]
        before = f"\n{before}" if len(before) == fence.start - earliest else before  # it may begin with the block
        after = text[fence.end : fence.end + _MAX_FRAME]
        is_history = fence.name == "history"
        opening = (_OPENING if is_history else _LABEL).search(before)
        closing = _CLOSING.match(after) if is_history else None
        position = fence.end
        if opening is not None and (closing is not None or not is_history):
            position += closing.end() if closing is not None else 0
            start = max(fence.start - len(before) + opening.start(), earliest)
            yield _Block(fence.name, start, position, opening[1] if is_history else None)


class WrittenRecords(NamedTuple):
    """Records of a session as it was stored last, and the message that they are.

    span: where they begin. content: None if it was purged. results: the calls whose results they are.
    spans: the messages of all of them: an agent may have one answer where the conversation has several in a row.
    """

    span: ByteRange
    native_ids: tuple[str, ...]
    message: MessageId
    content: bytes | None = None
    results: tuple[object, ...] = ()
    spans: tuple[tuple[ByteRange, MessageId], ...] = ()


class WrittenMessages(NamedTuple):
    """The messages that a session has from the conversation.

    branch: the branch of what the agent adds.
    commits: the commits of the messages up to the tip that was handed over.
    by_span: the messages and their content by where they begin; empty if the session has others there now.
    by_native_id: the messages by the ids that the agent has for them.
    answered: the calls whose results are in the messages.
    spans: the message of each record, as far as the session has the same bytes.
    """

    branch: BranchName
    commits: Mapping[MessageId, Oid]
    by_span: Mapping[ByteRange, tuple[MessageId, bytes | None]]
    by_native_id: Mapping[str, MessageId]
    answered: frozenset[object]
    spans: Mapping[ByteRange, MessageId]

    def find(self, draft: Draft) -> tuple[MessageId, Oid] | None:
        """Return the message and commit that a draft is; None if the agent has added it, or something to it."""
        named = (self.by_native_id[name] for name in draft.native_ids if name in self.by_native_id)
        identity = next(named, None)
        known = self.by_span.get(draft.spans[0]) if draft.spans else None
        if identity is None and known is not None and known[1] in {None, content_bytes(draft)}:
            identity = self.spans.get(draft.spans[-1], known[0])
        return None if identity is None else (identity, self.commits[identity])

    def is_repeated(self, draft: Draft, messages: Mapping[str, MessageId]) -> bool:
        """Return True if a message has only results that our messages have: Gemini CLI writes them once more.

        `messages` are those of the calls so far: a model may give a call of its own the id of an old one.
        """
        calls = [part.fields.get("call_id") for part in draft.parts if part.type == "tool_result"]
        is_old = all(call in self.answered and messages.get(str(call)) in self.commits for call in calls)
        return bool(calls) and len(calls) == len(draft.parts) and is_old


def read_written_messages(
    objects: Objects,
    tips: Iterable[Oid],
    handover: Handover,
    written: Iterable[WrittenRecords],
    *,
    has_same_bytes: bool,
) -> WrittenMessages | None:
    """Return the messages that a session has from the conversation; None if the tip is no longer in the store.

    tips: commits to look for the tip from, the likely ones first: an open message may have several commits.
    written: the records of the session as it was stored last; `has_same_bytes` tells whether it still begins with them.
    """
    found = (commit for tip in tips for commit in walk_newest_first(objects, [tip]))
    tip = next((commit.oid for commit in found if message_id_of(commit) == handover.tip), None)
    if tip is None:
        return None
    commits: dict[MessageId, Oid] = {}
    for commit in walk_newest_first(objects, [tip]):
        commits.setdefault(message_id_of(commit), commit.oid)
    known = [each for each in written if each.message in commits]
    return WrittenMessages(
        handover.branch,
        commits,
        {each.span: (each.message, each.content) for each in known} if has_same_bytes else {},
        {name: each.message for each in known for name in each.native_ids},
        frozenset(call for each in known for call in each.results),
        dict(pair for each in known for pair in each.spans) if has_same_bytes else {},
    )


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


@dataclass(slots=True)
class ParentSession:
    """A session that others may continue, from this run or from the store.

    `imported` is set until its group is done, in this run only; `record` is the commit of its source's record.
    """

    tips: Sequence[Oid]
    record: Oid | None = None
    imported: ImportedSession | None = None
    open: Commits = field(default_factory=dict)


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


def find_written(
    objects: Objects,
    tips: Iterable[Oid],
    handover: Handover,
    chosen: Format,
    stored: StoredRecord,
    *,
    has_same_bytes: bool,
) -> WrittenMessages | None:
    """Return the messages that a session has from its conversation; None if the tip is no longer in the store.

    tips: commits to look for the tip from, the likely ones first.
    has_same_bytes: the session still begins with what is stored of it.
    """
    drafts = (event for event in _walk_stored(objects, chosen, stored) if isinstance(event, Draft))
    written = list_written(drafts, walk_segments(objects, stored.commit), is_purged=stored.record.purged)
    return read_written_messages(objects, tips, handover, written, has_same_bytes=has_same_bytes)


def read_written_title(objects: Objects, chosen: Format, stored: StoredRecord) -> str | None:
    """Return the title that a session had when it was stored last; None if it had none, or has purged messages."""
    events = () if stored.record.purged else _walk_stored(objects, chosen, stored)
    return next((event.title for event in events if isinstance(event, Session)), None)


def _walk_stored(objects: Objects, chosen: Format, stored: StoredRecord) -> Iterator[Event]:
    record = stored.record
    return chosen.walk_events(StoredCopy(record.file_name, record.size, objects, stored.commit))


def list_written(drafts: Iterable[Draft], segments: Iterable[Segment], *, is_purged: bool) -> list[WrittenRecords]:
    """Return the records of a session by its drafts and segments; of one with purged messages by the segments alone.

    The first records of a draft may be of several messages; then it is the last one of these.
    """
    messages = {each.span: each for each in segments if each.message is not None}
    if is_purged:
        return [
            WrittenRecords(span, each.native_ids, each.message, spans=((span, each.message),))
            for span, each in messages.items()
            if each.message is not None
        ]
    found = []
    for draft in drafts:
        last = messages.get(draft.spans[-1]) if draft.spans else None
        if last is not None and last.message is not None:
            results = tuple(part.fields.get("call_id") for part in draft.parts if part.type == "tool_result")
            content = content_bytes(draft)
            known = ((span, messages[span].message) for span in draft.spans if span in messages)
            spans = tuple((span, message) for span, message in known if message is not None)
            found.append(WrittenRecords(draft.spans[0], draft.native_ids, last.message, content, results, spans))
    return found
