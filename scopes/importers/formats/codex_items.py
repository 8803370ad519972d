"""Convert items of the model's history in a rollout: parts, authors, tool results and reports about them, and tokens.

Unknown items are kept raw.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from scopes.importers.formats.events import ByteRange
from scopes.importers.formats.fields import object_field, read_arguments, read_file, text_field
from scopes.importers.formats.records import decode
from scopes.importers.formats.run_builder import HUMAN, INJECTED, META, PROMPT
from scopes.model.message import Author, FileTouch, Part

OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
COMPACTIONS = frozenset({"compaction", "compaction_summary", "context_compaction"})

_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,10})$", re.MULTILINE)
_BODY = re.compile(r"^Output:$", re.MULTILINE)
_FAILED = ("exec_command failed", "apply_patch verification failed", "err: ")
_HEADER = 16_384  # characters in which the header ends; it may quote a long command
_ABORTED = "<turn_aborted>"
_NOTIFIED = "<subagent_notification>"
_INJECTED_BEGINNINGS = (
    _ABORTED, _NOTIFIED, "<environment_context>", "<permissions instructions>", "<skills_instructions>",
    "<collaboration_mode>", "<apps_instructions>", "<plugins_instructions>", "<user_instructions>",
    "# AGENTS.md instructions", "<user_shell_command>", "<skill>", "<model_switch>", "<personality_spec>",
    "<realtime_conversation>", "<subagents>", "<plugins>", "<hook_prompt>", "<goal_context>", "<app-context>",
    "<recommended_plugins>", "<user_action>", "<INSTRUCTIONS>",
)  # fmt: skip
_TYPED = "user."  # prefix of content kinds that a person typed
_COUNTS = {
    "input": "input_tokens",
    "cache_read": "cached_input_tokens",
    "cache_write": "cache_write_input_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_output_tokens",
}
_TOTAL, _LAST = "total_token_usage", "last_token_usage"
_Counts = dict[str, int]
_Place = tuple[int, int]  # where a running total stands: input and output


class ItemAuthor(NamedTuple):
    """Author, kind and status of a message."""

    author: Author
    kind: str
    status: str | None = None


class ToolReport(NamedTuple):
    """An event about a tool call: fields of its result, and the files that the call read."""

    call_id: str
    key: str
    span: ByteRange
    fields: Mapping[str, Any]
    files: tuple[FileTouch, ...]


def read_answer_item(item: Mapping[str, Any]) -> tuple[Part, ...] | None:
    """Convert one item of a model's answer; None if it is another item."""
    kind = text_field(item, "type")
    if kind == "message" and item.get("role") == "assistant":
        return tuple(read_content(item.get("content"), text_field(item, "phase")))
    read = _ANSWER_ITEMS.get(kind or "")
    return None if read is None else tuple(read(item))


def read_content(content: object, phase: str | None = None) -> Iterator[Part]:
    """Convert the content of a message, a text or blocks; `phase` is the phase that the model gave it."""
    for block in content if isinstance(content, list) else [content] if content is not None else []:
        match block:
            case str(text) | {"type": "input_text" | "output_text" | "text", "text": str(text)}:
                yield Part("text", {"text": text} if phase is None else {"text": text, "phase": phase})
            case {"type": "input_image" | "image", "image_url": str(url)}:
                yield read_file("image", url)
            case _:
                yield Part("raw", {"json": block})


def _call(item: Mapping[str, Any], name: object, fields: dict[str, Any]) -> Part:
    """Return a call; raw if the name of its tool is no string."""
    if not isinstance(name, str):
        return Part("raw", {"json": item})
    call_id = text_field(item, "call_id") or text_field(item, "id")
    return Part("tool_call", {**({} if call_id is None else {"call_id": call_id}), "name": name or "unknown", **fields})


def _read_reasoning(item: Mapping[str, Any]) -> Iterator[Part]:
    blocks = [block for name in ("summary", "content") if isinstance(item.get(name), list) for block in item[name]]
    texts = [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
    fields = {"text": "\n\n".join(texts) if texts else None, "opaque": text_field(item, "encrypted_content")}
    yield Part("reasoning", {name: value for name, value in fields.items() if value is not None})


def _read_function(item: Mapping[str, Any]) -> Iterator[Part]:
    yield _call(item, item.get("name", ""), read_arguments(item.get("arguments")))


def _read_custom_tool(item: Mapping[str, Any]) -> Iterator[Part]:
    value = item.get("input")
    fields = {"input_text": value} if isinstance(value, str) else {"input": value}
    yield _call(item, item.get("name", ""), fields)


def _read_search(item: Mapping[str, Any]) -> Iterator[Part]:
    yield _call(item, "tool_search", read_arguments(item.get("arguments")))


def _read_shell(item: Mapping[str, Any]) -> Iterator[Part]:
    yield _call(item, "local_shell", {"input": item.get("action")})


def _read_web_search(item: Mapping[str, Any]) -> Iterator[Part]:
    yield _call(item, "web_search", {"input": item.get("action")})


def _read_image(item: Mapping[str, Any]) -> Iterator[Part]:
    prompt, data = text_field(item, "revised_prompt"), text_field(item, "result")
    yield _call(item, "image_generation", {} if prompt is None else {"input": {"prompt": prompt}})
    if data is not None:
        yield Part("image", {"media_type": "image/png", "data": data})


_ANSWER_ITEMS: dict[str, Callable[[Mapping[str, Any]], Iterator[Part]]] = {
    "reasoning": _read_reasoning,
    "function_call": _read_function,
    "custom_tool_call": _read_custom_tool,
    "local_shell_call": _read_shell,
    "web_search_call": _read_web_search,
    "tool_search_call": _read_search,
    "image_generation_call": _read_image,
}


def identify_author(item: Mapping[str, Any], *, spawned: bool) -> ItemAuthor | None:
    """Return the author of a message that is not the model's; None if it has no role.

    The prompt of a sub-agent (`spawned`) comes from another agent, whatever its role.
    """
    role, content = text_field(item, "role"), item.get("content")
    if role is None:
        return None
    if role != "user":
        return ItemAuthor(INJECTED, "system")
    blocks = content if isinstance(content, list) else [content]
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    texts = [text.lstrip() if isinstance(text, str) else None for text in texts]
    first = next((text for text in texts if text is not None), "")
    if first.startswith(_ABORTED):
        return ItemAuthor(INJECTED, "interrupt", "interrupted")
    kinds = object_field(item, "internal_chat_message_metadata_passthrough").get("content_item_kinds")
    if isinstance(kinds, list) and kinds:
        typed = any(isinstance(kind, str) and kind.startswith(_TYPED) for kind in kinds)
    else:
        typed = not texts or any(text is None or not text.startswith(_INJECTED_BEGINNINGS) for text in texts)
    if not typed:
        return ItemAuthor(INJECTED, "notice" if first.startswith(_NOTIFIED) else META)
    return ItemAuthor(INJECTED if spawned else HUMAN, PROMPT)


def read_result(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a tool result. The output may be a JSON object around the text, with the exit code."""
    call_id, output = text_field(item, "call_id"), item.get("output")
    known: dict[str, Any] = {} if call_id is None else {"call_id": call_id}
    if "output" not in item:
        return {**known, **({"output": item["tools"]} if "tools" in item else {})}
    match output:
        case str():
            return {**known, **_read_output(output)}
        case {"content": str(text), "success": bool(success)}:
            return {**known, **_read_output(text), "is_error": not success}
    return {**known, "output": output}


def with_exit_code(code: int) -> dict[str, Any]:
    """Return the fields of a process exit code."""
    return {"exit_code": code, "is_error": code != 0}


def _read_output(text: str) -> dict[str, Any]:
    if text.startswith('{"output"'):
        try:
            value = decode(text)
        except (ValueError, RecursionError):
            value = None
        match value:
            case {"output": str(inner), "metadata": {"exit_code": int(code)}}:
                return {"output": inner, **with_exit_code(code)}
    body = _BODY.search(text, 0, _HEADER)
    exited = _EXIT_CODE.search(text, 0, body.start()) if body else None
    if exited:
        return {"output": text, **with_exit_code(int(exited[1]))}
    return {"output": text, "is_error": True} if text.startswith(_FAILED) else {"output": text}


def read_report(payload: Mapping[str, Any], key: str, span: ByteRange) -> ToolReport | None:
    """Read an event about a tool call; None if it is another event. `key` is that of a state."""
    is_item = payload.get("type") == "item_completed"
    item = object_field(payload, "item") if is_item else payload
    call_id = text_field(item, "id" if is_item else "call_id")
    fields: dict[str, Any] = {}
    files: tuple[FileTouch, ...] = ()
    if call_id is None:
        return None
    match text_field(item, "type"):
        case "exec_command_end" | "CommandExecution":
            code = item.get("exit_code")
            fields = with_exit_code(code) if type(code) is int else {}
            files = tuple(_files_read(item)) if code == 0 else ()
        case "patch_apply_end" | "FileChange":
            changes = item.get("changes")
            fields["is_error"] = not (item.get("success") is True or item.get("status") == "completed")
            fields |= {"structured": {"changes": changes}} if isinstance(changes, dict) else {}
        case "mcp_tool_call_end":
            match item.get("result"):
                case {"Ok": {"isError": bool(failed)}} | {"Ok": {"is_error": bool(failed)}}:
                    fields["is_error"] = failed
                case {"Err": _}:
                    fields["is_error"] = True
        case "collab_agent_spawn_end":
            details = {name: value for name, value in item.items() if name not in {"type", "call_id", "prompt"}}
            fields = {"structured": details}
        case _:
            return None
    return ToolReport(call_id, key, span, fields, files)


def _files_read(item: Mapping[str, Any]) -> Iterator[FileTouch]:
    """Yield the files that a command has read, as Codex parsed it."""
    parsed, cwd = item.get("parsed_cmd"), (text_field(item, "cwd") or "").removeprefix("file://")
    for step in parsed if isinstance(parsed, list) else ():
        path = text_field(step, "path") if isinstance(step, dict) and step.get("type") == "read" else None
        if path is not None:
            yield FileTouch(posixpath.join(cwd, path), "read")


class UsageCounter:
    """Counts the tokens of a thread once. Codex writes running totals, and since 2026 also a record for each answer.

    A total belongs to a new answer if it goes on from where a counter stands: the total less the last answer. A total
    that was there before is a repetition. One that is its own last answer begins a new counter, as a resumed session
    does; several counters may go on side by side. A lower total that goes on from none counts only if another goes on
    from it: else it is stale. Records are compared by input and output, because the forms have different fields.
    """

    def __init__(self) -> None:
        self._seen: set[_Place] = set()
        self._counters: dict[_Place, _Counts] = {}
        self._doubtful: dict[_Place, _Counts] = {}  # lower totals, with what they would have added

    def read_total(self, info: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the usage that a readable total adds; None if it adds nothing."""
        total, last = _read_counts(info.get(_TOTAL)) or {}, _read_counts(info.get(_LAST))
        place = _place_of(total)
        if place in self._seen:
            return None
        self._seen.add(place)
        start = None if last is None else (place[0] - _place_of(last)[0], place[1] - _place_of(last)[1])
        lower = max((each for each in self._counters if each[0] <= place[0] and each[1] <= place[1]), default=None)
        if last is not None and start in self._counters:
            del self._counters[start]
            used = last
        elif last is not None and start in self._doubtful:
            before = self._doubtful.pop(start)
            used = {name: count + before.get(name, 0) for name, count in last.items()}
        elif start == (0, 0) or not self._counters:
            used = last or total
        elif lower is not None:
            before = self._counters.pop(lower)
            used = {name: max(0, count - before.get(name, 0)) for name, count in total.items()}
        elif last is not None:
            self._doubtful[place] = last
            return None
        else:
            used = total
        self._counters[place] = total
        return _build_usage(used, {name: info[name] for name in (_LAST, _TOTAL) if name in info})

    def read_record(self, payload: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the usage in an answer's own record; None if it cannot be read or was counted."""
        used = _read_counts(payload.get("usage"))
        if used is None:
            return None
        before = next(reversed(self._counters), (0, 0))
        total = _read_counts(payload.get("thread_token_usage"))
        if total is None:
            known = self._counters.get(before, {})
            total = {name: count + known.get(name, 0) for name, count in used.items()}
        place = _place_of(total)
        if place in self._seen:
            return None
        self._seen.add(place)
        self._counters.pop(before, None)
        self._counters[place] = total
        return _build_usage(used, payload["usage"])


def is_total(info: object) -> bool:
    """Return True if a usage event has a readable total."""
    return isinstance(info, dict) and _read_counts(info.get(_TOTAL)) is not None


def read_thread_usage(usage: object) -> dict[str, int] | None:
    """Return the token counts of a thread so far, as the stream of a turn ends with them; None if it has none."""
    counts = _read_counts(usage)
    return None if counts is None else {name: n for name, n in _build_usage(counts, None).items() if name != "raw"}


def sum_usage(first: Mapping[str, Any] | None, second: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the sum of two usages of one message, with the source's objects of both in a list."""
    if first is None:
        return second
    raws = [usage.get("raw", usage.get("raw_text")) for usage in (first, second)]
    listed = [each for raw in raws for each in (raw if isinstance(raw, list) else [raw])]
    names = dict.fromkeys(name for name in (*first, *second) if not name.startswith("raw"))
    return {**{name: first.get(name, 0) + second.get(name, 0) for name in names}, "raw": listed}


def _read_counts(usage: object) -> _Counts | None:
    """Return the known counts under our names; None if there are none."""
    if not isinstance(usage, dict):
        return None
    found = {ours: usage.get(theirs) for ours, theirs in _COUNTS.items()}
    return {name: count for name, count in found.items() if type(count) is int and count >= 0} or None


def _place_of(counts: _Counts) -> _Place:
    return counts.get("input", 0), counts.get("output", 0)


def _build_usage(used: _Counts, raw: object) -> dict[str, Any]:
    """Return a usage with its raw object; Codex's input count includes cache reads and writes."""
    counts = {name: count for name, count in used.items() if name != "input"}
    if "input" in used:
        cached = used.get("cache_read", 0) + used.get("cache_write", 0)
        counts = {"input_uncached": max(0, used["input"] - cached), **counts}
    return {**counts, "raw": raw}
