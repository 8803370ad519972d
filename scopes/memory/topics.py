"""Topics of a memory entry: names that tell one conversation from others, not the words that all of them share.

In this order: topics of typed decisions, changed files, symbols (`checkRemoteMetadata`, go-billy), phrases after an
article ("the shadow branch"), and if there are few, words. A name must not be common in the store.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from posixpath import basename

from scopes.memory.keywords import can_be_topic, is_generic, top_words, walk_words
from scopes.memory.sentences import walk_lines
from scopes.memory.source_messages import SourceMessage, SourceMessages

_MAX_TOPICS, _MAX_FILES, _MAX_SYMBOLS = 6, 2, 3
_MAX_DECIDED, _MAX_DECIDED_CHARACTERS = 30, 500
_FEW = 3
_SHORT_CONVERSATION = 6  # messages; in longer ones a name must be in two messages
_MIN_CONVERSATIONS = 5
_COMMON_SHARE = 0.3
_CODE = re.compile(r"(?<!`)`([^`\s]{3,60})`(?!`)")
_NOT_WORDS = re.compile(r"`[^`\n]{0,200}`|\b[0-9a-f]{7,40}\b")
_SYMBOL = re.compile(r"[A-Za-z_][\w-]*(?:(?:\.|::|/)[\w-]+)*(?:\(\))?")
_HUMPS = re.compile(r"\b(?:[A-Z]?[a-z]+[A-Z][A-Za-z0-9]+|[A-Z]{2,}[a-z]+[A-Z]\w+|[A-Za-z][A-Za-z0-9]*_[A-Za-z0-9_]+)\b")
_HASH = re.compile(r"[0-9a-f]{7,40}")
_PHRASE = re.compile(
    r"\b(?:the|a|an|this|our|my|der|die|das|den|dem|des|ein|eine|einen|einem|einer|unser|unsere)[ ]+"
    r"((?:[^\W\d_][\w.-]*[ ]+){0,1}[^\W\d_][\w-]*)",
    re.IGNORECASE,
)
_FILE_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}$")


def topics_of(
    messages: SourceMessages, changed: Sequence[str] = (), common: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    """Return the topics of messages, at most six unless more decisions name theirs.

    changed: the paths of changed files, most changed first. common: words that many conversations of the store share.
    """
    decided = dict.fromkeys(topic for source in messages if (topic := source.topic) and topic.strip())
    topics = [_clip(topic) for topic in decided][:_MAX_DECIDED]

    def texts() -> Iterator[str]:  # those of all messages at once take much memory
        return ("\n".join(walk_lines(source.text)) for source in messages)

    least = 1 if len(messages) < _SHORT_CONVERSATION else 2
    found = [
        *[name for path in changed if (name := basename(path)) and not name.startswith(".")][:_MAX_FILES],
        *_most_shared((_walk_symbols(text) for text in texts()), least, common)[:_MAX_SYMBOLS],
        *_most_shared((_walk_phrases(text) for text in texts()), 2, common),
    ]
    _add_new(topics, found)
    if len(topics) < _FEW:
        words = list(top_words(map(_without_code, texts()), len(common) + _MAX_TOPICS * 4))
        words = [word for word in words if not word[0].isdigit() and not is_generic(word.removesuffix("'s"))]
        words.sort(key=lambda word: "-" not in word)  # first those like go-billy
        known = {topic.casefold() for topic in topics}
        topics += [word for word in words if word not in common and word not in known][: _FEW - len(topics)]
    return tuple(topics)


class CommonWords:
    """Counts in how many conversations a word is."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._conversations = 0

    def add(self, messages: Iterable[SourceMessage]) -> None:
        """Count the words of one conversation."""
        self._conversations += 1
        self._counts.update({word for source in messages for word in walk_words(source.text)})

    def find(self) -> frozenset[str]:
        """Return the words that more than three tenths of the conversations have; none if there are too few to tell."""
        if self._conversations < _MIN_CONVERSATIONS:
            return frozenset()
        least = max(2, self._conversations * _COMMON_SHARE)
        return frozenset(word for word, count in self._counts.items() if count > least)


def _add_new(topics: list[str], found: Iterable[str]) -> None:
    """Append names until there are enough; a name that is part of another one is left out."""
    for name in found:
        folded = name.casefold().removesuffix("()")
        if len(topics) >= _MAX_TOPICS:
            return
        if not any(folded in topic.casefold() or topic.casefold() in folded.split() for topic in topics):
            topics.append(name)


def _most_shared(texts: Iterable[Iterable[str]], least: int, common: frozenset[str]) -> list[str]:
    """Return the names in at least `least` texts, those in most texts first; the spelling is the most frequent one."""
    shared: Counter[str] = Counter()
    occurrences: Counter[str] = Counter()
    spellings: dict[str, Counter[str]] = {}
    for names in texts:
        seen = set()
        for name in names:
            key = name.casefold()
            if all(word in common or is_generic(word) for word in key.split()):
                continue
            occurrences[key] += 1
            spellings.setdefault(key, Counter())[name] += 1
            seen.add(key)
        shared.update(seen)
    ranked = sorted(occurrences, key=lambda key: (-shared[key], -occurrences[key], key))
    return [
        min(spellings[key], key=lambda name: (-spellings[key][name], name)) for key in ranked if shared[key] >= least
    ]


def _walk_symbols(text: str) -> Iterator[str]:
    """Yield names of code: in backticks, or written in camel or snake case."""
    for match in _CODE.finditer(text):
        name = match[1]
        if _SYMBOL.fullmatch(name) is not None and _HASH.fullmatch(name) is None:
            name = basename(name) if _FILE_SUFFIX.search(name) else name
            if name.count("/") <= 1 and (not name.islower() or re.search(r"[\W_]", name) or can_be_topic(name)):
                yield name
    for match in _HUMPS.finditer(_CODE.sub(" ", text)):
        if not match[0].isupper():
            yield match[0]


def _walk_phrases(text: str) -> Iterator[str]:
    """Yield what follows an article: two words if both can be in a name, otherwise one."""
    for match in _PHRASE.finditer(_CODE.sub(" ", text)):
        kept = []
        for word in match[1].split():
            folded = word.casefold().rstrip(".-")
            if next(walk_words(folded), None) != folded or not can_be_topic(folded):
                break
            kept.append(folded)
        if len(kept) == 2 and not all(map(is_generic, kept)):
            yield " ".join(kept)
        elif kept and not is_generic(kept[0]) and len(kept) == 1:
            yield kept[0]


def _without_code(text: str) -> str:
    """Return a text without paths, hashes and code of several words."""
    kept = _NOT_WORDS.sub(lambda match: match[0] if _CODE.fullmatch(match[0]) is not None else " ", text)
    return " ".join(word for word in kept.split() if "/" not in word)


def _clip(text: str) -> str:
    return text if len(text) <= _MAX_DECIDED_CHARACTERS else text[: _MAX_DECIDED_CHARACTERS - 1] + "…"
