"""Read a run from the store: the messages of a conversation become calls and texts in the order of events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scopes.check.run import Call, Outcome, Run, RunSource, Text
from scopes.history.conversations import Scope, walk_messages
from scopes.history.messages import MessageHeader
from scopes.history.revisions import find_directory, find_root_commit
from scopes.history.sources import SOURCES, read_source_record
from scopes.history.sub_agents import is_spawned, spawner_of
from scopes.history.titles import read_heading
from scopes.history.tool_calls import is_failed
from scopes.history.usage import add_up, tokens_of
from scopes.ids import MessageId, Oid
from scopes.model.file_edits import command_of, edits_of_call
from scopes.model.message import COPIED, Message, Part
from scopes.store.repository import Repository

_Entry = tuple[MessageHeader, Message]


def read_run(repository: Repository, scope: Scope, name: str | None = None) -> Run:
    """Read all messages of a conversation, or of one branch, as one run; each message and each call counts once."""
    entries = _in_order(list(walk_messages(repository, scope)))
    directory = find_directory(repository, scope.conversation)
    builder = _Builder(directory)
    for entry, sub_agent in entries:
        builder.add(*entry, sub_agent=sub_agent)
    heading = read_heading(repository, scope.conversation)
    return Run(
        name=name or scope.conversation,
        conversation=scope.conversation,
        title=heading.text if heading is not None else None,
        directory=directory,
        calls=tuple(builder.calls()),
        texts=tuple(builder.texts),
        sources=tuple(_walk_sources(repository, scope)),
        tokens=add_up(builder.tokens),
        seconds=builder.seconds,
        models=tuple(dict.fromkeys(builder.models)),
        answers=builder.answers,
    )


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

    def __init__(self, directory: str | None) -> None:
        self.texts: list[Text] = []
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

    def add(self, head: MessageHeader, message: Message, *, sub_agent: bool) -> None:
        """Add a message; a copy of one that was added is left out."""
        if message.id in self._seen:
            return
        self._seen.add(message.id)
        if message.time is not None and message.extra.get("precision") not in {COPIED, "none"}:
            self._times.append(head.time)
        if (usage := tokens_of(message)) is not None:
            self.tokens.append(usage)
        self.answers += message.author.kind == "agent"
        if message.model:
            self.models.append(message.model)
        cwd = message.extra.get("cwd")
        self._directory = cwd if isinstance(cwd, str) else self._directory
        known = {call[4].fields.get("call_id") for call in self._calls[-64:]}
        for part in message.parts:
            call_id = part.fields.get("call_id")
            if part.type == "tool_call" and (not isinstance(call_id, str) or call_id not in known):
                self._number += 1
                self._calls.append((self._number, message.id, message.author.name, sub_agent, part, self._directory))
            elif part.type == "tool_result" and isinstance(call_id, str):
                self._results.setdefault(call_id, part)
            elif part.type == "text":
                self._number += 1
                self.texts.append(Text(self._number, message.id, message.author.name, message.author.kind, part.text))

    def calls(self) -> Iterator[Call]:
        """Yield the calls with their results."""
        for number, message, agent, sub_agent, part, directory in self._calls:
            call_id = part.fields.get("call_id")
            result = self._results.get(call_id) if isinstance(call_id, str) else None
            structured = {} if result is None else result.fields.get("structured")
            yield Call(
                number=number,
                message=message,
                agent=agent,
                sub_agent=sub_agent,
                call=part,
                result=result,
                outcome=_outcome(result),
                exit_code=_exit_code(result),
                directory=directory,
                shell=command_of(part),
                edits=tuple(edits_of_call(part, structured if isinstance(structured, Mapping) else {})),
            )


def _outcome(result: Part | None) -> Outcome:
    if result is None:
        return "open"
    return "failed" if is_failed(result) else "ok"


def _exit_code(result: Part | None) -> int | None:
    code = None if result is None else result.fields.get("exit_code")
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _walk_sources(repository: Repository, scope: Scope) -> Iterator[RunSource]:
    """Yield the transcripts that were imported into a conversation."""
    roots = _roots_of(repository, scope)
    for _, value in sorted(repository.list_refs(SOURCES).items()):
        record = read_source_record(repository, Oid(value))
        if record.root in roots or any(root in roots for root in record.more_roots):
            yield RunSource(record.path, record.format, "session")


def _roots_of(repository: Repository, scope: Scope) -> Iterable[Oid]:
    root = find_root_commit(repository, scope.conversation)
    return () if root is None else (root,)
