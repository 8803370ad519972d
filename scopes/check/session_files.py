"""Find transcripts of a run that stop before the run did, or hold records that cannot be read.

A session file has no end record that all agents write: an agent that was killed leaves a file like any other. The
last message decides: a run ends with an answer of the agent. Codex also writes where a turn begins and ends, the end
after its hooks; a message that it marks as the final answer ends a turn as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from scopes.check.run import Unfinished
from scopes.history.messages import MessageHeader
from scopes.history.sources import SourceRecord, read_spans, walk_chunks
from scopes.ids import MessageId, Oid
from scopes.importers.archive import Segment
from scopes.importers.formats.events import STREAM
from scopes.importers.formats.records import decode
from scopes.importers.streams import is_stream_part
from scopes.model.message import Message
from scopes.store.repository import Repository

_TURN_STARTS = frozenset({"event_msg/task_started", "event_msg/turn_started"})
_TURN_ENDS = frozenset({"event_msg/task_complete", "event_msg/turn_complete", "event_msg/turn_aborted"})
_CONTINUED = frozenset({"tool_use", "toolUse", "tool-calls", "tool_calls", "pause_turn"})  # reasons to stop an answer
_BETWEEN = frozenset({"meta", "notice", "compaction", "summary", "system"})  # kinds that can follow the end of a run
_INTERRUPTED = "ends with an interruption by the user"
_HEADERS = frozenset({"session_meta", "header"})  # states of records that begin a session: Codex, Gemini
_STOP_SUMMARY = "system/stop_hook_summary"
_STOP_HOOKS = frozenset({_STOP_SUMMARY, "progress/hook_progress"})  # of Claude Code: the second is of any hook
_OPENING = (b"{", b"[", b",")


class SessionFile(NamedTuple):
    """The messages of a session file in the order of its bytes.

    turn_open: True if its last turn has no end; None if it records no turns
    turn_last: True if a turn begins or ends after the last message
    hooks: the records of hooks that may be those of the end of a turn, each with the number of messages before it
    commit: the archived source
    """

    name: str
    messages: tuple[MessageId, ...]
    turn_open: bool | None
    turn_last: bool = False
    hooks: tuple[tuple[int, Segment], ...] = ()
    commit: Oid | None = None


def read_session_file(path: str, segments: Sequence[Segment], commit: Oid | None = None) -> SessionFile:
    """Return the messages of a session file, and whether its last turn is open, from its segments."""
    messages = tuple(segment.message for segment in segments if segment.message)
    marks = [(s.message, s.state) for s in segments if s.message or s.state in _TURN_STARTS | _TURN_ENDS]
    turns = [state in _TURN_STARTS for message, state in marks if message is None]
    turn_last = bool(marks) and marks[-1][0] is None
    hooks: list[tuple[int, Segment]] = []
    count = 0
    for segment in segments:
        count += segment.message is not None
        if segment.state in _STOP_HOOKS:
            hooks.append((count, segment))
    name = path.rpartition("/")[2]
    return SessionFile(name, messages, turns[-1] if turns else None, turn_last, tuple(hooks), commit)


def find_damage(repository: Repository, commit: Oid, record: SourceRecord, segments: Sequence[Segment]) -> list[str]:
    """Return what is wrong with the records of a source that are not JSON, one line of text for each.

    A record of an unknown type is none of them: newer agents write such. Of an event stream only a last record that was
    cut off counts, since what a program prints can be between log lines.
    """
    unread = sorted((s.span.offset, s.span.length) for s in segments if s.unparsed is not None and s.span.length)
    if is_stream_part(record.part):
        unread = [(offset, length) for offset, length in unread if offset + length >= record.size]
    pieces = zip(unread, read_spans(walk_chunks(repository, commit), unread), strict=False) if unread else ()
    damaged = [(offset, data) for (offset, _), data in pieces if _decoded(data) is None]
    name = record.path.rpartition("/")[2]
    found: list[str] = []
    lines = number_lines(walk_chunks(repository, commit), [offset for offset, _ in damaged])
    for line, (offset, data) in zip(lines, damaged, strict=True):
        is_cut = offset + len(data) >= record.size and not data.endswith(b"\n") and data.lstrip().startswith(_OPENING)
        if is_cut:
            found.append(f"the last record of {name}, in line {line}, is cut off")
        elif not is_stream_part(record.part):
            found.append(f"the record in line {line} of {name} cannot be read: calls may be missing")
    if not found and is_stream_part(record.part) and _is_open_array(repository, commit, segments):
        found.append(f"the array of records in {name} has no end: it is cut off")
    return found


def _is_open_array(repository: Repository, commit: Oid, segments: Sequence[Segment]) -> bool:
    """Return True if the records of an event stream are a JSON array that is not closed."""
    spans = sorted((s.span.offset, s.span.length) for s in segments if s.span.length)
    records = [(s.span.offset, s.span.length) for s in segments if s.span.length and s.unparsed is None]
    if not records:
        return False
    wanted = sorted({spans[0], max(records)})
    first, *_, last = (*read_spans(walk_chunks(repository, commit), wanted),) * 2
    return first.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[") and not last.rstrip().endswith(b"]")


def find_other_sessions(
    repository: Repository, commit: Oid, record: SourceRecord, segments: Sequence[Segment]
) -> list[str]:
    """Return a text for each header in a session file that begins another session, as after `cat A B`.

    The files of Codex and Gemini have headers. A fork of Codex begins with its own header, which names the session that
    it was forked from; the header of that one, and its history, follow.
    """
    headers = sorted((s.span.offset, s.span.length) for s in segments if s.state in _HEADERS and s.span.length)
    if is_stream_part(record.part) or len(headers) < 2:
        return []
    known: set[object] = {record.native_id}
    others: list[int] = []
    for (offset, _), data in zip(headers, read_spans(walk_chunks(repository, commit), headers), strict=False):
        header = _decoded(data) or {}
        payload = header.get("payload")
        fields = payload if isinstance(payload, dict) else header
        found = fields.get("id") or fields.get("sessionId")
        if not isinstance(found, str):
            continue
        if offset != headers[0][0] and found not in known:
            others.append(offset)
        known |= {found, fields.get("forked_from_id")}
    name = record.path.rpartition("/")[2]
    lines = number_lines(walk_chunks(repository, commit), others)
    return [f"another session begins in line {line} of {name}: check its file by itself" for line in lines]


def find_unfinished(
    repository: Repository,
    files: Sequence[SessionFile],
    entries: Iterable[tuple[tuple[MessageHeader, Message], bool]],
    *,
    needs_record: bool = False,
) -> Unfinished | None:
    """Return how the first session file ends that ends before its run; None if all have their end.

    `entries` are the messages of the run, each with True if it is on the line of a sub-agent. A file whose last message
    was continued in another file, as by resuming the session, ends there. Files of other agents than Codex can hold
    the messages of sub-agents too, which do not count; a file of Codex can be that of a sub-agent. With `needs_record`
    an answer must also say why it stopped: an event stream without its end record shows that the agent may have been
    killed after any text.
    """
    messages: dict[MessageId, Message] = {}
    commits: dict[MessageId, set[Oid]] = {}
    continued: dict[bool, set[Oid]] = {False: set(), True: set()}  # True for lines of sub-agents
    main: set[MessageId] = set()
    for (head, message), is_sub_agent in entries:
        if STREAM not in message.extra:
            messages[message.id] = message
            commits.setdefault(message.id, set()).add(head.oid)
            continued[is_sub_agent].update(head.parents)
            main |= set() if is_sub_agent else {message.id}
    for file in files:
        wanted = main if file.turn_open is None else messages
        own = [messages[each] for each in file.messages if each in wanted]
        if own and not commits[own[-1].id] & continued[own[-1].id not in main]:
            last = next((message for message in reversed(own) if message.kind not in _BETWEEN), None)
            reason = None if last is None else _why_unfinished(file, last, needs_record=needs_record)
            if last is None or reason is None or _has_stopped(repository, file, last):
                continue
            what = "the session file" if len(files) == 1 else f"the session file {file.name}"
            return Unfinished(own[-1].id, f"{what} {reason}")
    return None


def _has_stopped(repository: Repository, file: SessionFile, last: Message) -> bool:
    """Return True if Claude Code ran its hook for the end of a turn after a message: the agent was done.

    It runs none if the user interrupts the turn. The text of the last answer may be written after the hook, or never.
    """
    if last.kind == "interrupt" or file.commit is None:
        return False
    count = len(file.messages) - file.messages[::-1].index(last.id)
    after = [segment for number, segment in file.hooks if number >= count]
    if any(segment.state == _STOP_SUMMARY for segment in after):
        return True
    spans = [(segment.span.offset, segment.span.length) for segment in after]
    pieces = read_spans(walk_chunks(repository, file.commit), spans) if spans else ()
    return any(_is_stop_hook(_decoded(data) or {}) for data in pieces)


def _is_stop_hook(record: dict[str, Any]) -> bool:
    hook = record.get("data")
    return isinstance(hook, dict) and hook.get("hookEvent") == "Stop" and record.get("isSidechain") is not True


def _why_unfinished(file: SessionFile, last: Message, *, needs_record: bool) -> str | None:
    """Return how the last message and turn of a session file show that the run did not end there; None if it did."""
    if last.kind == "interrupt" and not file.turn_last:
        return _INTERRUPTED
    if last.kind == "error" or file.turn_open is False:
        return None
    reason = _why_open(last)
    if file.turn_open and reason is None and (needs_record or file.turn_last or not _is_final(last)):
        return "has no end of its last turn"
    if reason is None and needs_record and last.kind == "answer" and last.stop_reason in {None, "unknown"}:
        return "and the event stream record no end of the run"
    return reason


def _is_final(last: Message) -> bool:
    """Return True if Codex marks a message as the answer that ends a turn: it calls no tool after such a message."""
    return any(part.fields.get("phase") == "final_answer" for part in last.parts)


def _why_open(last: Message) -> str | None:
    """Return how the last message of a session file shows that more should follow; None if it can be the last."""
    if last.kind == "prompt":
        return "ends with a prompt that has no answer"
    if last.kind == "tool-results":
        return "ends with a tool result that the agent did not read"
    if last.kind != "answer" or last.stop_reason not in {None, "unknown", *_CONTINUED}:
        return None
    part = next((part for part in reversed(last.parts) if part.type != "file_ref"), None)
    if last.stop_reason in _CONTINUED or part is None or part.type != "text":
        return "ends in the middle of an answer"
    return None


def _decoded(data: bytes) -> dict[str, Any] | None:
    """Return a record; None if it is not a JSON object."""
    try:
        value = decode(data.decode("utf-8-sig").strip().strip(","))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def number_lines(chunks: Iterable[bytes], offsets: Sequence[int]) -> list[int]:
    """Return the line number, from 1, of each of some ascending byte offsets; none for those behind the last chunk."""
    lines: list[int] = []
    position, line = 0, 1
    for chunk in chunks if offsets else ():
        while len(lines) < len(offsets) and offsets[len(lines)] < position + len(chunk):
            lines.append(line + chunk.count(b"\n", 0, offsets[len(lines)] - position))
        line += chunk.count(b"\n")
        position += len(chunk)
    return lines
