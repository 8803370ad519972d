"""Conversations of the editor Cursor: rows with a key and a value in `globalStorage/state.vscdb`.

Cursor publishes nothing about this, and no database of a real Cursor was seen. What is known was found out by others:
docs/cursor/storage-reference.md in michaeldhood/chatrxiv, docs/vscdbRelation.md in pppp606/cursor-efficiency,
docs/CURSOR.md in AgentOrchestrator/AgentBase, docs/api-specs/cursor/cursor-api.md in stwalsh4118/clio, and
internal/parser/cursor_ide.go in kenn-io/agentsview:

    composerData:CONVERSATION     the conversation, with the order of its bubbles in fullConversationHeadersOnly
    bubbleId:CONVERSATION:BUBBLE  what was said at once, such as a prompt, or a call with its result
    composer.content.HASH         a text of a file before or after an edit, which the result of the call names

Before 2025 the bubbles were in the value of the conversation, or in a database of each workspace: a conversation of the
former kind is named as not read, the latter are no known format. Keys of encryption are left out. What has no
conversation in its key, as `agentKv:`, belongs to no source.

An answer ends where the agent says something after a call, because then the model was asked again; so parallel calls
are one answer, as are calls that follow each other without a word. A bubble that the conversation does not list was
taken back; it stays a state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from scopes.clock import parse_time
from scopes.importers.formats.base import Source
from scopes.importers.formats.collection import Conversation, Row, begins_with_row, encode_row, read_row
from scopes.importers.formats.database import Database
from scopes.importers.formats.events import FILE, Event, Session
from scopes.importers.formats.fields import (
    number_field,
    object_field,
    read_arguments,
    short_word,
    text_field,
    time_of_milliseconds,
)
from scopes.importers.formats.records import Record, decode, decode_text, walk_records
from scopes.importers.formats.run_builder import ANSWER, HUMAN, PROMPT, RunBuilder
from scopes.model.message import Author, Part

NAME: Final = "cursor"
EDITOR_DATABASE: Final = "state.vscdb"
_VALUES, _HEADERS = "cursorDiskKV", "composerHeaders"  # tables
_COMPOSER, _BUBBLE, _CONTENT = "composerData:", "bubbleId:", "composer.content."  # beginnings of keys
_OTHER_KEYS = ("messageRequestContext:", "codeBlockDiff:", "checkpointId:")  # what else belongs to a conversation
_OLD_LISTS = ("conversation", "conversationMap")
_CONTENT_KEY = re.compile(rf"{re.escape(_CONTENT)}[0-9A-Za-z]{{1,128}}")
_SECRET = re.compile(r'("\w{0,80}[eE]ncryptionKey"\s*:\s*)"(?:[^"\\]|\\.)*"', re.DOTALL)
_TIME = re.compile(r'"createdAt"\s*:\s*"?([0-9T:.Z+-]{1,40})')
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")
_DRIVE = re.compile(r"/[A-Za-z]:")
_AGENT = Author(NAME, "agent")
_USER, _ASSISTANT = (1, "user"), (2, "ai", "assistant")
_OUTPUTS = ("output", "contents", "content", "diff")  # fields of a result that hold the text of it
_EXIT_CODES = ("exitCode", "exitCodeV2")
_FAILED = frozenset({"error", "failed", "cancelled", "canceled", "aborted", "rejected"})
_ENDED = frozenset({"completed", "success", *_FAILED})


def read_text(cell: object) -> str | None:
    """Return a cell as text, which Cursor keeps as text or as bytes; None if it is none."""
    if isinstance(cell, bytes):
        cell = decode_text(cell)
    return cell if isinstance(cell, str) else None


def read_object(cell: object) -> dict[str, Any] | None:
    """Decode a JSON object in a cell; None if it is none."""
    text = read_text(cell)
    try:
        value = None if text is None else decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def encode_cells(table: str, columns: Mapping[str, object]) -> bytes:
    """Return the line of a row without keys of encryption; bytes that are text become text, so it can be searched."""
    texts = {name: read_text(cell) for name, cell in columns.items()}
    cells = {
        name: cell if texts[name] is None else _SECRET.sub(r'\1""', str(texts[name])) for name, cell in columns.items()
    }
    return encode_row(table, cells)


def read_time(*values: object) -> str | None:
    """Return the first of some times: milliseconds since 1970, or RFC 3339."""
    for value in values:
        time = value if isinstance(value, str) and parse_time(value) is not None else time_of_milliseconds(value)
        if isinstance(time, str):
            return time
    return None


def read_directory(value: object) -> str | None:
    """Return the absolute path in a URI of VS Code, which is an object or a text; None if there is none."""
    match value:
        case {"fsPath": str(path)} | {"path": str(path)} if path:
            pass
        case str(uri):
            data = uri.removeprefix("file://").encode("utf-8", "surrogatepass")
            path = _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), data).decode("utf-8", "replace")
            path = path[1:] if _DRIVE.match(path) else path
        case _:
            return None
    return path if path.startswith("/") or _DRIVE.match(f"/{path}") else None


class CursorEditorDatabase:
    """`state.vscdb` of the editor."""

    format = NAME
    tables: tuple[Mapping[str, tuple[str, ...]], ...] = (MappingProxyType({_VALUES: ("key", "value")}),)

    def walk_conversations(self, database: Database) -> Iterator[Conversation]:
        """Yield conversations with a row of their own, then those that only have bubbles; none without a bubble."""
        composers = [key.removeprefix(_COMPOSER) for key in database.walk_texts(_VALUES, "key", _COMPOSER)]
        bubbles = {key.split(":")[1] for key in database.walk_texts(_VALUES, "key", _BUBBLE)}
        for name in dict.fromkeys([*composers, *sorted(bubbles)]):
            cell = next((row["value"] for row in database.walk(_VALUES, "key", f"{_COMPOSER}{name}")), None)
            if name in bubbles or _has_old_layout(read_object(cell) or {}):
                messages: set[str] = set()
                yield Conversation(name, _walk_lines(database, name, cell, messages), messages)


def _has_old_layout(about: Mapping[str, Any]) -> bool:
    return any(about.get(name) for name in _OLD_LISTS)


def _walk_lines(database: Database, name: str, cell: object, messages: set[str]) -> Iterator[bytes]:
    """Yield the row of a conversation, its bubbles in their order, those that are not in it, and what else it has."""
    if cell is not None:
        yield encode_cells(_VALUES, {"key": f"{_COMPOSER}{name}", "value": cell})
    for row in database.walk(_HEADERS, "composerId", name):
        yield encode_cells(_HEADERS, row)
    listed = [f"{_BUBBLE}{name}:{each}" for each in _listed_bubbles(read_object(cell) or {})]
    others = dict.fromkeys(database.walk_texts(_VALUES, "key", f"{_BUBBLE}{name}:"), "")
    for key in listed:
        others.pop(key, None)
    for key in others:
        for row in database.walk(_VALUES, "key", key):
            time = _TIME.search(read_text(row["value"]) or "")
            others[key] = "" if time is None else time[1]
    known: set[str] = set()
    for key in dict.fromkeys([*listed, *sorted(others, key=lambda key: (others[key], key))]):
        for row in database.walk(_VALUES, "key", key):
            messages.add(key.removeprefix(f"{_BUBBLE}{name}:"))
            yield encode_cells(_VALUES, row)
            named = dict.fromkeys(_CONTENT_KEY.findall(read_text(row["value"]) or ""))
            for content in (each for each in named if each not in known):
                yield from (encode_cells(_VALUES, row) for row in database.walk(_VALUES, "key", content))
            known |= named.keys()
    for beginning in _OTHER_KEYS:
        for key in list(database.walk_texts(_VALUES, "key", f"{beginning}{name}:")):
            yield from (encode_cells(_VALUES, row) for row in database.walk(_VALUES, "key", key))


def _listed_bubbles(about: Mapping[str, Any]) -> list[str]:
    """Return the ids of the bubbles of a conversation in their order; others were taken back."""
    listed = about.get("fullConversationHeadersOnly")
    names = (
        [text_field(each, "bubbleId") for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    )
    return [name for name in names if name is not None]


def is_editor_row(head: bytes) -> bool:
    """Return True if a source begins with a row of a conversation of the editor."""
    if begins_with_row(head, [_HEADERS]):
        return b'"composerId":' in head
    return head.startswith(
        tuple(f'{{"table":"{_VALUES}","row":{{"key":"{key}'.encode() for key in (_COMPOSER, _BUBBLE))
    )


def walk_editor_rows(source: Source) -> Iterator[Event]:
    """Yield the events of a conversation. The rows before the first bubble, and that, tell what it is."""
    head: list[tuple[Record, Row | None]] = []
    with source.open() as stream:
        records = ((record, read_row(record.value)) for record in walk_records(stream, source.size))
        for record, row in records:
            head.append((record, row))
            if row is not None and _key_of(row).startswith(_BUBBLE):
                break
        reader = _Reader([row for _, row in head if row is not None])
        yield reader.session
        for each in head:
            yield from reader.read(*each)
        for each in records:
            yield from reader.read(*each)
    yield from reader.finish()


def _key_of(row: Row) -> str:
    return _HEADERS if row.table == _HEADERS else text_field(row.columns, "key") or ""


class _Reader:
    """Turns the rows of a conversation into events."""

    def __init__(self, head: list[Row]) -> None:
        documents = {
            _key_of(row).partition(":")[0]: read_object(row.columns.get("value")) or {} for row in reversed(head)
        }
        about, header = documents.get("composerData", {}), documents.get(_HEADERS, {})
        bubble = documents.get("bubbleId", {})
        names = [
            text_field(row.columns, "composerId") or _key_of(row).partition(":")[2].partition(":")[0] for row in head
        ]
        repositories = about.get("trackedGitRepos")
        first = repositories[0] if isinstance(repositories, list) and repositories else None
        places = [object_field(each, "workspaceIdentifier").get("uri") for each in (about, header)]
        places.insert(1, first.get("repoPath") if isinstance(first, dict) else None)
        self._builder = RunBuilder(is_stream=False)
        self._builder.cwd = next(filter(None, map(read_directory, places)), None) or _workspace_of(bubble)
        self._listed = frozenset(_listed_bubbles(about))
        self._title = text_field(about, "name") or text_field(header, "name")
        above = object_field(about, "subagentInfo") or object_field(header, "subagentInfo")
        parent, call = text_field(above, "parentComposerId"), text_field(above, "toolCallId")
        agent = text_field(above, "subagentTypeName")
        self.session = Session(
            format=NAME,
            native_id=next(filter(None, names), "unknown"),
            created=read_time(about.get("createdAt"), header.get("createdAt"), bubble.get("createdAt")),
            cwd=self._builder.cwd,
            title=self._title,
            base=parent,
            spawned_by=None if parent is None else {"session": parent, **({} if call is None else {"call_id": call})},
            details={FILE: EDITOR_DATABASE, **({} if parent is None or agent is None else {"agent": agent})},
        )

    def read(self, record: Record, row: Row | None) -> Iterator[Event]:
        """Read the next row; yield the events that are complete."""
        key = "" if row is None else _key_of(row)
        state = record._replace(value=None)
        about = None if row is None else read_object(row.columns.get("value"))
        if row is None:
            self._builder.reject(record, "not a row")
        elif key.startswith(_BUBBLE):
            self._read_bubble(record, row.columns.get("value"), about, key.rpartition(":")[2])
        elif key.startswith(_CONTENT) and self._builder.open is not None:
            self._builder.add(record)
        elif key.startswith((_CONTENT, *_OTHER_KEYS)):
            self._builder.add_state(state, key.partition(":")[0])
        elif key.startswith(_COMPOSER) and about is None:
            self._builder.reject(record, "a conversation that cannot be read")
        elif key.startswith(_COMPOSER) and about is not None and _has_old_layout(about):
            self._builder.reject(record, "messages in the layout of a Cursor before 2025, which is not read")
        elif key.startswith(_COMPOSER) or key == _HEADERS:
            self._builder.add_state(state, "conversation")
        else:
            self._builder.reject(record, f"a row of {row.table[:64]!a} that belongs to no conversation")
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish(title=self._title)

    def _read_bubble(self, record: Record, value: object, bubble: dict[str, Any] | None, name: str) -> None:
        parts: list[Part] = []
        if self._listed and name not in self._listed:
            self._builder.add_state(record._replace(value=None), "bubble/not-listed")
            return
        if bubble is not None and bubble.get("type") in _USER:
            parts = list(_read_prompt(bubble))
        elif bubble is not None and bubble.get("type") in _ASSISTANT:
            call = object_field(bubble, "toolFormerData")
            parts = [*_read_words(bubble), *(_read_call(call, name) if call else ())]
        elif bubble is not None:
            self._builder.reject(record, f"a bubble of the type {short_word(bubble, 'type')}")
            return
        elif value not in {None, "", "null"}:
            self._builder.reject(record, "a bubble that is no JSON object")
            return
        if bubble is None or not parts:
            self._builder.add_state(record._replace(value=None), "bubble/empty")
        elif bubble["type"] in _USER:
            self._builder.cwd = _workspace_of(bubble) or self._builder.cwd
            found = self._builder.begin(record, HUMAN, PROMPT, parts, time=read_time(bubble.get("createdAt")))
            found.add_ids(name)
            self._builder.model = _model_of(bubble) or self._builder.model
        else:
            self._add_answer(record, bubble, parts, name)

    def _add_answer(self, record: Record, bubble: Mapping[str, Any], parts: list[Part], name: str) -> None:
        found = self._builder.continues(ANSWER)
        speaks = parts[0].type in {"text", "reasoning"}
        if found is None or (speaks and any(part.type == "tool_call" for part in found.parts)):
            time = read_time(bubble.get("createdAt"), object_field(bubble, "timingInfo").get("clientRpcSendTime"))
            found = self._builder.begin(record, _AGENT, ANSWER, parts, time=time)
        else:
            self._builder.add(record, parts)
        found.add_ids(name, text_field(bubble, "serverBubbleId"))
        found.model = _model_of(bubble) or found.model
        found.usage = _read_usage(bubble, found.usage)


def _workspace_of(bubble: Mapping[str, Any]) -> str | None:
    uris = bubble.get("workspaceUris")
    return read_directory(uris[0]) if isinstance(uris, list) and uris else None


def _model_of(bubble: Mapping[str, Any]) -> str | None:
    """Return the model that a bubble names; `default` is none."""
    name = text_field(object_field(bubble, "modelInfo"), "modelName") or text_field(bubble, "modelType")
    return None if name == "default" else name


def _read_prompt(bubble: Mapping[str, Any]) -> Iterator[Part]:
    """Convert a bubble of the user: what was typed, and the files that were attached to it."""
    if text := text_field(bubble, "text"):
        yield Part("text", {"text": text})
    selections = object_field(bubble, "context").get("fileSelections")
    selected = selections if isinstance(selections, list) else []
    paths = [read_directory(each.get("uri")) for each in selected if isinstance(each, dict)]
    for path in dict.fromkeys(path for path in paths if path is not None):
        yield Part("file_ref", {"path": path, "op": "mention"})


def _read_words(bubble: Mapping[str, Any]) -> Iterator[Part]:
    """Convert the reasoning and the text of a bubble of the agent; the code may be apart from the text."""
    thinking = bubble.get("thinking")
    reasoning = text_field(thinking, "text") if isinstance(thinking, dict) else thinking
    if isinstance(reasoning, str) and reasoning:
        yield Part("reasoning", {"text": reasoning})
    text, blocks = text_field(bubble, "text"), bubble.get("codeBlocks")
    if text is None and isinstance(blocks, list):
        listed = [each for each in blocks if isinstance(each, dict) and text_field(each, "content")]
        text = "\n\n".join(f"```{text_field(each, 'languageId') or ''}\n{each['content']}\n```" for each in listed)
    if text:
        yield Part("text", {"text": text})


def _read_call(call: Mapping[str, Any], name: str) -> Iterator[Part]:
    """Convert a call, and its result if it has ended; `name` is that of its bubble."""
    call_id = text_field(call, "toolCallId") or f"bubble-{name}"
    given = [each for each in (call.get("rawArgs"), call.get("params")) if each]
    decoded = (each for each in given if isinstance(each, dict) or read_object(each) is not None)
    fields = read_arguments(next(decoded, given[0])) if given else {}
    yield Part("tool_call", {"call_id": call_id, "name": text_field(call, "name") or "tool", **fields})
    status, result, error = text_field(call, "status"), call.get("result"), call.get("error")
    if status not in _ENDED and not result and not error:
        return
    fields = _read_output(result, error)
    is_refused = call.get("userDecision") == "rejected" or object_field(call, "additionalData").get("status") == "error"
    if status in _FAILED or is_refused or error:
        fields["is_error"] = True
    yield Part("tool_result", {"call_id": call_id, **fields})


def _read_output(result: object, error: object) -> dict[str, Any]:
    """Return the output of a call, and its structured result, which Cursor keeps as JSON in a string."""
    known = result if isinstance(result, dict) else read_object(result)
    if known is None:
        return {"output": result or error or ""}
    texts = (known[name] for name in _OUTPUTS if isinstance(known.get(name), str))
    fields: dict[str, Any] = {"output": next(texts, result), "structured": known}
    code = next((known[name] for name in _EXIT_CODES if type(known.get(name)) is int), None)
    if code is not None and code >= 0:
        fields |= {"exit_code": code, **({"is_error": True} if code else {})}
    return fields


def _read_usage(bubble: Mapping[str, Any], before: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the token counts of an answer with those of a bubble; newer versions count nothing.

    Whether the input has cached tokens in it is not known; all of it counts as not cached.
    """
    count = object_field(bubble, "tokenCount")
    given, output = (int(max(0, number_field(count, name) or 0)) for name in ("inputTokens", "outputTokens"))
    if not given and not output:
        return before
    known = before or {"input_uncached": 0, "output": 0, "raw": []}
    return {
        "input_uncached": known["input_uncached"] + given,
        "output": known["output"] + output,
        "raw": [*known["raw"], {"inputTokens": given, "outputTokens": output}],
    }
