"""Items of the model's history as parts of messages. What has no part of its own is kept raw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from scopes.importers.codex.envelope import text_of
from scopes.importers.codex.outputs import read_output
from scopes.importers.exact_json import foreign
from scopes.importers.openai_parts import read_arguments, read_file
from scopes.model.message import Part

OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
COMPACTIONS = frozenset({"compaction", "compaction_summary", "context_compaction"})


def read_answer_item(item: Mapping[str, Any]) -> tuple[Part, ...] | None:
    """Read one item of a model's answer; None when it is none."""
    kind = text_of(item, "type")
    if kind == "message" and item.get("role") == "assistant":
        return tuple(read_content(item.get("content"), text_of(item, "phase")))
    read = _ANSWER_ITEMS.get(kind or "")
    return None if read is None else tuple(read(item))


def read_content(content: object, phase: str | None = None) -> Iterator[Part]:
    """Read the content of a message: a text, or blocks; `phase` is what the model wrote it as."""
    for block in content if isinstance(content, list) else [content] if content is not None else []:
        match block:
            case str(text) | {"type": "input_text" | "output_text" | "text", "text": str(text)}:
                yield Part("text", {"text": text} if phase is None else {"text": text, "phase": phase})
            case {"type": "input_image" | "image", "image_url": str(url)}:
                yield read_file("image", url)
            case _:
                yield Part("raw", foreign("json", block))


def read_result(item: Mapping[str, Any]) -> dict[str, Any]:
    """Lay out the fields of a tool's result."""
    call_id = text_of(item, "call_id")
    found = foreign("output", item["tools"]) if "tools" in item and "output" not in item else read_output(item)
    return found if call_id is None else {"call_id": call_id, **found}


def _call(item: Mapping[str, Any], name: str, given: dict[str, Any]) -> Part:
    call_id = text_of(item, "call_id") or text_of(item, "id")
    return Part("tool_call", {**({} if call_id is None else {"call_id": call_id}), "name": name, **given})


def _named_call(item: Mapping[str, Any], given: dict[str, Any]) -> Part:
    """Read a call that names its tool; one whose tool has a name that is no text is kept raw."""
    if not isinstance(item.get("name", ""), str):
        return Part("raw", foreign("json", item))
    return _call(item, text_of(item, "name") or "unknown", given)


def _read_reasoning(item: Mapping[str, Any]) -> Iterator[Part]:
    blocks = [block for name in ("summary", "content") if isinstance(item.get(name), list) for block in item[name]]
    texts = [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
    fields = {"text": "\n\n".join(texts) if texts else None, "opaque": text_of(item, "encrypted_content")}
    yield Part("reasoning", {name: value for name, value in fields.items() if value is not None})


def _read_function(item: Mapping[str, Any]) -> Iterator[Part]:
    yield _named_call(item, read_arguments(item.get("arguments")))


def _read_custom_tool(item: Mapping[str, Any]) -> Iterator[Part]:
    given = item.get("input")
    fields = {"input_text": given} if isinstance(given, str) else foreign("input", given)
    yield _named_call(item, fields)


def _read_search(item: Mapping[str, Any]) -> Iterator[Part]:
    yield _call(item, "tool_search", read_arguments(item.get("arguments")))


def _read_shell(item: Mapping[str, Any]) -> Iterator[Part]:
    yield _call(item, "local_shell", foreign("input", item.get("action")))


def _read_web_search(item: Mapping[str, Any]) -> Iterator[Part]:
    yield _call(item, "web_search", foreign("input", item.get("action")))


def _read_image_generation(item: Mapping[str, Any]) -> Iterator[Part]:
    asked = text_of(item, "revised_prompt")
    yield _call(item, "image_generation", {} if asked is None else {"input": {"prompt": asked}})
    data = text_of(item, "result")
    if data is not None:
        yield Part("image", {"media_type": "image/png", "data": data})


_ANSWER_ITEMS: dict[str, Callable[[Mapping[str, Any]], Iterator[Part]]] = {
    "reasoning": _read_reasoning,
    "function_call": _read_function,
    "custom_tool_call": _read_custom_tool,
    "local_shell_call": _read_shell,
    "web_search_call": _read_web_search,
    "tool_search_call": _read_search,
    "image_generation_call": _read_image_generation,
}
