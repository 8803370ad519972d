"""What of a message is searched: its words by kind of part, and what its fields are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scopes.history.messages import MESSAGE_FILE, head_of, is_root
from scopes.ids import Oid
from scopes.index.document import IndexDocument
from scopes.model.codec import decode
from scopes.model.message import Message, Part
from scopes.store.objects import Commit
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import find_blob

_PART_COLUMN = {"text": 0, "reasoning": 1, "tool_call": 2, "tool_result": 3}
_SOURCES = ("text", "text", "input", "output")  # of each column: the field of a part, `<field>_text` where it is odd
_NEAR = 16  # messages between a call and its result: the results of calls made at once come one by one
_REMEMBERED = 64
_REPEATED = "retracted: "  # begins a notice without a reason; the retracted text follows


def describe_from(repository: Repository) -> Callable[[Commit], IndexDocument | None]:
    """Return what describes the commits of a store."""
    calls = _Calls(repository)

    def describe(commit: Commit) -> IndexDocument | None:
        return None if is_root(commit) else _describe(commit, _read(repository, commit), calls)

    return describe


class _Calls:
    """Tells which tool a result is of: the call stands in one of the messages just before it.

    What was read last is remembered, because parents are described before their children.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._known: dict[Oid, tuple[tuple[Oid, ...], dict[str, str]]] = {}

    def note(self, commit: Commit, message: Message) -> None:
        """Remember the calls of a message."""
        if len(self._known) >= _REMEMBERED:
            del self._known[next(iter(self._known))]
        called = {str(part.fields.get("call_id")): _name(part) for part in message.parts if part.type == "tool_call"}
        self._known[commit.oid] = (commit.parents[:1], {call: name for call, name in called.items() if name})

    def find_tool(self, commit: Commit, call: str) -> str | None:
        """Return the name of the tool that a call near before a commit was for."""
        line = commit.parents[:1]
        for _ in range(_NEAR):
            if not line:
                return None
            if line[0] not in self._known:
                before = read_commit(self._repository, line[0])
                if is_root(before):
                    return None
                self.note(before, _read(self._repository, before))
            line, called = self._known[line[0]]
            if call in called:
                return called[call]
        return None


def _describe(commit: Commit, message: Message, calls: _Calls) -> IndexDocument:
    calls.note(commit, message)
    head = head_of(commit)
    tools = {_name(part) for part in message.parts if part.type == "tool_call"} | {message.tool or ""}
    results = {part.fields.get("call_id") for part in message.parts if part.type == "tool_result"}
    tools |= {calls.find_tool(commit, call) or "" for call in results if isinstance(call, str)}
    files = {touch.path for touch in message.files} | {touch.source or "" for touch in message.files}
    files |= {str(part.fields.get("path", "")) for part in message.parts if part.type == "file_ref"}
    return IndexDocument(
        head.id, message.author.name, message.author.kind, message.kind, message.model, head.time or None,
        tuple(sorted(tools - {""})), tuple(sorted(files - {""})), texts_of(message),
    )  # fmt: skip


def _name(part: Part) -> str:
    return str(part.fields.get("name", ""))


def texts_of(message: Message) -> tuple[str, str, str, str]:
    """Return all text of a message by kind of part, in the order of the index's columns.

    Of tool inputs and results these are the texts that they hold, however deep; of a typed message also its document's.
    """
    found: tuple[list[str], ...] = ([], [], [], [])
    for part in message.parts:
        column = _PART_COLUMN.get(part.type)
        if column is not None:
            source = _SOURCES[column]
            for field in (source, f"{source}_text"):
                found[column].extend(_strings(part.fields.get(field)))
    found[0].extend(_strings(message.payload))
    if message.retracts is not None and message.text.startswith(_REPEATED):
        found[0][:] = [_REPEATED.strip(": ")]  # what was taken back is found where it was said
    text, reasoning, tool_input, tool_result = map("\n".join, found)
    return text, reasoning, tool_input, tool_result


def _strings(value: object) -> Iterator[str]:
    """Yield the texts in a JSON value, in order, without going deep in calls: a message may be nested 200 levels."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list | tuple):
            stack.extend(reversed(item))
        elif hasattr(item, "values"):
            stack.extend(reversed(list(item.values())))


def _read(repository: Repository, commit: Commit) -> Message:
    return decode(find_blob(repository, commit.tree, MESSAGE_FILE) or b"")
