"""What of a message is searched: its words by kind of part, and what its fields are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scopes.conversation.heads import MESSAGE_FILE, head_of, is_root
from scopes.index.entry import Entry
from scopes.model.codec import decode
from scopes.model.message import Message
from scopes.store.objects import Commit
from scopes.store.repository import Repository
from scopes.store.trees import find_blob

_PART_COLUMN = {"text": 0, "reasoning": 1, "tool_call": 2, "tool_result": 3}
_SOURCES = ("text", "text", "input", "output")  # of each column: the field of a part, `<field>_text` where it is odd


def describe_from(repository: Repository) -> Callable[[Commit], Entry | None]:
    """Return what describes the commits of a store."""

    def describe(commit: Commit) -> Entry | None:
        return None if is_root(commit) else describe_message(commit, _read(repository, commit))

    return describe


def describe_message(commit: Commit, message: Message) -> Entry:
    """Describe a message that was read."""
    head = head_of(commit)
    tools = {str(part.fields["name"]) for part in message.parts if part.type == "tool_call" and "name" in part.fields}
    if message.tool is not None:
        tools.add(message.tool)
    files = {touch.path for touch in message.files} | {t.source for t in message.files if t.source is not None}
    files |= {str(part.fields["path"]) for part in message.parts if part.type == "file_ref" and "path" in part.fields}
    return Entry(
        head.id, message.author.name, message.author.kind, message.kind, message.model, head.time,
        tuple(sorted(tools)), tuple(sorted(files)), texts_of(message),
    )  # fmt: skip


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
