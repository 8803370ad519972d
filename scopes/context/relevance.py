"""How relevant turns are to a task: BM25 over their texts, and a little for being recent.

A word of the task also counts where a word of the turn begins with it, so that `login` finds `logins`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from scopes.errors import Invalid

_K1, _B = 1.2, 0.75  # the usual ones
_CHARACTERS_A_WORD = 6
_TEXT_WEIGHT = 0.8
_HALF_LIFE_TURNS = 50
_WORD = re.compile(r"\w\w+")
_COMMON = frozenset(
    """a an and are as at be but by can did do does for from had has have how if in into is it its me my not of on or
    our so that the their then there these they this to us was we were what when where which who why will with you your
    """.split()  # noqa: SIM905  a list of words is read as one
)


def words_of(task: str) -> list[str]:
    """Return the words that a task is looked for by, each once, sorted; common ones where there are no others.

    Raises:
        Invalid: there is no word in it.
    """
    found = set(_WORD.findall(task.casefold()))
    if not found:
        raise Invalid(f"the task {task!a} has no words", hint="for example: --task 'login fails on Safari'")
    return sorted(found - _COMMON or found)


def score(texts: Sequence[str], task: str) -> list[tuple[float, float]]:
    """Return for each text its relevance, from 0 to 1, and what it is ranked by; texts are given oldest first."""
    words = words_of(task)
    pattern = re.compile(rf"\b(?:{'|'.join(re.escape(word) for word in sorted(words, key=len, reverse=True))})")
    counted = [Counter(pattern.findall(text.casefold())) for text in texts]
    lengths = [len(text) / _CHARACTERS_A_WORD + 1 for text in texts]
    average = sum(lengths) / max(len(lengths), 1)
    having = Counter(word for counts in counted for word in counts)
    rarity = {word: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for word, n in having.items()}
    raw = [
        sum(
            rarity[word] * n * (_K1 + 1) / (n + _K1 * (1 - _B + _B * length / average))
            for word, n in sorted(counts.items())
        )
        for counts, length in zip(counted, lengths, strict=True)
    ]
    best = max(raw, default=0) or 1
    newest = len(texts) - 1
    return [
        (
            value / best,
            _TEXT_WEIGHT * value / best + (1 - _TEXT_WEIGHT) * 0.5 ** ((newest - position) / _HALF_LIFE_TURNS),
        )
        for position, value in enumerate(raw)
    ]
