"""The Claude Code format: a session file is a log of linked records, of which several make one answer.

Telemetry stands between the messages in the chain of links. Messages are linked directly, so that a fork remains only
where the user went back. Claude Code itself writes links to records that it never wrote: such a message follows the
previous one of its line, so that the history before it is not lost. A record that comes before its parent waits for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from typing import Any, NamedTuple

from scopes.errors import CannotImport
from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import Source, StandardFolders, list_entries
from scopes.importers.formats.claude_parts import (
    COMPACTION,
    INTERRUPT,
    MAX_WORD,
    NAME,
    Calls,
    ParsedRecord,
    Tokens,
    count_tokens,
    describe_usage,
    is_message,
    is_state,
    parse_record,
    read_part,
    read_results,
    state_key,
)
from scopes.importers.formats.claude_stream import is_by_qwen, is_envelope, walk_envelope
from scopes.importers.formats.events import ByteRange, Ending, Event, Session, SessionRecord, Unparsed
from scopes.importers.formats.fields import object_field, text_field, time_field
from scopes.importers.formats.records import NOT_DECODED, Record, find_text_field, first_records, walk_records
from scopes.importers.formats.run_builder import ANSWER, RESULTS, OpenMessage, read_beginning, report_unknown_parts

MAX_BYTES = 32 << 20  # of the lines of one message; later lines start a new message
_OTHER_AGENT = "session-"  # iFlow writes the same fields; its session ids begin with this
_AGENT_FILE = re.compile(r"(?:.*[/\\])?([^/\\]+)[/\\]subagents[/\\](?:.*[/\\])?agent-([^/\\]+)\.jsonl", re.DOTALL)
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle"}  # most preferred first
_STATES = {  # record types without links, and a field that each of them must have
    "summary": "leafUuid",
    "file-history-snapshot": "snapshot",
    "queue-operation": "operation",
    "permission-mode": "permissionMode",
    "last-prompt": "leafUuid",
    **_TITLES,
}
_CLEARED = "SessionStart:clear"  # a hook event: the user cleared the context and went on
_CUT_SHORT = frozenset({"max_tokens", "model_context_window_exceeded"})
_AGENT_TOOLS = frozenset({"Task", "Agent"})
_UNNAMED = 8  # characters of a uuid that name a sub-agent without an id


def _find_session(top: str, session: str) -> str | None:
    """Return the file of a session in the directory of any project; None if there is none."""
    paths = (os.path.join(entry.path, f"{session}.jsonl") for entry in list_entries(top))
    return next((path for path in paths if os.path.isfile(path)), None)


class ClaudeCode:
    """Claude Code: session files of all versions that write `isSidechain`, and what `claude -p` prints."""

    name = NAME
    file_suffixes = (".jsonl",)
    standard_folders = StandardFolders(AGENTS[NAME], ("projects",), _find_session)
    sub_agent_fields = ("agentId",)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        return _is_session(head) or _is_stream(head)

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending.

        Raises:
            CannotImport: no record names a session.
        """
        head = read_beginning(source)
        if not _is_session(head) and _is_stream(head):
            yield from walk_envelope(source, NAME)
            return
        with source.open() as stream:
            records = walk_records(stream, source.size)
            ahead = list(_walk_to_message(records))
            session = _read_session(source.path, [each.value for each in ahead if isinstance(each.value, dict)])
            yield session
            reader = _Reader(source, session)
            for record in chain(ahead, records):
                yield from reader.read(record)
        yield from reader.finish()


def _is_session(head: bytes) -> bool:
    """Return True if a session file begins with `head`."""
    likely = False
    for record in walk_records(BytesIO(head), len(head)):
        if record.problem is not None and record.span.length == len(head):
            other = b'"sessionId":"' + _OTHER_AGENT.encode()
            return b'"isSidechain":' in head and b'"parentUuid":' in head and other not in head
        value = record.value if isinstance(record.value, dict) else {}
        kind, session = text_field(value, "type"), text_field(value, "sessionId")
        if (session or "").startswith(_OTHER_AGENT):
            return False
        if kind and isinstance(value.get("isSidechain"), bool) and (session or text_field(value, "agentId")):
            return True
        likely = likely or (kind in _STATES and _STATES[kind] in value)
    return likely


def _is_stream(head: bytes) -> bool:
    """Return True if the output of `claude -p` begins with `head`."""
    if b'"session_id"' not in head:
        return False
    records = first_records(head)
    return is_envelope(records) and not is_by_qwen(records)


def _walk_to_message(records: Iterator[Record]) -> Iterator[Record]:
    """Yield the records up to the first message; they tell which session it is, also while the file grows."""
    for record in records:
        yield record
        if isinstance(record.value, dict) and is_message(record.value):
            return


def _read_session(path: str, values: Sequence[dict[str, Any]]) -> Session:
    """Return the session of a file, given its records up to the first message.

    A sub-agent's file is in `<session>/subagents/`; if its records do not name the session, the folder does.
    """
    first = values[-1] if values and is_message(values[-1]) else {}

    def find(name: str) -> str | None:
        return next(filter(None, (text_field(value, name) for value in [first, *values])), None)

    session_id = find("sessionId")
    sub_file = text_field(first, "agentId") if first.get("isSidechain") is True else None
    agent_file = _AGENT_FILE.fullmatch(path)
    if agent_file is not None and (session_id or "").removeprefix("agent-") in {"", sub_file, agent_file[2]}:
        session_id, sub_file = agent_file[1], sub_file or agent_file[2]
    if session_id is None:
        raise CannotImport(f"{path} names no session", hint="every Claude Code transcript has a sessionId")
    base, version = text_field(object_field(first, "forkedFrom"), "sessionId"), find("version")
    return Session(
        format=NAME,
        native_id=session_id,
        sub_file=sub_file,
        created=next(filter(None, map(time_field, values)), None),
        cwd=find("cwd"),
        base=base if base != session_id else None,
        details={} if version is None else {"version": version},
    )


class _Link(NamedTuple):
    """The message that a record follows.

    side: name of the sub-agent's line; None on the main line
    missing: parent uuid that no record has
    cleared: the user cleared the context before this record
    """

    parent: str | None
    side: str | None
    missing: str | None = None
    cleared: bool = False


class _Links:
    """Finds the message that a record follows, through records that are not messages.

    messages: by the uuid of each record, the message that it belongs to or leads to; None before the first one
    last: the last message of each line in file order; None is the main line
    """

    def __init__(self, sub_file: str | None) -> None:
        self.messages: dict[str, str | None] = {}
        self.last: dict[str | None, str] = {}
        self._sub_file = sub_file
        self._sides: dict[str, str] = {}
        self._cleared: set[str] = set()

    def resolve(self, value: Mapping[str, Any]) -> _Link:
        """Return the message that a record follows."""
        parent_uuid = text_field(value, "parentUuid")
        followed = parent_uuid or text_field(value, "logicalParentUuid")
        side = self._side_of(value, parent_uuid)
        compacts = value.get("isCompactSummary") is True or value.get("subtype") == "compact_boundary"
        if followed is None and value.get("parentUuid", "") is None and not compacts:
            before = self.last.get(side) if _clears(value) else None
            return _Link(before, side, cleared=before is not None)
        if followed not in self.messages:
            return _Link(self.last.get(side), side, parent_uuid)
        parent = self.messages[followed]
        if parent is not None and self._sides.get(parent) != side:
            parent = self.last.get(side)
        return _Link(parent, side, cleared=followed in self._cleared)

    def add(self, uuid: str | None, link: _Link) -> None:
        """Let links to a record that is not a message lead to the message before it."""
        if uuid is not None:
            self.messages[uuid] = link.parent
            if link.cleared:
                self._cleared.add(uuid)

    def begin(self, key: str, side: str | None) -> None:
        """Record a new message as the last one of its line."""
        self.last[side] = key
        if side is not None:
            self._sides[key] = side

    def _side_of(self, value: Mapping[str, Any], parent_uuid: str | None) -> str | None:
        """Return the name of a record's side line: its agent id, its parent's line, or the uuid of the first record."""
        if value.get("isSidechain") is not True:
            return None
        agent = text_field(value, "agentId")
        if agent is not None or self._sub_file is not None:
            return None if agent in {None, self._sub_file} else agent
        parent = None if parent_uuid is None else self.messages.get(parent_uuid)
        known = None if parent is None else self._sides.get(parent)
        return known or (text_field(value, "uuid") or "sidechain")[:_UNNAMED]


def _clears(value: Mapping[str, Any]) -> bool:
    """Return True if a record without a link follows a cleared context, as the execution of a plan does."""
    hook = object_field(value, "data") or object_field(value, "attachment")
    return hook.get("hookName") == _CLEARED or text_field(value, "planContent") is not None


@dataclass(slots=True, kw_only=True)
class _Open(OpenMessage):
    """A message that later records may still add to; `size` is that of its lines in bytes."""

    link: _Link
    size: int = 0

    def add_line(self, span: ByteRange, value: dict[str, Any]) -> None:
        """Add a line. Of the fields that every line of an answer repeats, the last value counts."""
        last = next(reversed(self.spans), None)
        self.size += span.length
        if last is not None and last.offset + last.length == span.offset:
            del self.spans[last]
            span = ByteRange(last.offset, last.length + span.length)
        self.spans[span] = None
        if self.kind == ANSWER:
            message = object_field(value, "message")
            self.add_ids(text_field(message, "id"), text_field(value, "requestId"))
            self.model = text_field(message, "model") or self.model
            self.stop_reason = text_field(message, "stop_reason") or self.stop_reason
            self.usage = object_field(message, "usage") or self.usage
        self.add_ids(text_field(value, "uuid"))


class _Reader:
    """Turns the records of a file into events: one message is open at a time."""

    def __init__(self, source: Source, session: Session) -> None:
        self._source = source
        self._session = session
        self._links = _Links(session.sub_file)
        self._waiting: dict[str, list[tuple[ByteRange, dict[str, Any]]]] = {}  # records, by the uuid of their parent
        self._uuids: frozenset[str] | None = None  # of all records of the file
        self._open: _Open | None = None
        self._last: str | None = None  # the message that was closed last
        self._answered: set[str | None] = set()  # messages that results follow
        self._finished: dict[str, tuple[str, Tokens]] = {}  # by answer: its last message, and the tokens of all
        self._calls: Calls = {}
        self._spawns: dict[str, list[Mapping[str, Any]]] = {}  # calls that start sub-agents, by their prompt
        self._agents: dict[str, str] = {}  # names of sub-agents, by side
        self._titles: dict[str, str] = {}
        self._summaries: dict[str, str] = {}
        self._bridged = 0

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value = record.value
        if not isinstance(value, dict):
            yield Unparsed(spans=(record.span,), reason=record.problem or "not a JSON object")
        elif (parent := self._later_parent(value)) is not None:
            self._waiting.setdefault(parent, []).append((record.span, value))
        else:
            yield from self._read_all([(record.span, value)])

    def finish(self) -> Iterator[Event]:
        """Read the records that wait for each other, close the last message and yield the Ending."""
        while self._waiting:
            yield from self._read_all(self._waiting.pop(min(self._waiting, key=lambda uuid: self._waiting[uuid][0][0])))
        yield from self._close()
        links = "1 link" if self._bridged == 1 else f"{self._bridged} links"
        bridged = f"{links} to a missing parent; each such message follows the previous one"
        summaries = (self._summaries[leaf] for leaf in reversed(self._summaries) if leaf in self._links.messages)
        titles = [*(self._titles.get(kind, "") for kind in _TITLES), *summaries]
        yield Ending(
            active=self._links.last.get(None) or self._last,
            title=next(filter(None, map(str.strip, titles)), None),
            open=self._last,
            notes=(bridged,) if self._bridged else (),
        )

    def _later_parent(self, value: Mapping[str, Any]) -> str | None:
        """Return the uuid of a record's parent if that comes later in the file."""
        parent, uuid = text_field(value, "parentUuid"), text_field(value, "uuid")
        known = self._links.messages
        if parent is None or parent in known or parent == uuid or uuid in known:
            return None
        if self._uuids is None:
            self._uuids = frozenset(_walk_uuids(self._source))
        return parent if parent in self._uuids else None

    def _read_all(self, pending: list[tuple[ByteRange, dict[str, Any]]]) -> Iterator[Event]:
        """Read records, after each of them those that wait for it."""
        pending.reverse()
        while pending:
            span, value = pending.pop()
            yield from self._add(span, value)
            pending += self._waiting.pop(text_field(value, "uuid") or "", [])[::-1] if self._waiting else []

    def _add(self, span: ByteRange, value: dict[str, Any]) -> Iterator[Event]:
        uuid, link = text_field(value, "uuid"), self._links.resolve(value)
        if uuid in self._links.messages:
            yield SessionRecord(key=f"repeated/{state_key(value)}", spans=(span,), value=value)
            return
        agent = None
        if link.side is not None or self._session.sub_file is not None:
            agent = self._agents.get(link.side or "", NAME)
        parsed = parse_record(value, agent) if is_message(value) else None
        if parsed is None:
            self._links.add(uuid, link)
            yield self._state(span, value)
            return
        self._bridged += link.missing is not None and link.parent is not None
        if self._open is None or not self._joins(self._open, span, parsed, link):
            if parsed.kind == INTERRUPT and self._open is not None and self._open.key == link.parent:
                self._open.status = "interrupted" if self._open.kind == ANSWER else self._open.status
            yield from self._close()
            self._open = self._begin(span, value, parsed, link)
        self._add_line(self._open, span, value, parsed)
        if uuid is not None:
            self._links.messages[uuid] = self._open.key

    def _state(self, span: ByteRange, value: dict[str, Any]) -> SessionRecord | Unparsed:
        kind = text_field(value, "type")
        if not is_state(value):
            unknown = f"a record of unknown type {kind[:MAX_WORD]!a}" if kind else "a record without a type"
            known = is_message(value)
            return Unparsed(spans=(span,), reason=f"{kind} record without a readable message" if known else unknown)
        if kind in _TITLES and (title := text_field(value, _TITLES[kind])):
            self._titles[kind] = title
        leaf, summary = text_field(value, "leafUuid"), text_field(value, "summary")
        if kind == "summary" and leaf is not None and summary is not None:
            self._summaries.pop(leaf, None)
            self._summaries[leaf] = summary
        return SessionRecord(state_key(value), (span,), value)

    def _joins(self, found: _Open, span: ByteRange, record: ParsedRecord, link: _Link) -> bool:
        """Return True if a record belongs to the open message: a line of the same answer, or further tool results."""
        if found.kind != record.kind or found.line != link.side or found.size + span.length > MAX_BYTES:
            return False
        if found.kind == ANSWER:
            return record.answer is not None and record.answer == found.answer
        return found.kind == RESULTS and link.parent in {found.key, found.parent, found.link.parent}

    def _begin(self, span: ByteRange, value: dict[str, Any], record: ParsedRecord, link: _Link) -> _Open:
        session = text_field(value, "sessionId")
        extra = {
            "session_id": None if session == self._session.native_id else session,
            "missing_parent": link.missing,
        }
        found = _Open(
            key=str(span.offset),
            parent=self._parent_of(record, link),
            author=record.author,
            kind=record.kind,
            line=link.side,
            answer=record.answer,
            time=time_field(value),
            status=record.status,
            cwd=text_field(value, "cwd"),
            git_branch=text_field(value, "gitBranch"),
            spawned_by=self._spawned_by(record, link.side),
            context_root=record.kind == COMPACTION or link.cleared,
            extra={name: known for name, known in extra.items() if known is not None},
            link=link,
        )
        if record.kind == RESULTS:
            self._answered |= {found.parent, link.parent}
        self._links.begin(found.key, link.side)
        return found

    def _parent_of(self, record: ParsedRecord, link: _Link) -> str | None:
        """Return the parent draft. Lines and results of an answer that come after its first results follow those."""
        after_results = record.kind == RESULTS and link.parent is not None and link.parent in self._answered
        continued = record.answer in self._finished and self._finished[record.answer][0] == link.parent
        return self._links.last.get(link.side) if after_results or continued else link.parent

    def _spawned_by(self, record: ParsedRecord, side: str | None) -> dict[str, str] | None:
        """Return the call that started a sub-agent of this file, for the first message of its line: by its prompt."""
        if side is None or side in self._links.last:
            return None
        prompt = next((part.text for part in map(read_part, record.blocks) if part.type == "text"), "")
        if not self._spawns.get(prompt):
            return None
        call = self._spawns[prompt].pop(0)
        if agent := text_field(object_field(call, "input"), "subagent_type"):
            self._agents[side] = agent
        return {"call_id": call["id"]}

    def _add_line(self, found: _Open, span: ByteRange, value: dict[str, Any], record: ParsedRecord) -> None:
        found.add_line(span, value)
        if record.kind == RESULTS:
            results = read_results(record.blocks, value.get("toolUseResult"), self._calls)
            found.parts += results.parts
            found.files |= dict.fromkeys(results.files)
            found.tools |= dict.fromkeys(results.tools)
            found.status = results.status or found.status
            if found.reply_to is None and results.message != found.parent:
                found.reply_to = results.message
            return
        found.parts += map(read_part, record.blocks)
        for block in record.blocks if record.kind == ANSWER else ():
            match block:
                case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
                    self._calls[call_id] = (found.key, block)
                    prompt = text_field(object_field(block, "input"), "prompt")
                    if name in _AGENT_TOOLS and prompt is not None:
                        self._spawns.setdefault(prompt, []).append(block)

    def _close(self) -> Iterator[Event]:
        """Close the open message, if there is one."""
        found = self._open
        if found is None:
            return
        before = self._finished.get(found.answer or "", ("", {}))[1]
        tokens = count_tokens(found.usage) if found.usage else {}
        if found.answer is not None:
            self._finished[found.answer] = found.key, {**before, **tokens}
        if found.usage:
            found.usage = describe_usage(found.usage, tokens, before)
        if found.stop_reason in _CUT_SHORT:
            found.status = "truncated"
        yield from report_unknown_parts(found.draft())
        self._last, self._open = found.key, None


def _walk_uuids(source: Source) -> Iterator[str]:
    """Yield the uuids of all records of a file, without decoding most of them."""
    found: list[str] = []

    def is_simple(line: bytes) -> bool:
        uuid = find_text_field(line, "uuid")
        if isinstance(uuid, str):
            found.append(uuid)
        return uuid is not NOT_DECODED

    with source.open() as stream:
        for record in walk_records(stream, source.size, is_simple):
            uuid = text_field(record.value, "uuid") if isinstance(record.value, dict) else None
            if uuid is not None:
                yield uuid
    yield from found
