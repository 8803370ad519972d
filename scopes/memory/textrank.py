"""Rank sentences by importance with TextRank (Mihalcea and Tarau 2004): deterministic, without a model.

Sentences are nodes of a graph. The weight of an edge is the number of shared words divided by the sum of the logarithms
of both lengths; ranks are computed as in PageRank, with damping 0.85. The time is quadratic in the number of sentences,
so only the 400 with the most frequent words are ranked; the others follow them.

Not a library, because the maintained ones (sumy, pytextrank) need data of NLTK or a model of spaCy that has to be
downloaded, and 70 MB of packages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log

from scopes.memory.keywords import walk_words

MAX_SENTENCES = 400
_DAMPING = 0.85
_MAX_ITERATIONS = 50
_TOLERANCE = 1e-6
_DUPLICATE_SHARE = 0.75
_MIN_WORDS = 3
MAX_CHARACTERS = 600
_Words = frozenset[str]
_Edges = list[list[tuple[int, float]]]


def choose_sentences(sentences: Sequence[str], count: int) -> list[str]:
    """Return the highest-ranked sentences, in the order of the text."""
    return [sentences[index] for index in sorted(rank_sentences(sentences)[: max(count, 0)])]


def rank_sentences(sentences: Sequence[str]) -> list[int]:
    """Return the indices of sentences, best first; then near-duplicates of better ones, then those not ranked.

    Sentences that are too short or too long are left out, unless there are no others, as are those with the same words
    as another.
    """
    candidates = _candidates(sentences)
    chosen = sorted(candidates[:MAX_SENTENCES])
    words = {index: _words_of(sentences[index]) for index in chosen}
    ranks = _rank([words[index] for index in chosen])
    by_rank = sorted(range(len(chosen)), key=lambda number: (-round(ranks[number], 9), number))
    distinct: list[int] = []
    duplicates: list[int] = []
    for index in (chosen[number] for number in by_rank):
        duplicate = any(_is_duplicate(words[index], words[better]) for better in distinct)
        (duplicates if duplicate else distinct).append(index)
    return distinct + duplicates + candidates[MAX_SENTENCES:]


def _is_duplicate(words: _Words, better: _Words) -> bool:
    """Return True if a better sentence contains most words of a sentence."""
    return len(words & better) > _DUPLICATE_SHARE * len(words)


def _words_of(sentence: str) -> _Words:
    return frozenset(walk_words(sentence))


def _candidates(sentences: Sequence[str]) -> list[int]:
    """Return the indices of sentences to rank; if there are too many, those with the most frequent words first.

    The words of a sentence are not kept: those of 100,000 messages take several hundred megabytes.
    """
    usable, frequency = _distinct(sentences, _can_be_ranked)
    if not usable:
        usable, frequency = _distinct(sentences, lambda _sentence, _words: True)
    if len(usable) <= MAX_SENTENCES:
        return usable
    mean_frequency = {}
    for index in usable:
        words = _words_of(sentences[index])
        mean_frequency[index] = sum(frequency[word] for word in words) / (len(words) or 1)
    return sorted(usable, key=lambda index: (-mean_frequency[index], index))


def _distinct(sentences: Sequence[str], is_usable: Callable[[str, _Words], bool]) -> tuple[list[int], dict[str, int]]:
    """Return the first usable sentence of each set of words, and how many usable sentences have each word."""
    first: dict[int, int] = {}  # by the hash of the words
    frequency: dict[str, int] = {}
    for index, sentence in enumerate(sentences):
        words = _words_of(sentence)
        if is_usable(sentence, words):
            first.setdefault(hash(words), index)
            for word in words:
                frequency[word] = frequency.get(word, 0) + 1
    return list(first.values()), frequency


def is_usable(sentence: str) -> bool:
    """Return True if a sentence is neither too short nor too long to be ranked."""
    return _can_be_ranked(sentence, _words_of(sentence))


def _can_be_ranked(sentence: str, words: _Words) -> bool:
    return len(words) >= _MIN_WORDS and len(sentence) <= MAX_CHARACTERS


def _rank(words: Sequence[_Words]) -> list[float]:
    edges = _connect(words)
    totals = [sum(weight for _, weight in neighbors) for neighbors in edges]
    ranks = [1.0] * len(words)
    for _ in range(_MAX_ITERATIONS):
        new_ranks = [
            1 - _DAMPING + _DAMPING * sum(ranks[other] * weight / totals[other] for other, weight in neighbors)
            for neighbors in edges
        ]
        change = max((abs(new - old) for new, old in zip(new_ranks, ranks, strict=True)), default=0.0)
        ranks = new_ranks
        if change < _TOLERANCE:
            break
    return ranks


def _connect(words: Sequence[_Words]) -> _Edges:
    edges: _Edges = [[] for _ in words]
    logs = [log(len(held) + 1) for held in words]  # + 1: log(1) would be zero
    for left, left_words in enumerate(words):
        for right in range(left):
            shared = len(left_words & words[right])
            if shared:
                weight = shared / (logs[left] + logs[right])
                edges[left].append((right, weight))
                edges[right].append((left, weight))
    return edges
