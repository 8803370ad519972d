"""The OpenHands format: the events of the Software Agent SDK (OpenHands 1.x) and of OpenHands before 1.0.

OpenHands keeps a conversation in a folder with a file for each event; a line for each file becomes the source:

    conversations/ID/base_state.json, TASKS.json, events/event-00000-EVENT.json     the SDK, OpenHands 1.x
    conversations/ID/subagents/ID/...                                               conversations that it started
    sessions/ID/metadata.json, events/0.json                                        OpenHands before 1.0

`event_cache` has copies of the events; `init.json` may have tokens of the user, and `*.pkl` is code of Python: none of
these is read. Events are also read as JSON lines, in a row or in an array, such as joined files and the trajectories of
versions before 1.0. Times have no zone and are read as UTC. Token counts are running totals; in the SDK they are in
events of the state, which come before the answer they count.

Sources: conversation/persistence_const.py of OpenHands/software-agent-sdk; openhands/storage/locations.py,
openhands/events/event_store.py and openhands/events/serialization/event.py of All-Hands-AI/OpenHands at 0.x.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from itertools import islice
from typing import Any, Final

from scopes.clock import parse_time
from scopes.errors import CannotImport
from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import Format, Source, StandardFolders, list_entries
from scopes.importers.formats.collection import MAX_FILE_BYTES, SEPARATOR, Conversation, Row, read_row, walk_file
from scopes.importers.formats.events import Event, Session
from scopes.importers.formats.fields import (
    call_id_of,
    count_field,
    list_field,
    object_field,
    output_of,
    read_arguments,
    read_file,
    short_word,
    text_field,
)
from scopes.importers.formats.records import (
    Record,
    decode_object,
    digest_of_values,
    first_records,
    walk_records,
    walk_stream,
)
from scopes.importers.formats.run_builder import (
    ANSWER,
    ERROR,
    HUMAN,
    INJECTED,
    META,
    PROMPT,
    RESULTS,
    TOOL,
    OpenMessage,
    RunBuilder,
    read_beginning,
    walk_session,
)
from scopes.model.message import Author, Part
from scopes.regular_file import read_regular

NAME: Final = "openhands"
_AGENT, _HARNESS = Author(NAME, "agent"), Author(NAME, "system")
_TOP, _EVENTS, _SUB_AGENTS = "conversations/", "events", "subagents"
_EVENT_FILE = re.compile(r"(?:event-)?(\d{1,18})(?:-[0-9A-Za-z-]{1,64})?\.json")
_ABOUT = ("base_state.json", "metadata.json", "TASKS.json")
_FIELD_OF = {"base_state.json": b'"id"', "metadata.json": b'"conversation_id"'}  # and a field of each
_ID = re.compile(r"([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})")
_SOURCES = frozenset({"agent", "user", "environment", "hook"})
_STATES = frozenset({
    "ConversationStateUpdateEvent", "TokenEvent", "LLMCompletionLogEvent", "CondensationRequest", "HookExecutionEvent",
    "StreamingDeltaEvent", "ACPToolCallEvent",
})  # fmt: skip
_RESULT_KINDS = frozenset({"ObservationEvent", "UserRejectObservation", "AgentErrorEvent"})
_SHOWN = frozenset({"content", "is_error", "kind"})  # fields of an observation that the result has elsewhere
_COUNTS = ("prompt_tokens", "cache_read_tokens", "cache_write_tokens", "completion_tokens", "reasoning_tokens")
_OLD_STATE_ACTIONS = frozenset({
    "change_agent_state", "condensation", "condensation_request", "loop_recovery", "null", "pause", "recall", "resume",
    "start", "stop",
})  # fmt: skip
_OLD_STATE_OBSERVATIONS = frozenset({"agent_state_changed", "condense", "loop_detection", "null", "recall"})
_OLD_TOOLS = {"run": "execute_bash", "run_ipython": "execute_ipython_cell"}  # by the action that a call became
_OLD_ENVIRONMENT = frozenset({"thought", "is_confirmed", "confirmation_state", "hidden", "security_risk"})


def _find_session(top: str, session: str) -> str | None:
    """Return the source of a conversation, whose folder has its id, in newer versions without the hyphens."""
    for name in (session, session.replace("-", "")):
        folder = os.path.join(top, name)
        if os.path.isdir(folder):
            return f"{folder}{SEPARATOR}{name}"
    return None


class OpenHands(Format):
    """Conversations of OpenHands."""

    name = NAME
    file_suffixes = (".jsonl", ".json")
    standard_folders = StandardFolders(
        AGENTS[NAME], ("conversations", "sessions"), _find_session, "OPENHANDS_CONVERSATIONS_DIR", is_top=True
    )

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        if _is_folder_line(head):
            return True
        return b'"timestamp"' in head and b'"source"' in head and any(map(_is_event, first_records(head)))

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending.

        Raises:
            CannotImport: the source is one of the files of a folder, with one event.
        """
        data = read_beginning(source)
        if _is_folder_line(data):
            yield from walk_session(source, _FolderReader(data), walk_records)
            return
        head = first_records(data)
        if source.size == len(data) and len(head) == 1 and _is_file_of_event(data):
            hint = "import the folder of the conversation, which has the folder events"
            raise CannotImport(f"{source.path}: one event of a conversation of OpenHands", hint=hint)
        yield from walk_session(source, _EventReader(head))


def _is_folder_line(head: bytes) -> bool:
    return head.startswith(f'{{"file":"{_TOP}'.encode())


def _is_file_of_event(data: bytes) -> bool:
    """Return True if a source is one object without an end of line, as OpenHands writes the file of an event."""
    if not data.startswith(b"{") or data.endswith(b"\n"):
        return False
    records = list(islice(walk_stream(BytesIO(data), len(data)), 2))
    return len(records) == 1 and _is_event(records[0].value or {})


class OpenHandsFolder:
    """The folder of a conversation."""

    format = NAME
    subfolders = frozenset({_EVENTS})
    depth = 2

    def recognizes(self, folder: str) -> bool:
        """Return True if there is a file of an event."""
        events = os.path.join(folder, _EVENTS)
        return not os.path.islink(events) and any(_EVENT_FILE.fullmatch(entry.name) for entry in list_entries(events))

    def explain_incomplete(self, folder: str) -> str | None:
        """Return that a conversation has no events; None if the folder is none, or has some."""
        if self.recognizes(folder) or not any(_is_about(folder, name, field) for name, field in _FIELD_OF.items()):
            return None
        return f"a conversation of OpenHands without events: there is no file such as {_EVENTS}/event-00000-ID.json"

    def walk_conversations(self, folder: str) -> Iterator[Conversation]:
        """Yield the conversation, then those that it started."""
        above, name = os.path.split(folder)
        parent = os.path.basename(os.path.dirname(above)) if os.path.basename(above) == _SUB_AGENTS else ""
        yield _conversation(folder, f"{parent}/{_SUB_AGENTS}/{name}" if parent else name)
        started = os.path.join(folder, _SUB_AGENTS)
        for entry in sorted(() if os.path.islink(started) else list_entries(started), key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False) and self.recognizes(entry.path):
                yield _conversation(entry.path, f"{name}/{_SUB_AGENTS}/{entry.name}")


def _is_about(folder: str, name: str, field: bytes) -> bool:
    """Return True if a file of a folder is there, no link, and has a field of the one that OpenHands writes."""
    path = os.path.join(folder, name)
    try:
        return not os.path.islink(path) and field in read_regular(path, MAX_FILE_BYTES)
    except OSError:
        return False


def _conversation(folder: str, place: str) -> Conversation:
    messages: set[str] = set()
    return Conversation(os.path.basename(folder), _walk_files(folder, place, messages), messages)


def _walk_files(folder: str, place: str, messages: set[str]) -> Iterator[bytes]:
    for name in _ABOUT:
        yield from walk_file(folder, name, f"{_TOP}{place}/{name}")
    entries = list_entries(os.path.join(folder, _EVENTS))
    events = [(int(found[1]), found[0]) for entry in entries if (found := _EVENT_FILE.fullmatch(entry.name))]
    for _, name in sorted(events):
        messages.add(name)
        yield from walk_file(folder, f"{_EVENTS}/{name}", f"{_TOP}{place}/{_EVENTS}/{name}")


def _is_event(value: Mapping[str, Any]) -> bool:
    """Return True for an event of any version."""
    return _is_old_event(value) or _is_new_event(value)


def _is_new_event(value: Mapping[str, Any]) -> bool:
    named = text_field(value, "id") is not None and text_field(value, "timestamp") is not None
    return named and text_field(value, "kind") is not None and text_field(value, "source") in _SOURCES


def _is_old_event(value: Mapping[str, Any]) -> bool:
    """Return True for an event of a version before 1.0."""
    named = type(value.get("id")) is int and text_field(value, "timestamp") is not None
    if not named or value.get("source") not in ("agent", "user", "environment"):
        return False
    has_action = text_field(value, "action") is not None and isinstance(value.get("args"), dict)
    return has_action or (text_field(value, "observation") is not None and "content" in value)


class _EventReader:
    """Turns the events of one conversation into ours; calls of one response of the model are one answer."""

    def __init__(self, head: list[dict[str, Any]]) -> None:
        events = [value for value in head if _is_event(value)]
        self.title: str | None = None
        self._builder = RunBuilder(is_stream=False)
        self._usage = _RunningUsage()
        self._seen: set[str] = set()
        name = next(filter(None, map(_conversation_of, head)), None)
        self.session = Session(
            format=NAME,
            native_id=name or digest_of_values([_identity(events[0])] if events else head[:1]),
            created=_time_of(events[0]) if events else None,
        )

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next event; yield those of ours that are complete."""
        value = record.value or {}
        if not _is_event(value):
            if _conversation_of(value) is not None:
                self._builder.add_state(record, "base_state")
            else:
                self._builder.reject(record, "not an event")
        elif (name := str(value["id"])) in self._seen:
            kind = "event" if _is_old_event(value) else value["kind"][:64]
            self._builder.add_state(record, f"repeated/{kind}")
        else:
            self._seen.add(name)
            if not _is_old_event(value):
                self._read_event(record, value, value["kind"])
            else:
                metrics = object_field(value, "llm_metrics")
                if metrics:
                    self._usage.update({"usage_to_metrics": {"agent": metrics}})
                if text_field(value, "action") is None:
                    self._read_old_observation(record, value, str(value["observation"]))
                else:
                    self._read_old_action(record, value, str(value["action"]))
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        found = self._builder.continues(ANSWER, None, None if self._builder.open is None else self._builder.open.answer)
        if found is not None and found.usage is None:
            found.usage = self._usage.take()
        yield from self._builder.finish(title=self.title)

    def _begin(
        self, record: Record, value: Mapping[str, Any], author: Author, kind: str, parts: Iterable[Part]
    ) -> OpenMessage:
        found = self._builder.begin(record, author, kind, parts, time=_time_of(value))
        found.add_ids(_name_of(value))
        found.status = "error" if kind == ERROR else None
        return found

    def _begin_answer(self, record: Record, value: Mapping[str, Any], parts: list[Part], name: str | None) -> None:
        found = self._builder.begin(record, _AGENT, ANSWER, parts, time=_time_of(value))
        found.answer = name
        found.add_ids(name, _name_of(value))
        found.model = self._usage.model
        found.usage = self._usage.take()

    def _add_call(self, record: Record, value: Mapping[str, Any], name: str | None, call: Part) -> bool:
        """Add a call to the open answer if it is of the same response of the model; return whether it is."""
        found = self._builder.continues(ANSWER, None, name) if name is not None else None
        if found is not None:
            self._builder.add(record, [call])
            found.add_ids(_name_of(value))
        return found is not None

    def _add_result(self, record: Record, value: Mapping[str, Any], part: Part, details: Mapping[str, Any]) -> None:
        if self._builder.continues(RESULTS) is not None:
            self._builder.add(record, [part])
            return
        found = self._begin(record, value, TOOL, RESULTS, [part])
        found.cwd = text_field(object_field(details, "metadata"), "working_dir")

    def _read_event(self, record: Record, value: Mapping[str, Any], kind: str) -> None:
        """Read an event of the SDK."""
        if kind == "ActionEvent":
            name, call = text_field(value, "llm_response_id"), _read_call(value)
            if not self._add_call(record, value, name, call):
                parts = [*_read_reasoning(value), *_read_content(value.get("thought")), call]
                self._begin_answer(record, value, parts, name)
        elif kind == "MessageEvent":
            self._read_message(record, value)
        elif kind in _RESULT_KINDS:
            part = _read_result(value, kind)
            if part is None:
                self._builder.reject(record, f"a result without content, {kind}")
            else:
                self._add_result(record, value, part, object_field(value, "observation"))
        elif kind in _STATES:
            if text_field(value, "key") in {"stats", "full_state"}:
                self._usage.update(object_field(value, "value"))
            self._builder.add_state(record, kind)
        elif kind == "SystemPromptEvent":
            self._begin(record, value, INJECTED, "system", _read_content([value.get("system_prompt")]))
        elif kind in {"Condensation", "CondensationSummaryEvent"}:
            parts = [*_read_content(text_field(value, "summary")), Part("raw", {"json": dict(value)})]
            self._begin(record, value, _HARNESS, "compaction", parts)
        elif kind in {"ConversationErrorEvent", "ServerErrorEvent"}:
            text = ": ".join(filter(None, [text_field(value, "code"), text_field(value, "detail")])) or "error"
            self._begin(record, value, _HARNESS, ERROR, [Part("text", {"text": text})])
        elif kind in {"PauseEvent", "InterruptEvent"}:
            self._begin(record, value, HUMAN, "interrupt", [Part("text", {"text": "paused"})])
        else:
            self._builder.reject(record, f"an event of the kind {short_word(value, 'kind')}")

    def _read_message(self, record: Record, value: Mapping[str, Any]) -> None:
        message = object_field(value, "llm_message")
        parts = [*_read_reasoning(message), *_read_content(message.get("content"))]
        if value.get("source") == "agent" or message.get("role") == "assistant":
            self._begin_answer(record, value, parts, text_field(value, "llm_response_id"))
            return
        is_human = value.get("source") == "user" and text_field(value, "sender") is None
        self._begin(record, value, *((HUMAN, PROMPT) if is_human else (INJECTED, META)), parts)

    def _read_old_action(self, record: Record, value: Mapping[str, Any], kind: str) -> None:
        """Read an action of a version before 1.0, of somebody."""
        args, source = object_field(value, "args"), value.get("source")
        if kind == "message":
            images = list_field(args, "image_urls")
            urls = [{"type": "image", "image_urls": images}] if images else []
            parts = [*_read_content(args.get("content")), *_read_content(urls)]
            if source == "agent":
                self._begin_answer(record, value, parts, None)
            else:
                self._begin(record, value, *((HUMAN, PROMPT) if source == "user" else (INJECTED, META)), parts)
        elif kind == "system":
            self._begin(record, value, INJECTED, "system", _read_content(args.get("content")))
        elif kind == "condensation" and text_field(args, "summary") is not None:
            parts = [*_read_content(args["summary"]), Part("raw", {"json": dict(args)})]
            self._begin(record, value, _HARNESS, "compaction", parts)
        elif kind in _OLD_STATE_ACTIONS:
            self._builder.add_state(record, f"action/{kind}")
        elif source == "agent":
            self._read_old_call(record, value, kind)
        else:
            self._builder.reject(record, f"an action {kind[:64]!a} of {source}")

    def _read_old_call(self, record: Record, value: Mapping[str, Any], kind: str) -> None:
        """Read a call; the response of the model, if it is there, is in the shape of chat completions."""
        called = object_field(value, "tool_call_metadata")
        response = object_field(called, "model_response")
        first = next(iter(list_field(response, "choices")), None)
        message = object_field(first, "message") if isinstance(first, dict) else {}
        name, call = text_field(response, "id"), _old_call(value, kind, called, message)
        if self._add_call(record, value, name, call):
            return
        thought = text_field(object_field(value, "args"), "thought")
        content = [thought] if thought is not None else message.get("content")
        self._begin_answer(record, value, [*_read_reasoning(message), *_read_content(content), call], name)
        if self._builder.open is not None:
            self._builder.open.model = text_field(response, "model") or self._builder.open.model

    def _read_old_observation(self, record: Record, value: Mapping[str, Any], kind: str) -> None:
        """Read an observation of a version before 1.0, which names the action as its cause."""
        cause = value.get("cause")
        known = call_id_of(object_field(value, "tool_call_metadata"), "tool_call_id")
        if not known and type(cause) is int:
            known = {"call_id": f"event-{cause}"}
        if kind in _OLD_STATE_OBSERVATIONS:
            self._builder.add_state(record, f"observation/{kind}")
        elif kind == "error" and not known:
            self._begin(record, value, _HARNESS, ERROR, _read_content(value.get("content")))
        else:
            self._add_result(record, value, _old_result(value, kind, known), object_field(value, "extras"))


class _FolderReader(_EventReader):
    """Turns the files of one conversation into events of ours."""

    def __init__(self, head: bytes) -> None:
        rows = [row for value in first_records(head) if (row := read_row(value)) is not None]
        documents = {row.table.rpartition("/")[2]: _document_of(row) or {} for row in rows}
        events = [value for row in rows if _is_event_row(row) and _is_event(value := _document_of(row) or {})]
        super().__init__(events)
        state, about = documents.get("base_state.json", {}), documents.get("metadata.json", {})
        place = rows[0].table.removeprefix(_TOP).split("/") if rows else ["unknown"]
        parent = place[0] if place[1:2] == [_SUB_AGENTS] and len(place) > 2 else None
        self.title = text_field(about, "title") or text_field(object_field(state, "tags"), "title")
        self._builder.cwd = text_field(object_field(state, "workspace"), "working_dir")
        self.session = Session(
            format=NAME,
            native_id=_with_hyphens(place[0] if parent is None else place[2]),
            created=_time_of(events[0]) if events else None,
            cwd=self._builder.cwd,
            title=self.title,
            base=None if parent is None else _with_hyphens(parent),
            spawned_by=None if parent is None else {"session": _with_hyphens(parent)},
        )

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next file."""
        row = read_row(record.value)
        document = None if row is None else _document_of(row)
        if row is None or document is None:
            self._builder.reject(record, "a file that is no JSON object")
        elif _is_event_row(row):
            yield from super().read(record._replace(value=document))
        else:
            self._builder.add_state(record._replace(value=document), row.table.rpartition("/")[2].partition(".")[0])
        yield from self._builder.take_ready()


def _is_event_row(row: Row) -> bool:
    return row.table.split("/")[-2:-1] == [_EVENTS]


def _document_of(row: Row) -> dict[str, Any] | None:
    return decode_object(row.columns.get("content"))


def _with_hyphens(name: str) -> str:
    """Return the id of the conversation in a folder, which the SDK names without the hyphens."""
    digits = _ID.fullmatch(name)
    return name if digits is None else "-".join(digits.groups())


class _RunningUsage:
    """The running totals of all models of a conversation, divided among its answers; `model` is that of the agent."""

    def __init__(self) -> None:
        self.model: str | None = None
        self._totals: dict[str, dict[str, int]] = {}
        self._new = dict.fromkeys(_COUNTS, 0)

    def update(self, state: Mapping[str, Any]) -> None:
        """Take the totals of a `stats` event, or those in the state of a conversation."""
        stats = object_field(state, "stats") or state
        for name, metrics in object_field(stats, "usage_to_metrics").items():
            usage = object_field(metrics, "accumulated_token_usage") if isinstance(metrics, dict) else {}
            before = self._totals.get(name, {})
            now = {each: count for each in _COUNTS if (count := count_field(usage, each)) is not None}
            for each, count in now.items():
                self._new[each] += max(0, count - before.get(each, 0))
            self._totals[name] = now
            if name != "condenser" and isinstance(metrics, dict):
                self.model = text_field(usage, "model") or text_field(metrics, "model_name") or self.model

    def take(self) -> dict[str, Any] | None:
        """Return what was added since the last call, normalised, with the counts as OpenHands has them."""
        added, self._new = self._new, dict.fromkeys(_COUNTS, 0)
        if not any(added.values()):
            return None
        cached = added["cache_read_tokens"] + added["cache_write_tokens"]
        return {
            "input_uncached": max(0, added["prompt_tokens"] - cached),
            "cache_read": added["cache_read_tokens"],
            "cache_write": added["cache_write_tokens"],
            "output": added["completion_tokens"],
            **({"reasoning": added["reasoning_tokens"]} if added["reasoning_tokens"] else {}),
            "raw": added,
        }


def _conversation_of(value: Mapping[str, Any]) -> str | None:
    """Return the id of the conversation in the state of one, as a file or in an event; None if there is none."""
    state = object_field(value, "value") if value.get("key") == "full_state" else value
    return text_field(state, "id") if "agent" in state and "workspace" in state else None


def _identity(event: Mapping[str, Any]) -> Any:
    """Return what tells the first event of a conversation from those of others; a number alone does not."""
    return [event["id"], event["timestamp"]] if _is_old_event(event) else event["id"]


def _name_of(value: Mapping[str, Any]) -> str:
    return str(value["id"]) if isinstance(value["id"], str) else f"event-{value['id']}"


def _time_of(value: Mapping[str, Any]) -> str | None:
    """Return the time of an event; one without a zone is taken as UTC."""
    text = text_field(value, "timestamp") or ""
    return next((time for time in (f"{text}Z", text) if parse_time(time) is not None), None)


def _read_content(content: object) -> Iterator[Part]:
    """Convert a list of contents; empty texts are left out."""
    for block in content if isinstance(content, list) else [content] if content is not None else []:
        match block:
            case str(text) | {"type": "text", "text": str(text)}:
                if text:
                    yield Part("text", {"text": text})
            case {"type": "image", "image_urls": list(urls)}:
                for url in urls:
                    yield read_file("image", url) if isinstance(url, str) else Part("raw", {"json": url})
            case _:
                yield Part("raw", {"json": block})


def _read_reasoning(value: Mapping[str, Any]) -> Iterator[Part]:
    """Convert the reasoning of an answer, which thinking blocks may repeat with a signature."""
    text = text_field(value, "reasoning_content")
    if text is not None:
        yield Part("reasoning", {"text": text})
        return
    for block in list_field(value, "thinking_blocks"):
        if isinstance(block, dict) and isinstance(block.get("thinking"), str):
            yield Part("reasoning", {"text": block["thinking"]})


def _read_call(value: Mapping[str, Any]) -> Part:
    """Convert the call of an action event."""
    call = object_field(value, "tool_call")
    name = text_field(value, "tool_name") or text_field(call, "name")
    if name is None:
        return Part("raw", {"json": dict(value)})
    known = call_id_of(value, "tool_call_id") or call_id_of(call, "id")
    given = read_arguments(call["arguments"]) if "arguments" in call else {"input": value.get("action")}
    return Part("tool_call", {**known, "name": name, **given})


def _read_result(value: Mapping[str, Any], kind: str) -> Part | None:
    """Convert the result of a call; None if it has none."""
    fields = call_id_of(value, "tool_call_id")
    if kind != "ObservationEvent":
        text = text_field(value, "error") or text_field(value, "rejection_reason")
        return None if text is None else Part("tool_result", {**fields, "output": text, "is_error": True})
    observation = object_field(value, "observation")
    if not observation:
        return None
    fields["output"] = output_of(observation.get("content", observation.get("output")))
    if isinstance(observation.get("is_error"), bool):
        fields["is_error"] = observation["is_error"]
    code = count_field(observation, "exit_code")
    if code is not None:
        fields |= {"exit_code": code, "is_error": fields.get("is_error") is True or code != 0}
    other = {name: each for name, each in observation.items() if name not in _SHOWN}
    return Part("tool_result", {**fields, "structured": other} if other else fields)


def _old_call(value: Mapping[str, Any], kind: str, called: Mapping[str, Any], message: Mapping[str, Any]) -> Part:
    """Return the call of an action: as the model made it, or else the fields of the action."""
    call_id = text_field(called, "tool_call_id") or _name_of(value)
    known = {"call_id": call_id, "name": text_field(called, "function_name") or _OLD_TOOLS.get(kind, kind)}
    for call in list_field(message, "tool_calls"):
        if isinstance(call, dict) and call.get("id") == call_id and "arguments" in object_field(call, "function"):
            return Part("tool_call", {**known, **read_arguments(call["function"]["arguments"])})
    args = {each: arg for each, arg in object_field(value, "args").items() if each not in _OLD_ENVIRONMENT}
    return Part("tool_call", {**known, "input": args})


def _old_result(value: Mapping[str, Any], kind: str, known: dict[str, Any]) -> Part:
    fields: dict[str, Any] = {**known, "output": value.get("content")}
    extras = object_field(value, "extras")
    code = object_field(extras, "metadata").get("exit_code", extras.get("exit_code"))
    failed = kind in {"error", "user_rejected"}
    if type(code) is int and code >= 0:
        fields["exit_code"] = code
        failed = failed or code != 0
    fields |= {"is_error": True} if failed else {}
    return Part("tool_result", {**fields, "structured": extras} if extras else fields)
