"""Pair the messages of two versions of a history: by message id, then by content in the same order.

As in a patience diff, messages whose content occurs once on each side are paired first; between them each message is
paired with the most similar one of the next few on the other side.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from scopes.model.message import Message, Part

MIN_SIMILARITY = 0.5
_AHEAD = 48  # messages of the other side that are compared with one
_MAX_WORDS = 400
_WORDS = re.compile(r"\w+")
_OMITTED = frozenset({"call_id", "opaque"})
Pair: TypeAlias = tuple[int, int]


class Content(NamedTuple):
    """What pairing compares: the message id, what must be equal in a pair, the lines, and the words of the lines."""

    id: str
    group: Hashable
    lines: tuple[str, ...]
    words: frozenset[str]


def read_content(message: Message) -> Content:
    """Return the comparable content of a message; ids of calls are not part of it, because each run has its own."""
    lines = tuple(_content_lines(message))
    tools = tuple(str(part.fields.get("name")) for part in message.parts if part.type == "tool_call")
    words = (match[0] for line in lines for match in _WORDS.finditer(line))
    limited = frozenset(word for word, _ in zip(words, range(_MAX_WORDS), strict=False))
    return Content(message.id, (message.kind, message.author.kind, tools), lines, limited)


def pair_messages(left: Sequence[Content], right: Sequence[Content]) -> list[Pair]:
    """Return the positions of the messages that belong together, sorted; each position is in one pair at most.

    Messages with one id are a pair wherever they are. Other pairs have one kind, author kind and tools, and do not
    cross each other.
    """
    positions = {content.id: position for position, content in enumerate(left)}
    by_id = [(positions[content.id], j) for j, content in enumerate(right) if content.id in positions]
    paired_left, paired_right = {i for i, _ in by_id}, {j for _, j in by_id}
    rest_left = [i for i in range(len(left)) if i not in paired_left]
    rest_right = [j for j in range(len(right)) if j not in paired_right]
    by_content = _pair_by_content([left[i] for i in rest_left], [right[j] for j in rest_right])
    return sorted([*by_id, *((rest_left[i], rest_right[j]) for i, j in by_content)])


def similarity(left: Content, right: Content) -> float:
    """Return how similar two messages are, from 0 to 1; 0 if they cannot be a pair."""
    if left.group != right.group:
        return 0.0
    if left.lines == right.lines:
        return 1.0
    total = len(left.words) + len(right.words)
    return 0.999 * 2 * len(left.words & right.words) / total if total else 0.0


def _pair_by_content(left: Sequence[Content], right: Sequence[Content]) -> Iterator[Pair]:
    anchors = _unique_matches(left, right)
    yield from anchors
    before_left = before_right = 0
    for i, j in (*anchors, (len(left), len(right))):
        next_right = before_right
        for position in range(before_left, i):
            near = range(next_right, min(j, next_right + _AHEAD))
            best = max(near, key=lambda other: (similarity(left[position], right[other]), -other), default=None)
            if best is not None and similarity(left[position], right[best]) >= MIN_SIMILARITY:
                yield position, best
                next_right = best + 1
        before_left, before_right = i + 1, j + 1


def _unique_matches(left: Sequence[Content], right: Sequence[Content]) -> list[Pair]:
    """Return the messages whose content occurs exactly once on each side, as many as do not cross each other."""
    keys = [[(content.group, content.lines) for content in side] for side in (left, right)]
    counts = [Counter(side) for side in keys]
    places = {key: j for j, key in enumerate(keys[1])}
    matches = [(i, places[key]) for i, key in enumerate(keys[0]) if counts[0][key] == counts[1][key] == 1]
    ends: list[int] = []  # the right positions at which the longest chains of each length end
    chains: list[tuple[Pair, int]] = []  # each match, with the length of its chain
    for match in matches:
        length = bisect_left(ends, match[1])
        ends[length : length + 1] = [match[1]]
        chains.append((match, length))
    found: list[Pair] = []
    wanted = len(ends) - 1
    for match, length in reversed(chains):
        if length == wanted and (not found or match[1] < found[-1][1]):
            found.append(match)
            wanted -= 1
    return found[::-1]


def _content_lines(message: Message) -> Iterator[str]:
    for part in message.parts:
        if part.type == "text":
            yield from part.text.splitlines()
        else:
            yield from _part_lines(part)
    if message.payload is not None:
        yield from json.dumps(dict(message.payload), ensure_ascii=False, sort_keys=True, indent=1).splitlines()


def _part_lines(part: Part) -> Iterator[str]:
    """Yield the fields of a part, one or more lines each: `tool_call input: {"command": "make"}`."""
    for name, value in part.fields.items():
        if name not in _OMITTED:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
            yield from (f"{part.type} {name}: {text}").splitlines()
