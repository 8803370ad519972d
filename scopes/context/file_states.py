"""What files contained at an earlier message, as far as the tools of the conversation recorded it (S1-8).

A tool that wrote a file, or read the whole of it, holds its content; an edit changes a content that is known. Where a
hash was recorded, only what has that hash counts. What no tool recorded is not known: the file of today is another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import new as new_hash
from typing import Any

from scopes.context.part_text import part_text
from scopes.model.message import FileTouch, Message

_PATHS = ("file_path", "path", "filePath", "notebook_path")
_NUMBERED = re.compile(r"^ *[0-9]+(?:→|\t)", re.MULTILINE)
_LARGEST_CHARACTERS = 4 << 20
_ALGORITHMS = frozenset({"sha1", "sha256", "sha512", "md5"})

_Call = Mapping[str, Any]


def file_states(messages: Iterable[Message]) -> dict[str, str]:
    """Return the content of every file that is known after the messages, which are given oldest first."""
    known: dict[str, str] = {}
    calls: dict[str, _Call] = {}
    for message in messages:
        outputs = []
        for part in message.parts:
            identity = str(part.fields.get("call_id"))
            if part.type == "tool_call" and isinstance(part.fields.get("input"), Mapping):
                calls[identity] = part.fields["input"]
            elif part.type == "tool_result" and part.fields.get("is_error") is not True:
                outputs.append((calls.pop(identity, {}), part_text(part)))
        for touch in message.files:
            _follow(known, touch, [each for each in outputs if _path_of(each[0]) in (None, touch.path)])
    return known


def has_hash(data: bytes, content_hash: str | None) -> bool:
    """Tell whether data has a recorded hash, `<algorithm>:<hex>`."""
    algorithm, _, digest = (content_hash or "").partition(":")
    return algorithm in _ALGORITHMS and new_hash(algorithm, data, usedforsecurity=False).hexdigest() == digest.lower()


def _follow(known: dict[str, str], touch: FileTouch, outputs: list[tuple[_Call, str]]) -> None:
    """Note what a file contains after it was touched, or that it is not known any more."""
    before = known.get(touch.path)
    if touch.op == "rename" and touch.source is not None:
        before = known.pop(touch.source, None)
    candidates = [text for text in _candidates(before, touch, outputs) if len(text) <= _LARGEST_CHARACTERS]
    if touch.content_hash is not None:
        candidates = [text for text in candidates if has_hash(text.encode("utf-8", "replace"), touch.content_hash)]
    known.pop(touch.path, None)
    if candidates and touch.op != "delete":
        known[touch.path] = candidates[0]


def _candidates(before: str | None, touch: FileTouch, outputs: list[tuple[_Call, str]]) -> Iterator[str]:
    """Yield what the file may contain now; without a hash to tell, nothing but what is sure."""
    sure = touch.content_hash is None
    for call, output in outputs:
        if isinstance(call.get("content"), str):
            yield call["content"]
        edited = None if before is None else _edited(before, call)
        if edited is not None:
            yield edited
        if not sure:
            plain = _NUMBERED.sub("", output)
            yield from (output, plain, f"{plain}\n")
    if before is not None and (not sure or touch.op not in {"edit", "create"}):
        yield before


def _edited(text: str, call: _Call) -> str | None:
    """Do what an edit was asked to do; None where it asks for something else, or does not fit."""
    edits = call.get("edits", [call])
    if not isinstance(edits, list) or not edits:
        return None
    for edit in edits:
        old, new = (edit.get(name) if isinstance(edit, Mapping) else None for name in ("old_string", "new_string"))
        if not isinstance(old, str) or not isinstance(new, str) or not old:
            return None
        found = text.count(old)
        if found != 1 and not (found and edit.get("replace_all") is True):
            return None
        text = text.replace(old, new)
    return text


def _path_of(call: _Call) -> str | None:
    return next((call[name] for name in _PATHS if isinstance(call.get(name), str)), None)
