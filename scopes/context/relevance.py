"""Score turns by relevance to a task: BM25 over their texts, with a small bonus for recent turns.

A word of the task also matches as a prefix of a word in the turn: `login` matches `logins`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from scopes.errors import Invalid

_K1, _B = 1.2, 0.75  # the usual BM25 parameters
_CHARACTERS_PER_WORD = 6
_TEXT_WEIGHT = 0.8  # the remainder is the weight of recency
_HALF_LIFE_TURNS = 50
_MANY_OCCURRENCES = 30
_WORD = re.compile(r"\w\w+")
_STOP_WORDS = frozenset(
    """a an and are as at be but by can did do does for from had has have how if in into is it its me my not of on or
    our so that the their then there these they this to us was we were what when where which who why will with you your
    """.split()  # noqa: SIM905  easier to read than a list of strings
)


def words_of(task: str) -> list[str]:
    """Return the distinct words of a task, sorted, without stop words unless it has no others.

    Raises:
        Invalid: the task contains no word.
    """
    words = set(_WORD.findall(task.casefold()))
    if not words:
        raise Invalid(f"the task {task!a} has no words", hint="for example: --task 'login fails on Safari'")
    return sorted(words - _STOP_WORDS or words)


def score(texts: Sequence[str], task: str) -> list[tuple[float, float]]:
    """Return (relevance, ranking score) of each text, both from 0 to 1; texts are oldest first.

    Relevance is the BM25 score divided by the best one; the ranking score adds recency.
    """
    words = sorted(words_of(task), key=len, reverse=True)
    frequencies = [_count_words(text.casefold(), words) for text in texts]
    lengths = [len(text) / _CHARACTERS_PER_WORD + 1 for text in texts]
    average = sum(lengths) / max(len(lengths), 1)
    document_counts = Counter(word for counts in frequencies for word in counts)
    weights = {word: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for word, n in document_counts.items()}
    scores = [
        sum(
            weights[word] * n * (_K1 + 1) / (n + _K1 * (1 - _B + _B * length / average))
            for word, n in sorted(counts.items())
        )
        for counts, length in zip(frequencies, lengths, strict=True)
    ]
    best = max(scores, default=0) or 1
    newest = len(texts) - 1
    return [
        (
            value / best,
            _TEXT_WEIGHT * value / best + (1 - _TEXT_WEIGHT) * 0.5 ** ((newest - position) / _HALF_LIFE_TURNS),
        )
        for position, value in enumerate(scores)
    ]


def _count_words(text: str, words: Sequence[str]) -> Counter[str]:
    """Count the words of a text that begin with one of `words`, which are longest first; the longest one counts.

    Most texts contain few of them, and searching for a word is much faster than for a pattern.
    """
    if sum(map(text.count, words)) > _MANY_OCCURRENCES:
        return Counter(_beginnings(tuple(words)).findall(text))
    counts: Counter[str] = Counter()
    starts: set[int] = set()
    for word in words:
        start = text.find(word)
        while start >= 0:
            before = text[start - 1] if start else " "
            if not (before.isalnum() or before == "_") and start not in starts:
                starts.add(start)
                counts[word] += 1
            start = text.find(word, start + 1)
    return counts


@lru_cache(maxsize=1)
def _beginnings(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})")
