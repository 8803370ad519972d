"""Write the parts of a message: texts, and tool calls, results, reasoning and documents as folds. Nothing is cut."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from scopes.exporters.html.markdown import render_markdown, render_plain
from scopes.exporters.html.template import EMPTY, Html, Template, join
from scopes.model.message import FileTouch, Message, Part
from scopes.model.tools import is_refused, main_argument, tool_name

_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_MARKDOWN: Final = frozenset({"agent", "system"})  # kinds of author; people paste texts that only look like Markdown
_GIST_LENGTH: Final = 160
_SHORT: Final = 60  # characters of an argument that is written behind its name
_CHANGES: Final = {"old_string": "del", "oldString": "del", "new_string": "ins", "newString": "ins"}
_MAX_CALLS: Final = 10_000  # whose names are remembered for their results


class PartWriter:
    """Writes the parts of messages in their order; a result is named after its call."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self._calls: dict[str, str] = {}

    def write_content(self, message: Message) -> Html:
        """Return the content of a message; a message without any says so."""
        pieces = [self._write(part, message.author.kind) for part in message.parts]
        if message.payload is not None:
            pieces.append(self._fold("document", f"Document: {message.kind}", "", self._value(dict(message.payload))))
        if message.files:
            pieces.append(self._files(message.files))
        return join([piece for piece in pieces if piece], "\n") or self._template.fill("empty")

    def _write(self, part: Part, author_kind: str) -> Html:
        match part.type:
            case "text":
                written = self._text(part.text, author_kind)
            case "reasoning":
                text = part.text
                written = self._fold("reasoning", "Reasoning", text, render_markdown(text)) if text else EMPTY
            case "tool_call":
                written = self._call(part)
            case "tool_result":
                written = self._result(part)
            case "image" | "file":
                written = self._picture(part)
            case "file_ref":
                written = self._file_reference(part)
            case _:
                written = self._fold("raw", part.type, "", self._value(dict(part.fields)))
        return written

    def _text(self, text: str, author_kind: str) -> Html:
        """Return a text; what a program gave to the model is long, and folded."""
        if not text.strip():
            return EMPTY
        written = render_markdown(text) if author_kind in _MARKDOWN else render_plain(text.strip("\n"))
        return self._fold("injected", "Context", text, written) if author_kind == "injected" else written

    def _call(self, part: Part) -> Html:
        name, call_id = tool_name(part), part.fields.get("call_id")
        if isinstance(call_id, str) and len(self._calls) < _MAX_CALLS:
            self._calls[call_id] = name
        value = _field_or_text(part.fields, "input")
        body = self._arguments(value) if isinstance(value, Mapping) else self._value(value)
        return self._fold("call", name, main_argument(part)[0], body)

    def _arguments(self, arguments: Mapping[str, Any]) -> Html:
        """Return each argument below its name; the texts of an edit are marked as removed and added."""
        pieces = []
        for name, value in arguments.items():
            text = _as_text(value)
            if name not in _CHANGES and len(text) <= _SHORT and "\n" not in text:
                pieces.append(self._template.fill("short_field", name=name, value=text))
            else:
                pieces += [self._template.fill("field", name=name), self._code(text, _CHANGES.get(name, ""))]
        return join(pieces)

    def _result(self, part: Part) -> Html:
        call_id = part.fields.get("call_id")
        name = self._calls.pop(call_id, None) if isinstance(call_id, str) else None
        value = _field_or_text(part.fields, "output")
        pictures = EMPTY
        if isinstance(value, list):
            pictures = join([self._block_picture(block) for block in value])
            texts = [block["text"] for block in value if _is_text(block)]
            value = "\n".join(texts) if len(texts) == len(value) or pictures else value
        text = _as_text(value)
        label = f"Result of {name}" if name is not None else "Result"
        return self._fold("result", label, text, join([self._code(text), pictures]), self._outcome(part))

    def _outcome(self, part: Part) -> Html:
        """Return whether a call failed; nothing if it did not."""
        code = part.fields.get("exit_code")
        if is_refused(part):
            return self._template.fill("outcome", kind="bad", text="refused")
        if part.fields.get("is_error") is True or code not in (None, 0):
            text = "error" if code in (None, 0) else f"exit code {_as_text(code)}"
            return self._template.fill("outcome", kind="bad", text=text)
        return EMPTY

    def _picture(self, part: Part) -> Html:
        path, data, media = (part.fields.get(name) for name in ("path", "data", "media_type"))
        shown = self._embedded(media, data, _as_text(path) or part.type) if part.type == "image" else EMPTY
        facts = " ".join(_as_text(fact) for fact in (part.type, media, path) if fact)
        return shown or self._template.fill("attachment", text=f"[{facts}]")

    def _block_picture(self, block: object) -> Html:
        match block:
            case {"type": "image", "source": {"media_type": media, "data": data}}:
                return self._embedded(media, data, "image")
        return EMPTY

    def _embedded(self, media: object, data: object, alt: str) -> Html:
        """Return an image whose data are in the message; no other one is shown, because nothing is loaded."""
        if media not in _PICTURES or not isinstance(data, str) or _BASE64.fullmatch(data) is None:
            return EMPTY
        return self._template.fill("picture", media=str(media), data=data, alt=alt)

    def _file_reference(self, part: Part) -> Html:
        line = self._files((FileTouch(_as_text(part.fields.get("path")), _as_text(part.fields.get("op"))),))
        patch = _as_text(part.fields.get("patch"))
        return join([line, self._fold("patch", "Patch", "", self._code(patch))]) if patch else line

    def _files(self, files: tuple[FileTouch, ...]) -> Html:
        paths = [(each.op, each.path if each.source is None else f"{each.source} → {each.path}") for each in files]
        return self._template.fill(
            "files", rows=join([self._template.fill("file", operation=op, path=path) for op, path in paths], " ")
        )

    def _value(self, value: Any) -> Html:
        return self._code(_as_text(value))

    def _code(self, text: str, kind: str = "") -> Html:
        return self._template.fill("code", kind=kind, text=text)

    def _fold(self, kind: str, label: str, gist: str, body: Html, outcome: Html = EMPTY) -> Html:
        first_line = gist.strip().partition("\n")[0]
        shown = f"{first_line[:_GIST_LENGTH]}…" if len(first_line) > _GIST_LENGTH else first_line
        return self._template.fill("fold", kind=kind, label=label, gist=shown, outcome=outcome, body=body)


def _is_text(block: object) -> bool:
    return isinstance(block, dict) and isinstance(block.get("text"), str)


def _field_or_text(fields: Mapping[str, Any], name: str) -> Any:
    """Return a field, or its `_text` form, which holds values that are not valid JSON."""
    return fields.get(name, fields.get(f"{name}_text"))


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
