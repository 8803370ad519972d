"""What the index stores of a message: its texts by kind of part, and the values of its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from scopes.history.messages import MESSAGE_FILE, header_of, is_root
from scopes.ids import Oid
from scopes.index.writer import Describe, IndexDocument
from scopes.model.codec import decode
from scopes.model.message import Message, Part
from scopes.store.objects import Commit
from scopes.store.repository import Objects, Repository, read_commit
from scopes.store.trees import find_blob

_PART_COLUMN = {"text": 0, "reasoning": 1, "tool_call": 2, "tool_result": 3}
_TEXT_FIELDS = ("text", "text", "input", "output")  # of a part, by column; `<field>_text` holds invalid JSON
_CALL_DISTANCE = 16  # messages between a tool call and its result: results of parallel calls come one by one
_CACHED_MESSAGES = 64
_RETRACTED = "retracted: "  # prefix of a retraction without a reason; the retracted text follows


class Progress(Protocol):
    """Is called with 1 for each message that is read."""

    def __call__(self, count: int, /) -> None:
        """Add finished messages."""

    def expect(self, count: Callable[[], int], /) -> None:
        """Take a function that counts the messages that are not finished."""


def describe_from(repository: Repository, progress: Progress | None = None) -> Describe:
    """Return the object that makes index documents of commits."""
    return _Documents(repository, progress)


class _Documents:
    def __init__(self, repository: Repository, progress: Progress | None) -> None:
        self._repository = repository
        self._progress = progress
        self._calls = _ToolCalls(repository)

    def __call__(self, commit: Commit) -> IndexDocument | None:
        if is_root(commit):
            return None
        if self._progress is not None:
            self._progress(1)
        return _describe(commit, _read(self._repository, commit), self._calls)

    def expect(self, count: Callable[[], int]) -> None:
        if self._progress is not None:
            self._progress.expect(count)


def texts_of(message: Message) -> tuple[str, str, str, str]:
    """Return the texts of a message in the order of the index's columns.

    Tool inputs and results contribute all strings in their JSON, a typed message those of its payload as well.
    """
    columns: tuple[list[str], ...] = ([], [], [], [])
    for part in message.parts:
        column = _PART_COLUMN.get(part.type)
        if column is not None:
            name = _TEXT_FIELDS[column]
            for field in (name, f"{name}_text"):
                _add_strings(columns[column], part.fields.get(field))
    _add_strings(columns[0], message.payload)
    if message.retracts is not None and message.text.startswith(_RETRACTED):
        columns[0][:] = [_RETRACTED.strip(": ")]  # the retracted text is indexed with its own message
    text, reasoning, tool_input, tool_result = map("\n".join, columns)
    return text, reasoning, tool_input, tool_result


def _describe(commit: Commit, message: Message, calls: _ToolCalls) -> IndexDocument:
    head = header_of(commit)
    calls.add(commit, message)
    tools = {message.tool or ""}
    files = {name or "" for touch in message.files for name in (touch.path, touch.source)}
    for part in message.parts:
        if part.type == "tool_call":
            tools.add(_tool_name(part))
        elif part.type == "tool_result":
            call = part.fields.get("call_id")
            tools.add((calls.find_tool(commit, call) or "") if isinstance(call, str) else "")
        elif part.type == "file_ref":
            files.add(str(part.fields.get("path", "")))
    return IndexDocument(
        head.id, message.author.name, message.author.kind, message.kind, message.model, head.time or None,
        tuple(sorted(tools - {""})), tuple(sorted(files - {""})), texts_of(message), tuple(sorted(_outcomes(message))),
    )  # fmt: skip


def _outcomes(message: Message) -> set[tuple[str, str]]:
    """Return the exit codes of the tool results of a message, and whether one failed or the message is an error."""
    results = [part.fields for part in message.parts if part.type == "tool_result"]
    if not results:
        return {("is", "failed")} if message.status == "error" else set()
    codes = {fields["exit_code"] for fields in results if type(fields.get("exit_code")) is int}
    failed = message.status == "error" or codes - {0} or any(fields.get("is_error") is True for fields in results)
    return {("exit", str(code)) for code in codes} | ({("is", "failed")} if failed else set())


class _ToolCalls:
    """Finds the tool that a result belongs to: its call is in one of the messages just before.

    The last messages are cached, because parents are indexed before their children.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._cache: dict[Oid, tuple[Sequence[Oid], dict[str, str]]] = {}  # first parent, tool by call id

    def add(self, commit: Commit, message: Message) -> None:
        """Cache the calls of a message."""
        if len(self._cache) >= _CACHED_MESSAGES:
            del self._cache[next(iter(self._cache))]
        tools = {
            str(part.fields.get("call_id")): _tool_name(part) for part in message.parts if part.type == "tool_call"
        }
        self._cache[commit.oid] = (commit.parents[:1], {call: name for call, name in tools.items() if name})

    def find_tool(self, commit: Commit, call: str) -> str | None:
        """Return the name of the tool of a call shortly before a commit."""
        parents: Sequence[Oid] = commit.parents[:1]
        for _ in range(_CALL_DISTANCE):
            if not parents:
                return None
            if parents[0] not in self._cache:
                parent = read_commit(self._objects, parents[0])
                if is_root(parent):
                    return None
                self.add(parent, _read(self._objects, parent))
            parents, tools = self._cache[parents[0]]
            if call in tools:
                return tools[call]
        return None


def _tool_name(part: Part) -> str:
    return str(part.fields.get("name", ""))


def _add_strings(found: list[str], value: object) -> None:
    """Add the strings in a JSON value, in order."""
    if isinstance(value, str):
        found.append(value)
    elif value is not None:
        found.extend(_strings(value))


def _strings(value: object) -> Iterator[str]:
    """Yield the strings in a JSON value, in order; iterative, because a message may be nested 200 levels deep."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list | tuple):
            stack.extend(reversed(item))
        elif hasattr(item, "values"):
            stack.extend(reversed(list(item.values())))


def _read(objects: Objects, commit: Commit) -> Message:
    return decode(find_blob(objects, commit.tree, MESSAGE_FILE) or b"")
