"""Convert the messages of a chat of Cursor's command line, which have the parts of the AI SDK of Vercel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.cursor.names import NAME
from scopes.importers.formats.fields import object_field, read_arguments, read_file, text_field
from scopes.importers.formats.run_builder import HUMAN, INJECTED, META, PROMPT
from scopes.model.message import Author, Part

_QUERY = re.compile(r"<user_query>\n?(.*?)\n?</user_query>", re.DOTALL)
_INJECTED = re.compile(r"\s*<(?!user_query)[a-z_]{3,40}>")  # context that Cursor writes in the name of the user
_EXIT_CODE = re.compile(r"Exit code: (\d{1,9})\b")
_URLS = ("data:", "http:", "https:", "file:")


def read_user(message: Mapping[str, Any]) -> tuple[Author, str, list[Part]]:
    """Return who wrote a user message, its kind and its parts: what was typed comes before the context around it."""
    parts = list(read_content(message))
    typed: list[Part] = []
    context: list[Part] = []
    for part in parts:
        text = part.fields.get("text") if part.type == "text" else None
        queries = _QUERY.findall(text) if isinstance(text, str) else []
        if not queries:
            (context if isinstance(text, str) and _INJECTED.match(text) else typed).append(part)
            continue
        typed += [Part("text", {"text": query}) for query in queries]
        if around := _QUERY.sub("", text or "").strip():
            context.append(Part("text", {"text": around}))
    is_typed = not context or any(part.type == "text" for part in typed)
    return (HUMAN, PROMPT, [*typed, *context]) if is_typed else (INJECTED, META, parts)


def read_content(message: Mapping[str, Any]) -> Iterator[Part]:
    """Convert the content of a message: a text, or a list of parts."""
    content = message.get("content")
    for block in content if isinstance(content, list) else [content] if content is not None else []:
        yield _read_block(block, message)


def _read_block(block: object, message: Mapping[str, Any]) -> Part:
    fields = {"type": "text", "text": block} if isinstance(block, str) else block if isinstance(block, dict) else {}
    call, text = text_field(fields, "toolCallId"), fields.get("text")
    known = {} if call is None else {"call_id": call}
    match fields.get("type"):
        case "text" if isinstance(text, str):
            return Part("text", {"text": text})
        case "reasoning" | "redacted-reasoning" if isinstance(fields.get("text", fields.get("data")), str):
            return _read_reasoning(fields)
        case "tool-call" | "tool_use":  # the latter in transcripts
            name = text_field(fields, "toolName") or text_field(fields, "name") or "tool"
            return Part("tool_call", {**known, "name": name, **_read_input(fields)})
        case "tool-result":
            return Part("tool_result", {**known, **_read_output(fields, message)})
        case "image" | "file" as kind if (url := text_field(fields, "image") or text_field(fields, "data")) is not None:
            return _read_media(str(kind), url, fields)
    return Part("raw", {"json": block})


def _read_reasoning(fields: Mapping[str, Any]) -> Part:
    """Convert reasoning, which may have a signature, or only be data for the provider of the model."""
    opaque = text_field(fields, "signature") or text_field(fields, "data")
    text = fields.get("text")
    return Part(
        "reasoning",
        {**({"text": text} if isinstance(text, str) else {}), **({} if opaque is None else {"opaque": opaque})},
    )


def _read_input(block: Mapping[Any, Any]) -> dict[str, Any]:
    return read_arguments(block["args"] if "args" in block else block.get("input", {}))


def _read_output(block: Mapping[Any, Any], message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the output of a tool: its text, or the contents that it was given as."""
    output = block.get("result", block.get("output"))
    shown = block.get("experimental_content")
    if output is None and isinstance(shown, list):
        texts = [text for each in shown if isinstance(each, dict) and (text := text_field(each, "text")) is not None]
        output = "\n".join(texts) if len(texts) == len(shown) else shown
    fields = {"output": "" if output is None else output}
    code = _EXIT_CODE.match(output) if isinstance(output, str) else None
    if code is not None:
        fields |= {"exit_code": int(code[1]), **({"is_error": True} if int(code[1]) else {})}
    return {**fields, **({"is_error": True} if _is_error(block) or _is_error(message) else {})}


def _is_error(value: Mapping[Any, Any]) -> bool:
    """Return True if Cursor says of a result, or of the message with it, that the call failed."""
    result = object_field(object_field(object_field(value, "providerOptions"), NAME), "highLevelToolCallResult")
    flags = (value.get("isError"), result.get("isError"), object_field(result, "output").get("isError"))
    return any(flag is True for flag in flags)


def _read_media(kind: str, url: str, block: Mapping[Any, Any]) -> Part:
    media = text_field(block, "mediaType") or text_field(block, "mimeType")
    if media is not None and not url.startswith(_URLS):
        return Part(kind, {"media_type": media, "data": url})
    return read_file(kind, url)


def model_of(message: Mapping[str, Any]) -> str | None:
    """Return the model that an answer, or a part of it, names."""
    content = message.get("content")
    named = [message, *(each for each in content if isinstance(each, dict))] if isinstance(content, list) else [message]
    names = (text_field(object_field(object_field(each, "providerOptions"), NAME), "modelName") for each in named)
    return next((name for name in names if name not in {None, "default"}), None)
