"""Sentences that say that something was decided, and not that it was not, might be, or is to be."""

from __future__ import annotations

import re

_DECIDED = re.compile(
    r"\b(?:decided|entschieden|beschlossen|vereinbart)\b"
    r"|\bagreed (?:on|to|that|upon)\b|\b(?:we|we've|we have|they) agreed\b|\bgeeinigt\b"
    r"|\bdecision: |\b(?:we will|we'll) (?:use|go with)\b|\bwe are going with\b|\bwir nehmen\b|决定|決定",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[;:.!?()\u2013\u2014\uff0c\u3002]|\b(?:but|and|so|yet we|aber|und|sondern)\b"
    r"|,(?=[^,]*\b(?:we|i|they|it|you|he|she|is|was|were|has|have|wir|ich|es|man|sie)\b)",
    re.IGNORECASE,
)
_UNREAL = re.compile(
    r"\b(?:not|never|cannot|no|nobody|none|nothing|neither|nor|without|hardly|if|unless|until|whether|once|before|"
    r"as soon as|should|would|could|might|may|must|yet to|suppose|assuming|"
    r"nicht|nie|niemals|nichts|niemand|keine?[mnrs]?|ob|wenn|falls|sobald|bevor|ohne|noch zu|sollten?|w\u00fcrden?)\b"
    r"|n['\u2019]t\b|\bbe\s*$|[\u6ca1\u6c92\u672a\u4e0d]\u6709?\s*$|\u5982\u679c",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"\s*(?:have|has|had|did|do|does|is|are|was|were|haben|hat|wurde|ist)\s+(?!been\b)\w+\s*(?:\w+\s+){0,3}$",
    re.IGNORECASE,
)
_VOID = re.compile(
    r"\s*(?:(?:on|upon|about)\s+)?(?:nothing|none|neither|no one|nichts|whether|if we|ob)\b", re.IGNORECASE
)


def says_decided(sentence: str) -> bool:
    """Tell whether a clause says so in earnest: neither denied nor asked, and no mere condition."""
    start = 0
    clauses = _CLAUSE.finditer(sentence)
    following = next(clauses, None)
    for found in _DECIDED.finditer(sentence):
        while following is not None and following.end() <= found.start():
            start, following = following.end(), next(clauses, None)
        before = sentence[start : found.start()]
        if not _UNREAL.search(before) and not _ASKING.match(before) and not _VOID.match(sentence, found.end()):
            return True
    return False
