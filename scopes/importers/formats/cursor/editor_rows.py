"""Where the editor Cursor keeps its conversations: rows with a key and a value in `state.vscdb`.

Cursor publishes nothing about this, and no database of a real Cursor was seen. What is known was found out by others:
docs/cursor/storage-reference.md in michaeldhood/chatrxiv, docs/vscdbRelation.md in pppp606/cursor-efficiency,
docs/CURSOR.md in AgentOrchestrator/AgentBase, docs/api-specs/cursor/cursor-api.md in stwalsh4118/clio, and
internal/parser/cursor_ide.go in kenn-io/agentsview:

    composerData:CONVERSATION     the conversation, with the order of its bubbles in fullConversationHeadersOnly; older
                                  versions have the bubbles in it, as `conversation` or `conversationMap`
    bubbleId:CONVERSATION:BUBBLE  what was said at once, such as a prompt, or a call with its result
    composer.content.HASH         a text of a file before or after an edit, which the result of the call names

The databases of workspaces have the oldest conversations in `ItemTable`: those of the composer in
`composer.composerData`, and those of the chat panel. A bubble that is in a list of another value becomes a line of its
own with the key that it has in newer versions. No other row of `ItemTable` is read, it has passwords, and keys of
encryption are left out. What has no conversation in its key, as `agentKv:`, belongs to no source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from scopes.importers.formats.collection import Conversation
from scopes.importers.formats.cursor.cells import cut_out, encode_cells, read_object, read_text, walk_list
from scopes.importers.formats.cursor.names import (
    BUBBLE,
    COMPOSER,
    CONTENT,
    HEADERS,
    ITEMS,
    NAME,
    OTHER_KEYS,
    PANEL,
    VALUES,
)
from scopes.importers.formats.database import Database
from scopes.importers.formats.fields import text_field

ORDER = "fullConversationHeadersOnly"
_ALL_COMPOSERS = "composer.composerData"
_LISTS = ("conversation", "conversationMap")
_CONTENT = re.compile(rf"{re.escape(CONTENT)}[0-9A-Za-z]{{1,128}}")
_TIME = re.compile(r'"createdAt"\s*:\s*"?([0-9T:.Z+-]{1,40})')


class _Found(NamedTuple):
    """A conversation: its id, the row with all but its bubbles, and the texts of the bubbles in that."""

    name: str
    table: str
    key: str
    cell: object
    bubbles: list[str]


class CursorEditorDatabase:
    """`state.vscdb` of the editor, or of one of its workspaces."""

    format = NAME
    tables: tuple[Mapping[str, tuple[str, ...]], ...] = (
        MappingProxyType({VALUES: ("key", "value")}),
        MappingProxyType({ITEMS: ("key", "value")}),
    )

    def walk_conversations(self, database: Database) -> Iterator[Conversation]:
        """Yield conversations with a row of their own, those that only have bubbles, then those of old versions."""
        known: set[str] = set()
        for found in _find_all(database):
            if found.name not in known and (found.bubbles or _has_bubbles(database, found.name)):
                known.add(found.name)
                messages: set[str] = set()
                yield Conversation(found.name, _walk_lines(database, found, messages), messages)


def _find_all(database: Database) -> Iterator[_Found]:
    for key in database.walk_texts(VALUES, "key", COMPOSER):
        cell = _cell(database, VALUES, key)
        text = read_text(cell)
        rest, bubbles = (cell, []) if text is None else cut_out(text, *_LISTS)
        yield _Found(key.removeprefix(COMPOSER), VALUES, key, rest, bubbles)
    last = None
    for key in database.walk_texts(VALUES, "key", BUBBLE):
        name = key.removeprefix(BUBBLE).partition(":")[0]
        if name != last:
            last = name
            yield _Found(name, VALUES, f"{COMPOSER}{name}", None, [])
    for text in _elements(_cell(database, ITEMS, _ALL_COMPOSERS), "allComposers"):
        rest, bubbles = cut_out(text, *_LISTS)
        composer = text_field(read_object(rest) or {}, "composerId")
        if composer is not None:
            yield _Found(composer, ITEMS, f"{COMPOSER}{composer}", rest, bubbles)
    for number, text in enumerate(_elements(_cell(database, ITEMS, PANEL), "tabs")):
        rest, bubbles = cut_out(text, "bubbles")
        tab = read_object(rest) or {}
        name = text_field(tab, "tabId") or text_field(tab, "id") or f"tab-{number}"
        yield _Found(name, ITEMS, f"{PANEL}:{name}", rest, bubbles)


def _elements(cell: object, name: str) -> list[str]:
    """Return the texts of the elements in a list of an object, or in a list."""
    text = read_text(cell)
    if text is None:
        return []
    if not text.lstrip().startswith("["):
        return cut_out(text, name)[1]
    try:
        return list(walk_list(text.lstrip()))
    except (ValueError, RecursionError, IndexError):
        return []


def _walk_lines(database: Database, found: _Found, messages: set[str]) -> Iterator[bytes]:
    """Yield the row of a conversation, its bubbles in their order, those that are not in it, and what else it has."""
    if found.cell is not None:
        yield encode_cells(found.table, {"key": found.key, "value": found.cell})
    for row in database.walk(HEADERS, "composerId", found.name):
        yield encode_cells(HEADERS, row)
    inside = {_key_of_text(found.name, number, text): text for number, text in enumerate(found.bubbles)}
    listed = [f"{BUBBLE}{found.name}:{name}" for name in listed_bubbles(read_object(found.cell) or {})]
    contents: set[str] = set()
    for key in dict.fromkeys([*listed, *inside, *_others(database, found.name, {*listed, *inside})]):
        rows = list(database.walk(VALUES, "key", key))
        if not rows and key not in inside:
            continue  # the list names a bubble that Cursor does not have any more
        for row in rows or [{"key": key, "value": inside[key]}]:
            yield encode_cells(VALUES if rows else found.table, row)
            yield from _walk_contents(database, row["value"], contents)
        messages.add(key.removeprefix(f"{BUBBLE}{found.name}:"))
    for beginning in OTHER_KEYS:
        for key in list(database.walk_texts(VALUES, "key", f"{beginning}{found.name}:")):
            yield from (encode_cells(VALUES, row) for row in database.walk(VALUES, "key", key))


def _walk_contents(database: Database, cell: object, known: set[str]) -> Iterator[bytes]:
    """Yield the rows of the texts that a bubble names for the first time."""
    for key in dict.fromkeys(_CONTENT.findall(read_text(cell) or "")):
        if key not in known:
            known.add(key)
            yield from (encode_cells(VALUES, row) for row in database.walk(VALUES, "key", key))


def listed_bubbles(conversation: Mapping[str, object]) -> list[str]:
    """Return the ids of the bubbles of a conversation in their order; others were taken back."""
    listed = conversation.get(ORDER)
    found = (
        [text_field(each, "bubbleId") for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    )
    return [name for name in found if name is not None]


def _others(database: Database, name: str, known: set[str]) -> list[str]:
    """Return the keys of bubbles that no list names, in the order of their times."""
    keys = [key for key in database.walk_texts(VALUES, "key", f"{BUBBLE}{name}:") if key not in known]
    times = {key: _TIME.search(read_text(_cell(database, VALUES, key)) or "") for key in keys}
    return sorted(keys, key=lambda key: ("" if (time := times[key]) is None else time[1], key))


def _key_of_text(name: str, number: int, text: str) -> str:
    bubble = read_object(text) or {}
    return f"{BUBBLE}{name}:{text_field(bubble, 'bubbleId') or text_field(bubble, 'id') or number}"


def _has_bubbles(database: Database, name: str) -> bool:
    return next(database.walk_texts(VALUES, "key", f"{BUBBLE}{name}:"), None) is not None


def _cell(database: Database, table: str, key: str) -> object:
    """Return the value of a key; None if there is none."""
    row = next(database.walk(table, "key", key), None)
    return None if row is None else row["value"]
