"""Convert items of the model's history to message parts, and identify their authors. Unknown items are kept raw."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.lossless_json import decode, lossless_field
from scopes.importers.formats.openai.parts import read_arguments, read_file
from scopes.model.message import Author, Part

OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
COMPACTIONS = frozenset({"compaction", "compaction_summary", "context_compaction"})
HUMAN = Author("user", "human")
INJECTED = Author("user", "injected")

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


@dataclass(frozen=True, slots=True)
class ItemAuthor:
    """Author, kind and status of a message."""

    author: Author
    kind: str
    status: str | None = None


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
                yield Part("raw", lossless_field("json", block))


def read_result(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a tool result."""
    call_id = text_field(item, "call_id")
    result = lossless_field("output", item["tools"]) if "tools" in item and "output" not in item else read_output(item)
    return result if call_id is None else {"call_id": call_id, **result}


def read_output(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a tool result, without the call id."""
    output = item.get("output")
    match output:
        case str():
            return _read_text(output)
        case {"content": str(text), "success": bool(success)}:
            return {**_read_text(text), "is_error": not success}
    return lossless_field("output", output) if "output" in item else {}


def with_exit_code(code: int) -> dict[str, Any]:
    """Return the fields of a process exit code."""
    return {"exit_code": code, "is_error": code != 0}


def identify_author(item: Mapping[str, Any], *, spawned: bool) -> ItemAuthor | None:
    """Return the author of a message that is not the model's; None if it has no role.

    The prompt of a sub-agent (`spawned`) comes from another agent, whatever its role.
    """
    role = text_field(item, "role")
    if role is None:
        return None
    if role != "user":
        return ItemAuthor(INJECTED, "system")
    texts = [text for text in _texts(item.get("content")) if text is not None]
    if texts and texts[0].startswith(_ABORTED):
        return ItemAuthor(INJECTED, "interrupt", "interrupted")
    if not _was_typed(item):
        return ItemAuthor(INJECTED, "notice" if texts and texts[0].startswith(_NOTIFIED) else "meta")
    return ItemAuthor(INJECTED if spawned else HUMAN, "prompt")


def _call(item: Mapping[str, Any], name: str, fields: dict[str, Any]) -> Part:
    call_id = text_field(item, "call_id") or text_field(item, "id")
    return Part("tool_call", {**({} if call_id is None else {"call_id": call_id}), "name": name, **fields})


def _named_call(item: Mapping[str, Any], fields: dict[str, Any]) -> Part:
    """Convert a call that names its tool; raw if the name is not a string."""
    if not isinstance(item.get("name", ""), str):
        return Part("raw", lossless_field("json", item))
    return _call(item, text_field(item, "name") or "unknown", fields)


def _read_reasoning(item: Mapping[str, Any]) -> Iterator[Part]:
    blocks = [block for name in ("summary", "content") if isinstance(item.get(name), list) for block in item[name]]
    texts = [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
    fields = {"text": "\n\n".join(texts) if texts else None, "opaque": text_field(item, "encrypted_content")}
    yield Part("reasoning", {name: value for name, value in fields.items() if value is not None})


def _read_function(item: Mapping[str, Any]) -> Iterator[Part]:
    yield _named_call(item, read_arguments(item.get("arguments")))


def _read_custom_tool(item: Mapping[str, Any]) -> Iterator[Part]:
    value = item.get("input")
    fields = {"input_text": value} if isinstance(value, str) else lossless_field("input", value)
    yield _named_call(item, fields)


def _read_search(item: Mapping[str, Any]) -> Iterator[Part]:
    yield _call(item, "tool_search", read_arguments(item.get("arguments")))


def _read_shell(item: Mapping[str, Any]) -> Iterator[Part]:
    yield _call(item, "local_shell", lossless_field("input", item.get("action")))


def _read_web_search(item: Mapping[str, Any]) -> Iterator[Part]:
    yield _call(item, "web_search", lossless_field("input", item.get("action")))


def _read_image_generation(item: Mapping[str, Any]) -> Iterator[Part]:
    prompt = text_field(item, "revised_prompt")
    yield _call(item, "image_generation", {} if prompt is None else {"input": {"prompt": prompt}})
    data = text_field(item, "result")
    if data is not None:
        yield Part("image", {"media_type": "image/png", "data": data})


def _read_text(text: str) -> dict[str, Any]:
    wrapped = _unwrap(text) if text.startswith('{"output"') else None
    if wrapped is not None:
        return wrapped
    body = _BODY.search(text, 0, _HEADER)
    exited = _EXIT_CODE.search(text, 0, body.start()) if body else None
    if exited:
        return {"output": text, **with_exit_code(int(exited[1]))}
    return {"output": text, "is_error": True} if text.startswith(_FAILED) else {"output": text}


def _unwrap(text: str) -> dict[str, Any] | None:
    """Read an output that is a JSON object around the text; None if it is not such an object."""
    try:
        value = decode(text)
    except (ValueError, RecursionError):
        return None
    match value:
        case {"output": str(inner), "metadata": {"exit_code": int(code)}}:
            return {"output": inner, **with_exit_code(code)}
    return None


def _was_typed(item: Mapping[str, Any]) -> bool:
    """Return True if a person typed any of the content, by its declared kinds or else by its text."""
    kinds = object_field(item, "internal_chat_message_metadata_passthrough").get("content_item_kinds")
    if isinstance(kinds, list) and kinds:
        return any(isinstance(kind, str) and kind.startswith(_TYPED) for kind in kinds)
    texts = _texts(item.get("content"))
    return not texts or any(text is None or not text.startswith(_INJECTED_BEGINNINGS) for text in texts)


def _texts(content: object) -> list[str | None]:
    """Return the text of each block without leading whitespace; None for blocks without text."""
    blocks = content if isinstance(content, list) else [content]
    result = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    return [text.lstrip() if isinstance(text, str) else None for text in result]


_ANSWER_ITEMS: dict[str, Callable[[Mapping[str, Any]], Iterator[Part]]] = {
    "reasoning": _read_reasoning,
    "function_call": _read_function,
    "custom_tool_call": _read_custom_tool,
    "local_shell_call": _read_shell,
    "web_search_call": _read_web_search,
    "tool_search_call": _read_search,
    "image_generation_call": _read_image_generation,
}
