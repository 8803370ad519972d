"""Pair the messages of two versions of a history: by message id, then by content in the same order.

The content is compared in two steps, as in a patience diff: messages whose content occurs once on each side are paired
first, and between them similar messages within a band around the diagonal. So the cost grows with the number of
messages, not with its square.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from heapq import nlargest
from typing import NamedTuple, TypeAlias

from scopes.model.message import Message, Part

MIN_SIMILARITY = 0.5
_BAND = 48  # messages before and after the diagonal that are compared
_MAX_CANDIDATES = 8  # of one message
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


class _Candidate(NamedTuple):
    left: int
    right: int
    weight: float


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
    if 2 * min(len(left.words), len(right.words)) < MIN_SIMILARITY * total:
        return 0.0
    return 0.999 * 2 * len(left.words & right.words) / total if total else 0.0


def _pair_by_content(left: Sequence[Content], right: Sequence[Content]) -> Iterator[Pair]:
    gaps = [(0, len(left), 0, len(right))]
    while gaps:
        start_left, end_left, start_right, end_right = gaps.pop()
        while start_left < end_left and start_right < end_right and _is_equal(left[start_left], right[start_right]):
            yield start_left, start_right
            start_left, start_right = start_left + 1, start_right + 1
        while start_left < end_left and start_right < end_right and _is_equal(left[end_left - 1], right[end_right - 1]):
            end_left, end_right = end_left - 1, end_right - 1
            yield end_left, end_right
        if start_left == end_left or start_right == end_right:
            continue
        range_left, range_right = range(start_left, end_left), range(start_right, end_right)
        anchors = _heaviest_chain(_unique_matches(left, right, range_left, range_right))
        if not anchors:
            yield from _heaviest_chain(_similar_pairs(left, right, range_left, range_right))
            continue
        yield from anchors
        before_left, before_right = start_left, start_right
        for i, j in (*anchors, (end_left, end_right)):
            gaps.append((before_left, i, before_right, j))
            before_left, before_right = i + 1, j + 1


def _is_equal(left: Content, right: Content) -> bool:
    return left.group == right.group and left.lines == right.lines


def _unique_matches(
    left: Sequence[Content], right: Sequence[Content], range_left: range, range_right: range
) -> list[_Candidate]:
    """Return the messages whose content occurs exactly once on each side."""
    count_left = Counter((left[i].group, left[i].lines) for i in range_left)
    count_right = Counter((right[j].group, right[j].lines) for j in range_right)
    places = {(right[j].group, right[j].lines): j for j in range_right}
    keys = ((i, (left[i].group, left[i].lines)) for i in range_left)
    return [_Candidate(i, places[key], 1.0) for i, key in keys if count_left[key] == count_right[key] == 1]


def _similar_pairs(
    left: Sequence[Content], right: Sequence[Content], range_left: range, range_right: range
) -> list[_Candidate]:
    """Return the most similar pairs near the diagonal of a gap, a few of each message, by left position."""
    found: list[_Candidate] = []
    slope = len(range_right) / len(range_left)
    reach = int(_BAND * max(1.0, slope)) + 1
    for number, i in enumerate(range_left):
        middle = range_right.start + int(number * slope)
        near = range(max(range_right.start, middle - reach), min(range_right.stop, middle + reach))
        weights = ((similarity(left[i], right[j]), -abs(j - middle), j) for j in near)
        best = nlargest(_MAX_CANDIDATES, (entry for entry in weights if entry[0] >= MIN_SIMILARITY))
        found += (_Candidate(i, j, weight) for weight, _, j in best)
    return found


def _heaviest_chain(candidates: Sequence[_Candidate]) -> list[Pair]:
    """Return the pairs of the greatest total weight of which no two cross or share a position, in order.

    A Fenwick tree over the right positions holds the heaviest chain that ends at or before each of them.
    """
    rights = sorted({candidate.right for candidate in candidates})
    best: list[tuple[float, int]] = [(0.0, -1)] * (len(rights) + 1)
    previous: list[int] = []
    ordered = sorted(candidates, key=lambda candidate: (candidate.left, -candidate.right))
    for number, candidate in enumerate(ordered):
        slot = bisect_left(rights, candidate.right)
        weight, last = max(_prefix(best, slot), default=(0.0, -1), key=lambda entry: entry[0])
        previous.append(last)
        total, position = weight + candidate.weight, slot + 1
        while position < len(best):
            if best[position][0] < total:
                best[position] = (total, number)
            position += position & -position
    end = max(_prefix(best, len(rights)), default=(0.0, -1), key=lambda entry: entry[0])[1]
    chain: list[Pair] = []
    while end >= 0:
        chain.append((ordered[end].left, ordered[end].right))
        end = previous[end]
    return chain[::-1]


def _prefix(tree: Sequence[tuple[float, int]], position: int) -> Iterator[tuple[float, int]]:
    while position:
        yield tree[position]
        position -= position & -position


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
