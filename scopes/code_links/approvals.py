"""Decide whether a prompt merely approves what was proposed before it: `yes`, `go ahead`, `2 and 3`.

Only such a prompt points back to the answer before it. What is not recognized is an instruction of its own, so a prompt
in a language that is not known here is shown alone.
"""

from __future__ import annotations

import re
from typing import Final

MAX_APPROVAL: Final = 60  # characters; a longer prompt is an instruction, also if it begins with `yes`
_MAX_PRAISE: Final = 2  # words
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_CONSENT: Final = frozenset({
    "yes", "yeah", "yea", "yep", "yup", "ya", "y", "sure", "ok", "okay", "k", "agreed", "approved", "accepted",
    "confirmed", "lgtm", "proceed", "continue", "exactly", "perfect", "ja", "jawohl", "genau", "gerne", "weiter",
    "oui", "si", "sí", "claro", "vale", "sim", "da", "да", "хорошо", "давай", "tak", "hai", "はい", "是", "是的",
    "好", "好的", "可以", "行", "继续", "네", "예"
})  # fmt: skip
_PRAISE: Final = frozenset(
    {"right", "correct", "good", "great", "fine", "nice", "cool", "go"}
)  # other prompts begin with these too
_PHRASES: Final = tuple(
    tuple(phrase.split())
    for phrase in (
        "go ahead", "go for it", "go on", "do it", "do that", "do this", "do so", "do both", "do all", "please do",
        "let's do", "let's go", "let's try", "let's use", "let's continue", "lets do", "lets go", "keep going",
        "carry on", "make it so", "ship it", "sounds good", "sounds great", "looks good", "looks great",
        "that's fine", "that's right", "mach das", "vas y", "d'accord"
    )
)  # fmt: skip
_CHOICES: Final = frozenset({
    "a", "b", "c", "d", "e", "first", "second", "third", "fourth", "last", "one", "two", "three", "four", "both",
    "all", "either", "option", "options", "number", "variant"
})  # fmt: skip
_BETWEEN: Final = frozenset(
    {"the", "and", "or", "of", "them", "do", "use", "take", "try", "please", "just", "let's"}
)  # words between choices


def is_approval(prompt: str) -> bool:
    """Return True for a short prompt that agrees to a proposal, or chooses among several."""
    if len(prompt) > MAX_APPROVAL:
        return False
    words = _WORD.findall(prompt.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    if not words:
        return False
    if words[0] in _CONSENT or (words[0] in _PRAISE and len(words) <= _MAX_PRAISE):
        return True
    return any(tuple(words[: len(phrase)]) == phrase for phrase in _PHRASES) or _is_choice(words)


def _is_choice(words: list[str]) -> bool:
    """Return True for `1`, `C)`, `option 3`, `the second one`, `do 1, 2 and 5`."""
    chosen = [word for word in words if word in _CHOICES or (word.isdecimal() and len(word) <= 2)]
    return bool(chosen) and all(word in _BETWEEN or word in chosen for word in words)
