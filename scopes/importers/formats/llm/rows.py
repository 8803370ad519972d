"""Where llm keeps its conversations: in `logs.db`, with responses until 0.31, with messages and turns since 0.32.

An upgraded database has both, and a conversation is in one of them. A response is the prompt and the answer in one row;
it becomes lines for the system prompt, the prompt and the rest, so that every line belongs to one message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from scopes.importers.formats.collection import Conversation
from scopes.importers.formats.database import Database
from scopes.importers.formats.row_lines import encode_row

FORMAT = "llm"
RESPONSES = MappingProxyType(
    {
        "conversations": ("id", "name", "model"),
        "responses": ("id", "model", "prompt", "response", "conversation_id"),
    }
)
MESSAGES = MappingProxyType(
    {
        "threads": ("id", "tip_message_hash"),
        "turns": ("id", "thread_id", "tip_message_hash"),
        "messages": ("hash", "parent_hash", "role"),
        "parts": ("message_hash", "position", "type"),
    }
)
_OF_PROMPT = ("prompt", "prompt_json")  # columns of a response
_MAX_DEPTH = 100_000  # messages before one


class LlmDatabase:
    """`logs.db` of llm."""

    format = FORMAT
    tables: tuple[Mapping[str, tuple[str, ...]], ...] = (RESPONSES, MESSAGES)

    def walk_conversations(self, database: Database) -> Iterator[Conversation]:
        """Yield old conversations, responses that belong to none, then threads, each in the order of their ids."""
        if database.has(RESPONSES):
            yield from _walk_old(database)
        if database.has(MESSAGES):
            database.add_index("turns", "thread_id")
            for thread in list(database.walk("threads", order=("id",))):
                if isinstance(name := thread["id"], str):
                    messages: set[str] = set()
                    yield Conversation(name, _walk_thread(database, thread, messages), messages)


def _walk_old(database: Database) -> Iterator[Conversation]:
    for table in ("tool_calls", "tool_results", "prompt_attachments", "prompt_fragments", "system_fragments"):
        database.add_index(table, "response_id")
    database.add_index("responses", "conversation_id")
    database.add_index("attachments", "id")
    known = set()
    for row in list(database.walk("conversations", order=("id",))):
        if isinstance(name := row["id"], str):
            known.add(name)
            yield _conversation(database, name, [encode_row("conversations", row)])
    named = {row["conversation_id"] for row in database.walk("responses") if row["conversation_id"] is not None}
    for name in sorted(each for each in named - known if isinstance(each, str)):
        yield _conversation(database, name, [])
    for row in list(database.walk("responses", "conversation_id", None, order=("id",))):
        yield Conversation(str(row["id"]), _walk_response(database, row), {str(row["id"])})


def _conversation(database: Database, name: str, head: list[bytes]) -> Conversation:
    messages: set[str] = set()

    def walk() -> Iterator[bytes]:
        yield from head
        for row in database.walk("responses", "conversation_id", name, order=("id",)):
            messages.add(str(row["id"]))
            yield from _walk_response(database, row)

    return Conversation(name, walk(), messages)


def _walk_response(database: Database, row: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the lines of a response: the results of tools that it was given, its prompts, and what the model said."""
    name = row["id"]
    names = {"id": name, "conversation_id": row["conversation_id"]}
    if row.get("system") is not None:
        yield encode_row("responses", {**names, "system": row["system"]})
    yield from _walk_fragments(database, "system_fragments", "response_id", name)
    for result in database.walk("tool_results", "response_id", name, order=("id",)):
        yield encode_row("tool_results", result)
        yield from _walk_attachments(database, "tool_results_attachments", "tool_result_id", result["id"])
    yield encode_row("responses", {**names, **{column: row[column] for column in _OF_PROMPT if column in row}})
    yield from _walk_fragments(database, "prompt_fragments", "response_id", name)
    yield from _walk_attachments(database, "prompt_attachments", "response_id", name)
    left_out = {"system", *_OF_PROMPT}
    yield encode_row("responses", {column: value for column, value in row.items() if column not in left_out})
    for call in database.walk("tool_calls", "response_id", name, order=("id",)):
        yield encode_row("tool_calls", call)


def _walk_thread(database: Database, thread: Mapping[str, Any], messages: set[str]) -> Iterator[bytes]:
    """Yield the thread, then each turn after the messages that are new in it."""
    yield encode_row("threads", thread)
    for turn in database.walk("turns", "thread_id", thread["id"], order=("id",)):
        yield from _walk_messages(database, turn["tip_message_hash"], messages)
        yield encode_row("turns", turn)
        yield from _walk_fragments(database, "turn_fragments", "turn_id", turn["id"])
        for row in database.walk("turn_tools", "turn_id", turn["id"], order=("tool_id",)):
            yield encode_row("turn_tools", row)
    yield from _walk_messages(database, thread["tip_message_hash"], messages)


def _walk_messages(database: Database, tip: object, known: set[str]) -> Iterator[bytes]:
    """Yield the messages up to one, oldest first, each with its parts; without those that are known."""
    line: list[dict[str, Any]] = []
    while isinstance(tip, str) and tip not in known and len(line) < _MAX_DEPTH:
        row = next(database.walk("messages", "hash", tip), None)
        if row is None:
            break
        known.add(tip)
        line.append(row)
        tip = row["parent_hash"]
    for row in reversed(line):
        yield encode_row("messages", row)
        for part in database.walk("parts", "message_hash", row["hash"], order=("position",)):
            yield encode_row("parts", part)
            yield from _walk_fragments(database, "part_fragments", "part_id", part.get("id"))
            yield from _walk_attachments(database, "part_attachments", "part_id", part.get("id"))


def _walk_fragments(database: Database, table: str, column: str, value: object) -> Iterator[bytes]:
    """Yield the rows of a table that names fragments, each with its fragment."""
    yield from _walk_with(database, table, column, value, "fragments", "fragment_id")


def _walk_attachments(database: Database, table: str, column: str, value: object) -> Iterator[bytes]:
    """Yield the rows of a table that names attachments, each with its attachment."""
    yield from _walk_with(database, table, column, value, "attachments", "attachment_id")


def _walk_with(  # noqa: PLR0917 - a table, its rows, and what they name
    database: Database, table: str, column: str, value: object, other: str, reference: str
) -> Iterator[bytes]:
    for row in database.walk(table, column, value, order=("order",)):
        yield encode_row(table, row)
        for named in database.walk(other, "id", row.get(reference)):
            yield encode_row(other, named)
