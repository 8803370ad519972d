"""Which sentences say most of a text: TextRank (Mihalcea and Tarau 2004), without a model, the same on every machine.

Sentences are the nodes of a graph; the weight between two is the number of words that they share over the sum of the
logarithms of their lengths; rank flows along the weights as in PageRank, with damping 0.85. The work grows with the
square of the number of sentences, so of a long text only the 400 whose words are most frequent take part; the
others come behind them.

It is our own because the libraries that are kept (sumy, pytextrank) need the data of NLTK or a model of spaCy, which
have to be downloaded, and some 70 MB of packages, for the same graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from scopes.memory.keywords import walk_words

MOST_SENTENCES = 400
_DAMPING = 0.85
_ROUNDS = 50
_CLOSE = 1e-6
_REPEATED_SHARE = 0.75
_FEWEST_WORDS = 3
_LONGEST_CHARACTERS = 600
_Words = frozenset[str]
_Edges = list[list[tuple[int, float]]]


def choose_sentences(sentences: Sequence[str], count: int) -> list[str]:
    """Return the sentences that rank highest, in the order of the text, none with the same words as another."""
    return [sentences[index] for index in sorted(rank_sentences(sentences)[: max(count, 0)])]


def rank_sentences(sentences: Sequence[str]) -> list[int]:
    """Return the places of sentences, the best first; then those that repeat a better one, then those not ranked.

    Sentences of an odd length are none of them, unless there are no others.
    """
    words = [frozenset(walk_words(sentence)) for sentence in sentences]
    frequent = _preselect(sentences, words)
    chosen = sorted(frequent[:MOST_SENTENCES])
    ranks = _rank([words[index] for index in chosen])
    best = [chosen[place] for place in sorted(range(len(chosen)), key=lambda place: (-round(ranks[place], 9), place))]
    telling: list[int] = []
    repeating: list[int] = []
    for index in best:
        known = any(_repeats(words[index], words[better]) for better in telling)
        (repeating if known else telling).append(index)
    return telling + repeating + frequent[MOST_SENTENCES:]


def _repeats(words: _Words, better: _Words) -> bool:
    """Tell whether most words of a sentence are those of a better one."""
    return len(words & better) > _REPEATED_SHARE * len(words)


def _preselect(sentences: Sequence[str], words: Sequence[_Words]) -> list[int]:
    """Order the sentences of a usual length, each set of words once: those with the most frequent words first."""
    usual = [i for i, held in enumerate(words) if _is_usual(sentences[i], held)] or list(range(len(sentences)))
    first: dict[_Words, int] = {}
    for index in usual:
        first.setdefault(words[index], index)
    distinct = list(first.values())
    if len(distinct) <= MOST_SENTENCES:
        return distinct
    frequency: dict[str, int] = {}
    for index in usual:
        for word in words[index]:
            frequency[word] = frequency.get(word, 0) + 1
    telling = {i: sum(frequency[word] for word in words[i]) / (len(words[i]) or 1) for i in distinct}
    return sorted(distinct, key=lambda index: (-telling[index], index))


def _is_usual(sentence: str, words: _Words) -> bool:
    return len(words) >= _FEWEST_WORDS and len(sentence) <= _LONGEST_CHARACTERS


def _rank(words: Sequence[_Words]) -> list[float]:
    edges = _connect(words)
    totals = [sum(weight for _, weight in near) for near in edges]
    ranks = [1.0] * len(words)
    for _ in range(_ROUNDS):
        renewed = [
            1 - _DAMPING + _DAMPING * sum(ranks[other] * weight / totals[other] for other, weight in near)
            for near in edges
        ]
        change = max((abs(new - old) for new, old in zip(renewed, ranks, strict=True)), default=0.0)
        ranks = renewed
        if change < _CLOSE:
            break
    return ranks


def _connect(words: Sequence[_Words]) -> _Edges:
    edges: _Edges = [[] for _ in words]
    logs = [log(len(held) + 1) for held in words]  # one more, so that a sentence of one word has a length as well
    for left, held in enumerate(words):
        for right in range(left):
            shared = len(held & words[right])
            if shared:
                weight = shared / (logs[left] + logs[right])
                edges[left].append((right, weight))
                edges[right].append((left, weight))
    return edges
