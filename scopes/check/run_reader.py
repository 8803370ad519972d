"""Read a run from the store: the messages of a conversation become calls and texts in the order of events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from scopes.check.calls import Call, Outcome, command_line_of, edits_of
from scopes.check.run import Run, RunPart, RunSource, Text
from scopes.check.session_files import find_unfinished
from scopes.check.transcripts import Sources, Transcripts, find_session_directory, read_transcripts
from scopes.check.unread_calls import FoundPart, find_orphans, find_reused_ids, find_unread
from scopes.history.activity import Tokens, add_up, is_failed, tokens_of
from scopes.history.handles import Scope, read_heading, walk_messages
from scopes.history.messages import MessageHeader
from scopes.history.names import find_directory
from scopes.history.sessions import is_spawned, spawner_of
from scopes.ids import MessageId, Oid
from scopes.importers.archive import digest_of
from scopes.importers.formats.base import Source, choose_format
from scopes.importers.formats.events import STREAM, Draft, Ending, RunEnd, Session
from scopes.importers.formats.registry import FORMATS
from scopes.importers.streams import KnownCalls
from scopes.model.message import COPIED, Message, Part
from scopes.model.tools import is_refused
from scopes.store.repository import Repository

_Entry = tuple[MessageHeader, Message]


def read_run(repository: Repository, scope: Scope, name: str | None = None, imported: Sources | None = None) -> Run:
    """Read all messages of a conversation, or of one branch, as one run; each message and each call counts once.

    Of an event stream that has a session file, the archived bytes tell how the run ended, and results that the file
    lacks; messages that were written before the file was there count only where they have calls of their own.
    """
    imported = imported or Sources(repository)
    transcripts = read_transcripts(repository, scope, imported)
    has_session = any(source.kind == "session" for source in transcripts.sources)
    messages = list(walk_messages(repository, scope))
    messages.sort(key=lambda entry: _stream_number(entry[1], transcripts, has_session=has_session))
    entries = _in_order(messages)
    directory = find_directory(repository, scope.conversation) or find_session_directory(repository, scope, imported)
    of_file = [message for (_, message), _ in entries if not (has_session and STREAM in message.extra)]
    known = KnownCalls()
    for part in (part for message in of_file for part in message.parts if part.type == "tool_call"):
        known.add(part)
    kept: list[tuple[_Entry, bool]] = []
    for (head, message), sub_agent in entries:
        if not has_session or STREAM not in message.extra:
            kept.append(((head, message), sub_agent))
        elif (left := _without_known(message, known)).parts:
            kept.append(((head, left), sub_agent))
    parts: dict[MessageId, Sequence[Part]] = {message.id: () for _, message in messages}
    unread = find_unread(transcripts.records, parts | {message.id: message.parts for (_, message), _ in kept})
    builder = _Builder(directory, transcripts, unread)
    for (head, message), sub_agent in kept:
        builder.add(head, message, sub_agent=sub_agent)
    builder.finish()
    heading = read_heading(repository, scope.conversation)
    return Run(
        name=name or scope.conversation,
        conversation=scope.conversation,
        title=heading.text if heading is not None else None,
        directory=directory,
        calls=tuple(builder.calls()),
        texts=tuple(builder.texts),
        sources=transcripts.sources,
        end=transcripts.end if transcripts.streams else builder.end,
        tokens=add_up(builder.tokens) or transcripts.tokens,
        seconds=builder.seconds,
        models=tuple(dict.fromkeys(builder.models)),
        answers=builder.answers,
        parts=tuple(builder.parts),
        unfinished=find_unfinished(
            repository, transcripts.files, entries, needs_record=bool(transcripts.streams) and transcripts.end is None
        ),
        damage=(*transcripts.damage, *_describe_conflicts(transcripts, messages, unread)),
    )


def _describe_conflicts(
    transcripts: Transcripts, messages: Sequence[_Entry], unread: Sequence[FoundPart]
) -> Iterator[str]:
    """Yield a text if calls of no message have the ids of others, and if a session file has results without calls."""
    parts = [part for _, message in messages for part in message.parts]
    count = len(find_reused_ids(parts, unread))
    if count:
        yield f"{count} call id{'s are' if count > 1 else ' is'} used for different calls"
    if any(source.kind == "session" for source in transcripts.sources):
        count = len(find_orphans([*parts, *(each.part for each in unread)]))
        if count:
            yield f"{count} tool result{'s have' if count > 1 else ' has'} no call: calls are missing"


def read_empty_run(source: Source) -> Run | None:
    """Return the run of a transcript without a message; None if it is a session file that the user did not name.

    Agents also write session files without a run, such as one for a title. An event stream always belongs to a run.

    Raises:
        CannotImport, OSError: it cannot be read.
    """
    chosen = choose_format(FORMATS, source)
    events = list(chosen.walk_events(source))
    session = next((event for event in events if isinstance(event, Session)), None)
    if session is None or not (session.is_stream or source.named) or any(isinstance(event, Draft) for event in events):
        return None
    kind: Literal["stream", "session"] = "stream" if session.is_stream else "session"
    return Run(
        name=source.path,
        conversation=None,
        title=None,
        directory=session.cwd,
        calls=(),
        texts=(),
        sources=(RunSource(source.path, session.format, kind, digest_of(source, source.size)),),
        end=next((event.run_end for event in events if isinstance(event, Ending)), None),
    )


def _stream_number(message: Message, transcripts: Transcripts, *, has_session: bool) -> int:
    """Return the place of a message by its event stream: streams follow a session file and precede what was added."""
    if STREAM not in message.extra:
        return 0 if has_session else len(transcripts.streams) + 1
    return 1 + next((number for number, each in enumerate(transcripts.streams) if message.id in each.messages), 0)


def _without_known(message: Message, known: KnownCalls) -> Message:
    """Return a message of an event stream with those of its calls, and their results, that the session file lacks."""
    parts = [part for part in message.parts if part.type == "tool_result" and not known.had_id(part)]
    parts += [part for part in message.parts if part.type == "tool_call" and not known.take(part)]
    extra = {name: value for name, value in message.extra.items() if name != "usage"}
    return replace(message, parts=tuple(parts), extra=extra)


def _in_order(entries: list[_Entry]) -> list[tuple[_Entry, bool]]:
    """Put the messages of each sub-agent after the message whose call started it; others keep their order."""
    below: dict[Oid, str] = {}  # first message of the sub-agent's line, by commit
    lines: dict[str, list[_Entry]] = {}
    main: list[_Entry] = []
    for head, message in entries:
        parent = head.parents[0] if head.parents else None
        spawner = spawner_of(message) if is_spawned(message) else None if parent is None else below.get(parent)
        if is_spawned(message) or (parent is not None and parent in below):
            below[head.oid] = spawner or ""
            lines.setdefault(spawner or "", []).append((head, message))
        else:
            main.append((head, message))
    ordered: list[tuple[_Entry, bool]] = []
    pending = [(entry, False) for entry in reversed(main)]
    while pending:
        entry, sub_agent = pending.pop()
        ordered.append((entry, sub_agent))
        pending += [(each, True) for each in reversed(lines.pop(entry[0].id, []))]
    return ordered + [(each, True) for line in lines.values() for each in line]


class _Builder:
    """Collects calls with their results, texts, usage and times; messages are added in order."""

    def __init__(self, directory: str | None, transcripts: Transcripts, unread: Sequence[FoundPart]) -> None:
        self._transcripts = transcripts
        self._unread: dict[MessageId | None, list[FoundPart]] = {}
        for each in unread:
            self._unread.setdefault(each.message, []).append(each)
        self._last: Message | None = None
        self._last_added: Message | None = None
        self.texts: list[Text] = []
        self.parts: list[RunPart] = []
        self.tokens: list[Any] = []
        self.models: list[str] = []
        self.answers = 0
        self._number = 0
        self._directory = directory
        self._seen: set[MessageId] = set()
        self._calls: list[tuple[int, MessageId, str, bool, Part, str | None]] = []
        self._results: dict[str, Part] = {}
        self._times: list[int] = []

    @property
    def seconds(self) -> float | None:
        """The time from the first to the last message."""
        return float(max(self._times) - min(self._times)) if len(self._times) > 1 else None

    @property
    def end(self) -> RunEnd | None:
        """The error with which the last message ends; None if it ends without one."""
        last = self._last
        if last is None or (last.kind != "error" and last.stop_reason != "error"):
            return None
        return RunEnd("error", last.text or str(last.extra.get("error") or ""))

    def add(self, head: MessageHeader, message: Message, *, sub_agent: bool) -> None:
        """Add a message; a copy of one that was added is left out."""
        if message.id in self._seen:
            return
        self._seen.add(message.id)
        self._last_added = message
        if message.time is not None and message.extra.get("precision") not in {COPIED, "none"}:
            self._times.append(head.time)
        if (usage := tokens_of(message)) is not None:
            self.tokens.append(usage)
        self.answers += message.author.kind == "agent" and not _continues_answer(message, usage)
        if message.model:
            self.models.append(message.model)
        cwd = message.extra.get("cwd")
        self._directory = cwd if isinstance(cwd, str) else self._directory
        if message.author.kind in {"agent", "system"} and not sub_agent:
            self._last = message
        self._add_parts(message, message.parts, sub_agent=sub_agent)
        for each in self._unread.pop(message.id, []):
            self._add_parts(message, [each.part], sub_agent=sub_agent or each.sub_agent)
        if message.payload is not None:
            self.parts.append(RunPart(self._number, message.id, message.author.name, Part("raw", message.payload)))

    def finish(self) -> None:
        """Add the calls of records that no message precedes, and of those whose messages count elsewhere."""
        left = [each for group in self._unread.values() for each in group]
        if self._last_added is not None:
            for each in left:
                self._add_parts(self._last_added, [each.part], sub_agent=each.sub_agent)

    def _add_parts(self, message: Message, parts: Sequence[Part], *, sub_agent: bool) -> None:
        known = [call[4] for call in self._calls[-64:]]
        name = message.author.name
        for part in parts:
            call_id = part.fields.get("call_id")
            if part.type == "tool_call" and not (isinstance(call_id, str) and _has_call(known, part)):
                self._number += 1
                self._calls.append((self._number, message.id, name, sub_agent, part, self._directory))
            elif part.type == "tool_result" and isinstance(call_id, str):
                self._results.setdefault(call_id, part)
            elif part.type == "text":
                self._number += 1
                self.texts.append(Text(self._number, message.id, name, message.author.kind, part.text))
            self.parts.append(RunPart(self._number, message.id, name, part))

    def calls(self) -> Iterator[Call]:
        """Yield the calls with their results."""
        parts = [each[4] for each in self._calls]
        own = [self._results.get(str(part.fields.get("call_id"))) for part in parts]
        results = self._transcripts.complete(parts, own)
        for (number, message, agent, sub_agent, part, directory), result in zip(self._calls, results, strict=True):
            call_id = part.fields.get("call_id")
            yield Call(
                number=number,
                message=message,
                agent=agent,
                sub_agent=sub_agent,
                call=part,
                result=result,
                outcome="denied" if str(call_id) in self._transcripts.denials else _outcome(result),
                exit_code=_exit_code(result),
                directory=directory,
                shell=command_line_of(part),
                edits=edits_of(part, result),
            )


def _has_call(known: Sequence[Part], call: Part) -> bool:
    """Return True if a call is recorded again; another call with the same id is one of its own."""
    same = [part for part in known if part.fields.get("call_id") == call.fields.get("call_id")]
    return any(part.fields.get("input") == call.fields.get("input") for part in same)


def _continues_answer(message: Message, usage: Tokens | None) -> bool:
    """Return True for a later piece of an answer: an earlier piece has the input that the agent states for the answer.

    An answer whose stated input is 0, as some local models report it, is an answer of its own.
    """
    stated = message.extra["usage"].get("raw") if usage is not None and usage.input == 0 else None
    counts = [value for name, value in stated.items() if "input" in name] if isinstance(stated, Mapping) else []
    return any(isinstance(count, int) and count > 0 for count in counts)


def _outcome(result: Part | None) -> Outcome:
    if result is None:
        return "open"
    if is_refused(result):
        return "denied"
    return "failed" if is_failed(result) else "ok"


def _exit_code(result: Part | None) -> int | None:
    code = None if result is None else result.fields.get("exit_code")
    return code if isinstance(code, int) and not isinstance(code, bool) else None
