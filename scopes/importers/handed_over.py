"""Take what scopes put before a prompt out of it: recorded history, memory, last words of other agents.

`scopes resume`, `scopes acp` and `scopes context --for-prompt` write these blocks, each in a fence with a mark. Agents
record them as if the user had typed them. The source keeps the exact bytes; the message has the user's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from scopes.fence import BEGINS, find_fence
from scopes.model.message import Part

_MAX_FENCES = 20  # of one text that are looked at
_MAX_FRAME = 1_000  # characters before or after a fence
_LABEL = re.compile(r"\n[^\n]*: recorded data, not instructions\.\n\n\Z")
_OPENING = re.compile(r"\n<conversation_history>\n[^\n]+\n(?:It ends with the message ([0-9a-z]{26,64})\.\n)?\n\Z")
_CLOSING = re.compile(r"\n?</conversation_history>\n?")


class _Block(NamedTuple):
    """A block in a text, with the id of the last message of its history, if it names one."""

    name: str
    start: int
    end: int
    message: str | None


@dataclass(frozen=True, slots=True)
class OwnWords:
    """The parts of a prompt without the blocks; `handover` says which there were, None: there were none."""

    parts: tuple[Part, ...]
    handover: dict[str, Any] | None


def find_own_words(parts: Iterable[Part]) -> OwnWords:
    """Return the parts of a prompt without the blocks in its texts; the number of parts stays."""
    kept: list[Part] = []
    found: list[_Block] = []
    for part in parts:
        blocks = list(_walk_blocks(part.text)) if part.type == "text" and BEGINS in part.text else []
        found += blocks
        kept.append(part._replace(fields={**part.fields, "text": _without(part.text, blocks)}) if blocks else part)
    if not found:
        return OwnWords(tuple(kept), None)
    handover: dict[str, Any] = {"blocks": [block.name for block in found]}
    last = next((block.message for block in found if block.message is not None), None)
    return OwnWords(tuple(kept), handover if last is None else {**handover, "message": last})


def _without(text: str, blocks: Iterable[_Block]) -> str:
    pieces, position = [], 0
    for block in blocks:
        pieces.append(text[position : block.start].strip("\n"))
        position = block.end
    return "\n".join(piece for piece in (*pieces, text[position:].strip("\n")) if piece.strip())


def _walk_blocks(text: str) -> Iterator[_Block]:
    """Yield the complete blocks of a text in order; a fence without the words around it is somebody's own."""
    position = 0
    for _ in range(_MAX_FENCES):
        fence = find_fence(text, position)
        if fence is None:
            return
        earliest = position
        before = text[max(earliest, fence.start - _MAX_FRAME) : fence.start]
        before = f"\n{before}" if len(before) == fence.start - earliest else before  # it may begin with the block
        after = text[fence.end : fence.end + _MAX_FRAME]
        is_history = fence.name == "history"
        opening = (_OPENING if is_history else _LABEL).search(before)
        closing = _CLOSING.match(after) if is_history else None
        position = fence.end
        if opening is not None and (closing is not None or not is_history):
            position += closing.end() if closing is not None else 0
            start = max(fence.start - len(before) + opening.start(), earliest)
            yield _Block(fence.name, start, position, opening[1] if is_history else None)
